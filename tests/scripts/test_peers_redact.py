"""The peers of redact: their Python is called as the worker calls it and compared with the definition, row by row in plain Python."""

import importlib.util
import random
import numpy
import pytest


from play_peer import MEASURE, SOURCE, has, peer_forms  # which has what the worker has in the path

WIDTH = {"i32": "<i4", "i64": "<i8"}


def define(name, visibility):
    if name is None or visibility is None:
        return None
    if visibility != "public":
        return "X X"
    before, space, after = name.partition(" ")
    return (after if space else before)[:1] + " " + before


def column(name, rows, dtype, nulls, lead):
    """As Arrow lays it out; `lead` bytes before the first row, three after the last, null rows own two."""
    texts = [b"\xff\xfe" if row is None else row.encode() for row in rows]
    offsets = numpy.cumsum([lead] + [len(text) for text in texts]).astype(WIDTH[dtype])
    validity = (
        numpy.packbits(numpy.array([row is not None for row in rows], bool), bitorder="little")
        if nulls
        else numpy.empty(0, "u1")
    )
    chars = numpy.frombuffer(b"#" * lead + b"".join(texts) + b"###", "u1")
    return {f"{name}.offsets": offsets, f"{name}.chars": chars, f"{name}.validity": validity}


def rows_of(given, rows):
    offsets, chars, validity = (given[f"redacted.{part}"] for part in ("offsets", "chars", "validity"))
    assert offsets[0] == 0 and len(offsets) == rows + 1 and offsets[-1] == len(chars)
    valid = numpy.unpackbits(validity, count=rows, bitorder="little") if validity.size else numpy.ones(rows)
    assert not any(a != b for a, b, v in zip(offsets, offsets[1:], valid) if not v), "a null row owns bytes"
    return [bytes(chars[a:b]).decode() if v else None for a, b, v in zip(offsets, offsets[1:], valid)]


def random_rows(seed, rows, nulls):
    draw = random.Random(seed)
    names = ["".join(draw.choice("ab é漢😀\t  ") for _ in range(draw.randrange(12))) for _ in range(rows)]
    visibilities = [
        draw.choice(["public", "public", "private", "publication", "Public", "", "public "]) for _ in range(rows)
    ]
    if nulls:
        for texts in (names, visibilities):
            for row in range(rows):
                if draw.random() < 0.2:
                    texts[row] = None
    return names, visibilities


BY_HAND = ["John Lee", "", "Madonna", " Lee", "John ", "a b c", "Éa Öb", "x 漢字", "😀", "J\tL", None, "Zoë\nA B"]


def load(name):
    spec = importlib.util.spec_from_file_location("played_peer", SOURCE / "impls" / "redact" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def case_of(dtype, rows):
    return {"op": "redact", "params": {"rows": rows}, "dtype": dtype, "input": "names", "seed": 7}


def play(name, dtype, data, nulls, lead):
    """Other data first: a peer that keeps its first inputs gives what was not asked."""
    module, rows = load(name), len(data[0])
    assert module.supports({**case_of(dtype, rows), "facts": {"utf8": True}}, {}) is None
    state, exchange = None, peer_forms.Exchange(module.VARIANT, MEASURE)
    room = {
        "redacted.offsets": numpy.empty(rows + 1, WIDTH[dtype]),
        "redacted.chars": numpy.empty(1000 * rows, "u1"),
        "redacted.validity": numpy.empty(rows, "u1"),
    }
    for names, visibilities in ((data[0][::-1], data[1]), data):
        inputs = {
            **column("names", names, dtype, nulls, lead),
            **column("visibilities", visibilities, dtype, nulls, 2 * lead),
        }
        for array in inputs.values():
            array.flags.writeable = False
        exchange.inputs = inputs
        state = state or module.prepare(case_of(dtype, rows), {}, peer_forms.shapes_of(inputs))
        given = exchange.results(module.run(state, exchange.give(inputs)), room)
        exchange.expect_inverse()
    for output, array in given.items():
        assert array.dtype == room[output].dtype, output
        assert len(array) <= len(room[output]), output
    assert given["redacted.validity"].size == ((rows + 7) // 8 if nulls else 0)
    return rows_of(given, rows)


def check(name):
    sized = [
        ((f"random {rows}", nulls), random_rows(rows, rows, nulls))
        for rows in (0, 1, 8, 333)
        for nulls in (False, True)
    ]
    hand = [
        (("by hand", True), (BY_HAND, ["public"] * len(BY_HAND))),
        (("hidden", True), (BY_HAND, ["private", None, "", "publi"] * (len(BY_HAND) // 4))),
        (("all null", True), ([None] * 9, [None] * 9)),
        (("no spaces", False), (["a", "é", ""], ["public"] * 3)),
    ]
    for (what, nulls), data in sized + hand:
        for dtype in WIDTH:
            for lead in (0, 13):
                expected = [define(*row) for row in zip(*data)]
                assert play(name, dtype, data, nulls, lead) == expected, (what, dtype, nulls, lead)
    refuses(name)


def refuses(name):
    module = load(name)
    inputs = {**column("names", ["a b"], "i32", False, 0), **column("visibilities", ["public"], "i32", False, 0)}
    assert peer_forms.facts_of(module.VARIANT, inputs) == {"utf8": True}
    inputs["names.chars"] = numpy.frombuffer(b"a\xff ", "u1")
    facts = peer_forms.facts_of(module.VARIANT, inputs)
    assert "UTF-8" in module.supports({**case_of("i32", 1), "facts": facts}, {})


def test_definition():
    assert [define(name, "public") for name in BY_HAND[:8]] == [
        "L John",
        " ",
        "M Madonna",
        "L ",
        " John",
        "b a",
        "Ö Éa",
        "漢 x",
    ]


@pytest.mark.skipif(not has("pyarrow"), reason="pyarrow is not installed")
def test_pyarrow():
    check("peer_pyarrow")


@pytest.mark.skipif(not (has("pandas") and has("pyarrow")), reason="pandas or pyarrow is not installed")
def test_pandas():
    check("peer_pandas")


@pytest.mark.skipif(not (has("polars") and has("pyarrow")), reason="Polars or pyarrow is not installed")
def test_polars():
    check("peer_polars")
