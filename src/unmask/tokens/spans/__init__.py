"""What is marked in the text, to be hidden whole: entities, phrases, collocations."""
