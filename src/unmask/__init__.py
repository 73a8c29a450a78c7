"""Masked language modelling, whole: from raw text to an encoder that fills blanks."""
