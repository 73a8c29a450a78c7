"""Questions about texts: a question and a context in, the stretch of the context that answers it out."""
