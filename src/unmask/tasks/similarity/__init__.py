"""Pairs of texts with scores to a model whose cosines follow them."""
