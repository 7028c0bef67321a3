"""Rows -> REPORT.md and its figures. Started as `python -m analysis.report`."""
