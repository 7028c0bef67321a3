"""What the peers of redact share: the op's arrays as an Arrow column, and an Arrow column as the op's arrays. None of it is timed.

A library that holds its strings as Arrow lays them out holds the inputs already: their bytes are borrowed, not copied."""


def supports(case, tunables):
    if case["input"] == "invalid":
        return "input=invalid: this library's strings are UTF-8"
    return None


def column(inputs, name):
    """`name` as a pyarrow Array of string or large_string, by the offsets' type. Its bytes are taken for UTF-8."""
    import pyarrow

    offsets, chars, validity = (inputs[f"{name}.{part}"] for part in ("offsets", "chars", "validity"))
    buffers = [
        pyarrow.py_buffer(validity) if validity.size else None,
        pyarrow.py_buffer(offsets),
        pyarrow.py_buffer(chars),
    ]
    return pyarrow.Array.from_buffers(
        pyarrow.large_string() if offsets.itemsize == 8 else pyarrow.string(), offsets.size - 1, buffers
    )


def require_utf8(inputs):
    """Once a case, in prepare(): it takes longer than bringing the columns to the library."""
    import pyarrow
    from peer import Skip

    for name in ("names", "visibilities"):
        try:
            column(inputs, name).validate(full=True)
        except pyarrow.ArrowInvalid as error:
            raise Skip(f"{name}: this library's strings are UTF-8; {error}") from error


def nullable(inputs):
    return bool(inputs["names.validity"].size or inputs["visibilities.validity"].size)


def arrays(strings, out, with_validity):
    """The op's outputs from a pyarrow Array or ChunkedArray of strings. Null rows get no bytes, whatever they own."""
    import numpy
    import pyarrow
    import pyarrow.compute

    offset_type = out["redacted.offsets"].dtype
    wide = pyarrow.large_string() if offset_type.itemsize == 8 else pyarrow.string()
    if isinstance(strings, pyarrow.ChunkedArray):
        strings = strings.combine_chunks()
    valid = numpy.asarray(pyarrow.compute.is_valid(strings))
    strings = pyarrow.compute.fill_null(strings.cast(wide), "")
    _, offsets, chars = strings.buffers()
    offsets = (
        numpy.frombuffer(offsets, offset_type)[strings.offset :][: len(strings) + 1]
        if len(strings)
        else numpy.zeros(1, offset_type)
    )
    chars = numpy.frombuffer(chars, "u1")[offsets[0] : offsets[-1]] if chars is not None else numpy.empty(0, "u1")
    bits = numpy.packbits(valid, bitorder="little") if with_validity else numpy.empty(0, "u1")
    return {"redacted.offsets": offsets - offsets[0], "redacted.chars": chars, "redacted.validity": bits}
