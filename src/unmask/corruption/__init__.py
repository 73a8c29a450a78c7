"""Blocks to examples: what is hidden together, which of it, and how the gap looks. Numpy only."""
