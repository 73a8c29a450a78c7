"""What steps are computed on: processes, devices, memory."""
