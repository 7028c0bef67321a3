"""Hostile on purpose: a module that is not there, at the level of the file."""

import a_module_that_nobody_has  # noqa: F401

VARIANT = {"summary": "hostile on purpose", "origin": "tests", "framework": "a_module_that_nobody_has"}
