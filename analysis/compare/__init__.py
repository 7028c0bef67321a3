"""Rows of two builds -> a verdict for each case, variant and mode. Started as `python -m analysis.compare`."""
