"""One label for each text or pair of texts, or several."""
