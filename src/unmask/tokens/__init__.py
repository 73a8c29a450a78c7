"""Documents to packed blocks: the tokenizer, the shards, the packing."""
