"""Rows -> the formats of other programs, one module a format. Started as `python -m analysis.export`."""
