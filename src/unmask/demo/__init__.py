"""The whole journey on text that every machine has."""
