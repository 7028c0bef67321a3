"""Series.str. Idea: pandas' string functions on its own string type, which holds Arrow columns; one thread. Some of the functions are
Arrow's, others a Python loop over the rows, as pandas decides. Limits: bytes that are no UTF-8."""

import redact_peers
from redact_peers import supports  # noqa: F401

VARIANT = {
    "summary": "pandas Series.str: partition, slice, where",
    "origin": "pandas",
    "framework": "pandas",
}


def prepare(case, tunables, inputs):
    import pandas
    import pyarrow  # what pandas holds strings in

    redact_peers.require_utf8(inputs)
    return {"pandas": pandas, "pyarrow": pyarrow}


def load(state, inputs):
    for name in ("names", "visibilities"):
        state[name] = state["pandas"].Series(state["pandas"].array(redact_peers.column(inputs, name), dtype="str"))
    state["nullable"] = redact_peers.nullable(inputs)


def run(state):
    names, visibilities = state["names"], state["visibilities"]
    if names.isna().all():  # partition() makes its columns from the strings that it finds
        return names
    parts = names.str.partition(" ")
    before, after = parts[0], parts[2].where(parts[1] == " ", parts[0])
    shown = after.str.slice(0, 1) + " " + before
    return shown.where(visibilities == "public", "X X").mask(names.isna() | visibilities.isna())


def fetch(state, outputs, out):
    return redact_peers.arrays(state["pyarrow"].array(outputs.array), out, state["nullable"])
