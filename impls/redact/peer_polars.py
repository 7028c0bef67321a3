"""Polars. Idea: one lazy expression over two columns of strings; Polars decides on the order and on threads. Limits: bytes that are no
UTF-8. Its strings are views, not Arrow's offsets: the way there and back is not timed."""

import redact_peers
from redact_peers import supports  # noqa: F401

VARIANT = {
    "summary": "Polars expression: str.splitn, str.head, concat_str, when",
    "origin": "Polars",
    "framework": "polars",
}


def prepare(case, tunables, inputs):
    import polars
    import pyarrow  # noqa: F401, what the columns come in

    redact_peers.require_utf8(inputs)
    return {"polars": polars}


def load(state, inputs):
    polars = state["polars"]
    columns = {name: polars.from_arrow(redact_peers.column(inputs, name)) for name in ("names", "visibilities")}
    names, visibilities = polars.col("names"), polars.col("visibilities")
    parts = names.str.splitn(" ", 2).struct
    before, after = parts.field("field_0"), parts.field("field_1")
    shown = polars.concat_str([after.fill_null(before).str.head(1), before], separator=" ")
    shown = polars.when(visibilities == "public").then(shown).otherwise(polars.lit("X X"))
    present = names.is_not_null() & visibilities.is_not_null()
    state["query"] = polars.LazyFrame(columns).select(redacted=polars.when(present).then(shown))
    state["nullable"] = redact_peers.nullable(inputs)


def run(state):
    return state["query"].collect()


def fetch(state, outputs, out):
    return redact_peers.arrays(outputs["redacted"].to_arrow(), out, state["nullable"])
