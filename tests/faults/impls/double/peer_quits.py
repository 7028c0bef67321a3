"""Hostile on purpose: ends the process while it is imported."""

import os

VARIANT = {"summary": "hostile on purpose", "origin": "tests", "framework": "tests"}
os._exit(0)
