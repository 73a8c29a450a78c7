"""The run directory: what a run is, where it stands, how it looks. Nothing here needs torch."""
