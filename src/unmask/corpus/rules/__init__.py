"""Rules for documents: small, named, each on or off; they change a text, or drop it and say by which figure."""
