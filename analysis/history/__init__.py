"""Rows of many commits -> where times changed. Started as `python -m analysis.history`."""
