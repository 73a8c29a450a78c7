"""How well tuned models do, task by task, beside what simpler ways come to."""
