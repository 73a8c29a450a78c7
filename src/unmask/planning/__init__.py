"""What a training would take, before it is begun."""
