"""A model for where there is no torch, and for sentence-transformers."""
