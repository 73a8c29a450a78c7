"""Queries with relevant documents to a model that finds them."""
