"""Words and their tags: texts in, the entities in them out."""
