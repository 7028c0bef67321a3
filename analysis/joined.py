"""Variants that were a file of their own and are one of another's today, by a tunable: names of before as today's rows have them."""

import pathlib
import re

TABLE = pathlib.Path(__file__).resolve().parents[1] / "harness/base/joined_variants.inc"
JOINED = {
    before: (today, name, value)
    for before, today, name, value in re.findall(r'^\{"(.+?)", "(.+?)", "(.+?)", "(.+?)"\}', TABLE.read_text(), re.M)
}


def spec(text):
    """A variant with its tunables, as harness/base/joined.c does it."""
    variant, *tunables = str(text).split(" ")
    if variant not in JOINED:
        return text
    today, name, value = JOINED[variant]
    is_given = any(word.startswith(name + "=") for word in tunables)
    return text if is_given else " ".join((today, *tunables, f"{name}={value}"))


def row(row):
    """A row of before becomes one of today."""
    today, name, value = JOINED.get(row.get("variant"), (None,) * 3)
    if today and row.get("spec") and name not in (row.get("tunables") or {}):
        row["spec"] = spec(row["spec"])
        row["variant"], row["tunables"] = today, {**(row.get("tunables") or {}), name: int(value)}
    if row.get("baseline"):
        row["baseline"] = spec(row["baseline"])


def claim(claim):
    for side in ("variant", "baseline"):
        if claim.get(side):
            claim[side] = spec(claim[side])
