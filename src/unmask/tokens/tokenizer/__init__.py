"""Text to ids: tokenizers loaded, trained and used."""
