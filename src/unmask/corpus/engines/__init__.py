"""What runs a function over parts: processes of this machine, or the tasks of a Ray cluster."""
