"""Sources to raw documents: what there is to read, its bytes, a reader for each format."""
