"""Series.str. Idea: pandas' string functions on its own string type, which holds Arrow columns; one thread. Some of the functions are
Arrow's, others a Python loop over the rows, as pandas decides. Limits: bytes that are no UTF-8."""

from redact_peers import supports  # noqa: F401

VARIANT = {
    "summary": "pandas Series.str: partition, slice, where",
    "origin": "pandas",
    "framework": "pandas",
    "facts": ["utf8"],
}


def prepare(case, tunables, shapes):
    return None


def run(state, inputs):
    names, visibilities = inputs["names"], inputs["visibilities"]
    if names.isna().all():  # partition() makes its columns from the strings that it finds
        return names
    parts = names.str.partition(" ")
    before, after = parts[0], parts[2].where(parts[1] == " ", parts[0])
    shown = after.str.slice(0, 1) + " " + before
    return shown.where(visibilities == "public", "X X").mask(names.isna() | visibilities.isna())
