"""Files to clean documents."""
