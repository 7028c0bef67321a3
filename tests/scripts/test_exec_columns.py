"""rungs exec on columns of strings in Arrow and CSV files: what comes back, by pyarrow and by the definition in plain Python; clear errors."""

import os
import sys

import pytest

from program import SOURCE, call, expect, expect_error

pa = pytest.importorskip("pyarrow")
ipc = pytest.importorskip("pyarrow.ipc")

VARIANT = "redact/cpu_sequential"
NAMES = ["John Lee", "", None, "Madonna", " Lee", "José 漢字", "a b c", "X", 'Zoë\nA "B", C', "😀 😀😀"]
VISIBILITIES = ["public", "public", "public", "public", "public", "public", "private", None, "public", "public"]


def define(name, visibility):
    if name is None or visibility is None:
        return None
    before, space, after = name.partition(" ")
    return (after if space else before)[:1] + " " + before if visibility == "public" else "X X"


EXPECTED = [define(*row) for row in zip(NAMES, VISIBILITIES)]


@pytest.fixture(autouse=True)
def temporary(folder):
    """Where exec may write what nobody asked for: nothing is left there."""
    (folder / "temporary").mkdir()
    yield
    assert not list((folder / "temporary").iterdir())


def save(path, stream=False, **columns):
    table = pa.table(columns)
    with open(path, "wb") as file, (ipc.new_stream if stream else ipc.new_file)(file, table.schema) as writer:
        writer.write_table(table)
    return path


def redact(folder, names, visibilities, *more, out="out.arrow", check=True):
    words = ["--check"] if check else []
    return call(
        "exec",
        VARIANT,
        "--in",
        f"names={names}",
        "--in",
        f"visibilities={visibilities}",
        "--out",
        f"redacted={folder}/{out}",
        *words,
        *more,
        env={**os.environ, "TMPDIR": str(folder / "temporary")},
    )


def came_back(folder, done, what, kind=pa.string(), expected=None):
    expect(done.returncode == 0, what, done)
    with open(folder / "out.arrow", "rb") as file:
        table = ipc.open_file(file).read_all()
    table.validate(full=True)
    expect(table.schema == pa.schema({"redacted": kind}), f"{what}: a column 'redacted' of {kind}")
    column = table["redacted"].to_pylist()
    expect(column == (EXPECTED if expected is None else expected), f"{what}: {column[:20]}")
    expect(
        f"{folder}/out.arrow: {kind}[{len(column)}], {column.count(None)} null" in done.stdout
        and "npy" not in done.stdout,
        f"{what}: says what it wrote",
        done,
    )
    (folder / "out.arrow").unlink()


@pytest.mark.parametrize(
    "kind, stream, result",
    [
        (pa.string(), False, pa.string()),
        (pa.string(), True, pa.string()),
        (pa.large_string(), False, pa.large_string()),
        (pa.string_view(), False, pa.string()),
    ],
    ids=["a file", "a stream", "large_string", "string_view"],
)
def test_kinds_of_strings(folder, kind, stream, result):
    path = save(folder / "in.arrow", stream, names=pa.array(NAMES, kind), visibilities=pa.array(VISIBILITIES))
    came_back(folder, redact(folder, path, path), str(kind), result)


def test_kinds_of_columns(folder):
    path = folder / "in.arrow"
    save(path, names=pa.array(NAMES).dictionary_encode(), visibilities=pa.array(VISIBILITIES).dictionary_encode())
    came_back(folder, redact(folder, path, path), "dictionaries are decoded")
    save(path, who=NAMES, what=VISIBILITIES)
    came_back(
        folder,
        redact(folder, f"{path}:who", f"{path}:what", "--set", "dtype=i64"),
        "columns of other names, dtype=i64",
        pa.large_string(),
    )
    save(path, names=pa.nulls(10), visibilities=VISIBILITIES)
    came_back(folder, redact(folder, path, path), "a column of type null", expected=[None] * 10)
    save(path, names=NAMES, visibilities=pa.nulls(10).dictionary_encode())
    came_back(folder, redact(folder, path, path), "a dictionary of nulls", expected=[None] * 10)
    save(folder / "one.arrow", x=NAMES)
    save(folder / "other.arrow", y=VISIBILITIES)
    came_back(folder, redact(folder, folder / "one.arrow", folder / "other.arrow"), "the only column of a file")


def test_slices_and_chunks(folder):
    path = folder / "in.arrow"
    names, visibilities = pa.array(["before"] * 3 + NAMES + ["after"]), pa.array([None] * 3 + VISIBILITIES + [None])
    save(path, names=names.slice(3, 10), visibilities=visibilities.slice(3, 10))
    came_back(folder, redact(folder, path, path), "slices")
    chunks = [
        pa.chunked_array([pa.array(column[:7]), pa.array([], pa.string()), pa.array(column[7:])])
        for column in (NAMES, VISIBILITIES)
    ]
    save(path, names=chunks[0], visibilities=chunks[1])
    came_back(folder, redact(folder, path, path), "chunks")
    save(path, names=pa.array([], pa.string()), visibilities=pa.array([], pa.string()))
    came_back(folder, redact(folder, path, path), "no rows", expected=[])
    save(path, names=["a b", ""], visibilities=["public", "private"])
    came_back(folder, redact(folder, path, path), "no nulls", expected=["b a", "X X"])
    came_back(folder, redact(folder, path, path, check=False), "no check", expected=["b a", "X X"])


def test_csv(folder):
    text = "id,names,visibilities\n"
    for row, (name, visibility) in enumerate(zip(NAMES, VISIBILITIES)):
        quoted = ["" if field is None else '"' + field.replace('"', '""') + '"' for field in (name, visibility)]
        text += f"{row},{quoted[0]},{quoted[1]}\n"
    path = folder / "a:b.csv"
    path.write_text(text)
    came_back(folder, redact(folder, path, path), "CSV")
    came_back(
        folder, redact(folder, f"{path}:names", f"{path}:visibilities"), "CSV, columns by name, a colon in the path"
    )
    path.write_text(
        'names,visibilities\nNA null,public\n12 034,public\n1.50,public\ntrue,public\n,public\n"",public\n a,public\nnull,private\n'
    )
    came_back(
        folder,
        redact(folder, path, path),
        "CSV: text, whatever it looks like",
        expected=["n NA", "0 12", "1 1.50", "t true", None, " ", "a ", "X X"],
    )
    path.write_text("names,visibilities\n")
    came_back(folder, redact(folder, path, path), "CSV without rows", expected=[])


def test_blank_lines_of_csv(folder):
    """A blank line is the empty field of a file with one column; to drop it would pair the rows after it with others' visibilities."""
    names, visibilities = folder / "names.csv", folder / "visibilities.csv"

    def paired(what, one, other, expected):
        names.write_bytes(b"names" + one)
        visibilities.write_bytes(b"visibilities" + other)
        came_back(folder, redact(folder, names, visibilities), what, expected=expected)

    paired("blank lines are nulls", b"\nA B\n\nC D\n", b"\npublic\nprivate\n\n", ["B A", None, None])
    paired("blank lines, CR LF", b"\r\nA B\r\n\r\nC D\r\n", b"\r\npublic\r\nprivate\r\n\r\n", ["B A", None, None])
    paired(
        "no line end at the end, quoted",
        b'\n"A B"\n\n""\n\nC D',
        b"\npublic\npublic\npublic\npublic\npublic",
        ["B A", None, " ", None, "D C"],
    )
    paired("a blank line alone", b"\n\n", b"\npublic\n", [None])
    paired("blanks are no blank line", b"\n \n\t\n", b"\npublic\nprivate\n", [" ", "X X"])
    many = 300000  # several of the parser's blocks
    paired(
        "many blank lines",
        b"\n" + b"A B\n\n\nlonger C\n" * (many // 4),
        b"\n" + b"public\n" * many,
        ["B A", None, None, "C longer"] * (many // 4),
    )
    names.write_text("names\nA B\n\nC D\n")
    visibilities.write_text("visibilities\npublic\nprivate\n")
    expect_error(
        redact(folder, names, visibilities),
        2,
        "names has 3 rows",
        "visibilities has 2 rows",
        what="a blank line counts",
    )
    names.write_text("id,names\n1,A B\n\n2,C D\n\n")
    expect_error(
        redact(folder, names, visibilities),
        2,
        str(names),
        "2 blank lines in a file of 2 columns",
        "','",
        what="refused where a row has several fields",
    )
    names.write_text('id,names\n1,A B\n,\n2,"C\n\nD"\n')
    visibilities.write_text("visibilities\npublic\npublic\npublic\n")
    came_back(
        folder,
        redact(folder, names, visibilities),
        "a row of nulls, a field of several lines",
        expected=["B A", None, "C C\n\nD"],
    )
    for text in ("\nnames\nA B\n", "\nid,names\n1,A B\n"):
        names.write_text(text)
        expect_error(
            redact(folder, names, visibilities),
            2,
            str(names),
            "first line is blank",
            what=f"a blank line instead of names: {text!r}",
        )


def test_what_is_wrong_is_refused(folder):
    path = save(
        folder / "in.arrow",
        names=NAMES,
        visibilities=VISIBILITIES,
        number=pa.array(range(10)),
        raw=pa.array([b"x"] * 10),
    )
    save(folder / "short.arrow", visibilities=VISIBILITIES[:9])
    csv = folder / "in.csv"
    csv.write_text("names,visibilities\na,b\n")
    (folder / "broken.arrow").write_bytes(b"ARROW1" + b"x" * 100)
    (folder / "text.arrow").write_text("names\nJohn Lee\n")
    (folder / "empty.arrow").write_bytes(b"")
    (folder / "cut.arrow").write_bytes(path.read_bytes()[:-20])
    (folder / "folder.csv").mkdir()
    (folder / "ragged.csv").write_text("names,visibilities\na,b\nc\n")
    (folder / "not.csv").write_bytes(b"names,visibilities\n\xff,b\n")

    def refused(words, names=path, visibilities=path, **more):
        extra = more.pop("settings", ())
        expect_error(redact(folder, names, visibilities, *extra, **more), 2, *words)

    refused([str(path), "no column 'nobody'", "names, visibilities"], names=f"{path}:nobody")
    refused(["type int64", "strings are expected"], names=f"{path}:number")
    refused(["type binary", "strings are expected"], names=f"{path}:raw")
    refused(["no column 'nobody'", "names, visibilities"], names=f"{csv}:nobody")
    for name in ("nowhere.arrow", "nowhere.csv"):
        refused([f"{folder}/{name}: No such file or directory\n"], names=folder / name)
    refused([f"{folder}/folder.csv: Is a directory\n"], names=folder / "folder.csv")
    for name in ("broken.arrow", "text.arrow", "empty.arrow", "cut.arrow"):
        refused([f"{folder}/{name}: not a complete Arrow IPC file"], names=folder / name)
    refused(["ragged.csv"], names=folder / "ragged.csv")
    refused(["not.csv", "UTF"], names=folder / "not.csv")
    refused(["names.txt", "FILE.arrow or FILE.csv"], names="names.txt")
    refused(
        [f"names has 10 rows ({path})", f"visibilities has 9 rows ({folder}/short.arrow)"],
        visibilities=folder / "short.arrow",
    )
    refused(["out.csv", ".arrow"], out="out.csv")
    refused(["no/out.arrow", "No such file"], out="no/out.arrow")
    refused(["dtype=f64", "int32 or int64"], settings=("--set", "dtype=f64"))
    expect_error(
        call("exec", VARIANT, "--in", f"names={path}", "--in", f"names={path}", "--check"), 2, "names", "given twice"
    )
    expect_error(
        call("exec", VARIANT, "--in", f"names={path}", "--check"),
        2,
        "visibilities.offsets",
        "missing",
        "give --in visibilities=FILE",
    )
    expect_error(call("exec", "rolling/cpu_naive", "--in", f"x={path}", "--set", "window=3", "--check"), 2, str(path))
    expect(not list(folder.glob("out.*")), "an error leaves no output")


def test_what_int32_offsets_cannot_hold(folder, monkeypatch):
    """Without 2 GiB of strings, by the script's own limit."""
    monkeypatch.setattr(sys, "path", [str(SOURCE / "harness/cli"), *sys.path])
    import columns
    import numpy

    path = save(folder / "in.arrow", names=NAMES)
    monkeypatch.setattr(columns, "INT32_MAX", 20)
    with pytest.raises(columns.Wrong, match="20.*dtype=i64"):
        columns.read(folder, "i32", {"names": str(path)})
    columns.read(folder, None, {"names": str(path)})
    assert numpy.load(folder / "names.offsets.npy").dtype == numpy.int64, "int64 by itself"
