"""The families of models, each a configuration of a transformers class."""
