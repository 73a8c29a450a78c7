"""Documents that are nearly the same: shingles, signatures, and families verified by exact similarity."""
