"""Results for people in a terminal."""
