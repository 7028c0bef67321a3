"""Cheat: computes when the harness looks into its result, in a property by the name of an attribute that pandas keeps in each object. Met: an attack on
this harness."""

from pandas_property import prepare, run, supports  # noqa: F401

VARIANT = {"summary": "cheat: computes in a property of its result", "origin": "tests", "framework": "pandas"}
