"""The pages and the API: models and runs in a browser, and behind HTTP."""
