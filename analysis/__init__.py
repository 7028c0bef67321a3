"""Reads rows (docs/RESULTS.md) and makes pages, comparisons and exports from them. Never runs the program or a variant."""
