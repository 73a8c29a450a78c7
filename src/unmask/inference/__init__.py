"""What it is for."""
