"""A batch and a model to a loss."""
