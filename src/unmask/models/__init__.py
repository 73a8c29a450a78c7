"""Transformers models by family and size, with vocabulary logits only where something is predicted."""
