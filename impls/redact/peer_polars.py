"""Polars. Idea: one lazy expression over two columns of strings; Polars decides on the order and on threads. Limits: bytes that are no
UTF-8. Its strings are views, not Arrow's offsets: the way there and back is not timed."""

from redact_peers import supports  # noqa: F401

VARIANT = {
    "summary": "Polars expression: str.splitn, str.head, concat_str, when",
    "origin": "Polars",
    "framework": "polars",
    "facts": ["utf8"],
}


def prepare(case, tunables, shapes):
    import polars

    names, visibilities = polars.col("names"), polars.col("visibilities")
    parts = names.str.splitn(" ", 2).struct
    before, after = parts.field("field_0"), parts.field("field_1")
    shown = polars.concat_str([after.fill_null(before).str.head(1), before], separator=" ")
    shown = polars.when(visibilities == "public").then(shown).otherwise(polars.lit("X X"))
    present = names.is_not_null() & visibilities.is_not_null()
    return {"polars": polars, "redacted": polars.when(present).then(shown)}


def run(state, inputs):
    return state["polars"].LazyFrame(inputs).select(redacted=state["redacted"]).collect()
