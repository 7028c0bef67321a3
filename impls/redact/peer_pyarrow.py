"""pyarrow.compute. Idea: a chain of Arrow's own column functions, each of which makes a new column; one thread. A list of one or two
parts stands for what is before and after the first space. Limits: bytes that are no UTF-8."""

from redact_peers import supports  # noqa: F401

VARIANT = {
    "summary": "pyarrow.compute: split_pattern, utf8_slice_codeunits, binary_join_element_wise, if_else",
    "origin": "Apache Arrow",
    "framework": "pyarrow",
    "facts": ["utf8"],
}


def prepare(case, tunables, shapes):
    import pyarrow
    import pyarrow.compute

    return {"pyarrow": pyarrow, "compute": pyarrow.compute}


def run(state, inputs):
    pyarrow, compute, names, visibilities = (
        state["pyarrow"],
        state["compute"],
        inputs["names"],
        inputs["visibilities"],
    )
    text, missing = (pyarrow.scalar(value, names.type) for value in ("", None))
    parts = compute.split_pattern(names, " ", max_splits=1)
    before = compute.list_element(parts, 0)
    after = compute.binary_join(compute.list_slice(parts, 1, 2), text)
    after = compute.if_else(compute.equal(compute.list_value_length(parts), 1), before, after)
    shown = compute.binary_join_element_wise(
        compute.utf8_slice_codeunits(after, 0, 1), before, pyarrow.scalar(" ", names.type)
    )
    hidden = pyarrow.scalar("X X", names.type)
    if names.null_count:
        hidden = compute.if_else(compute.is_valid(names), hidden, missing)
    return compute.if_else(compute.equal(visibilities, "public"), shown, hidden)
