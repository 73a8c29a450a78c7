"""A handful of labelled texts: the same few examples learnt by a head, by pairs and by patterns, over several draws."""
