"""Labelled data as what the loop trains: read, cut, learnt from, calibrated, and asked again."""
