"""How good is it."""
