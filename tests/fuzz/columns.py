"""Whatever a CSV or Arrow file holds, columns.py makes whole columns of it or refuses it with its path; and every function is reached.

20,000 mutations of the seeds below from a fixed seed; 1,000,000 where RUNGS_TEST_FULL is set. They run in processes of their own, so
that a crash inside pyarrow is a finding with its number, not the end."""

import ast
import importlib.util
import io
import os
import pathlib
import random
import subprocess
import sys
import tempfile

import record

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE.parents[1]
PART = 2000  # inputs per process
WORDS = [
    b"",
    b"\n",
    b"\r\n",
    b",",
    b'"',
    b'""',
    b"\0",
    b"\xff",
    b"a",
    b"name",
    b"ARROW1",
    b"\xff\xff\xff\xff",
    b"\x00\x00\x00\x80",
    b"\xff" * 8,
    b"1e999",
    b"\xe2\x82",
]


def columns_module():
    spec = importlib.util.spec_from_file_location("columns", SOURCE / "harness" / "cli" / "columns.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def arrow_seeds():
    """One file per type of column that is read, as stream and as file, and those that are refused."""
    import pyarrow

    strings = ["anna", None, "", "bert", "c" * 40]
    for kind in (
        pyarrow.string(),
        pyarrow.large_string(),
        pyarrow.dictionary(pyarrow.int32(), pyarrow.string()),
        pyarrow.null(),
        pyarrow.int32(),
    ):
        values = [None] * 5 if kind == pyarrow.null() else [1, 2, None, 4, 5] if kind == pyarrow.int32() else strings
        table = pyarrow.table(
            {
                "name": pyarrow.array(values, kind)
                if not pyarrow.types.is_dictionary(kind)
                else pyarrow.array(values).dictionary_encode(),
                "other": strings,
            }
        )
        for new in (pyarrow.ipc.new_file, pyarrow.ipc.new_stream):
            sink = io.BytesIO()
            with new(sink, table.schema) as writer:
                writer.write_table(table.slice(1, 3))
                writer.write_table(table)
            yield "x.arrow", sink.getvalue()


def seeds():
    csv = [
        b'name,other\nanna,1\n,2\n"",3\n',
        b"name\nanna\n\nbert\n",
        b"\nname\n",
        b'name\n"a\nb"\n',
        b"name,name\n1,2\n",
        b"a,b\n1,2\n\n3,4\n",
        b"",
    ]
    return [("x.csv", text) for text in csv] + list(arrow_seeds())


def mutate(random_source, data, others):
    data = bytearray(data)
    for _ in range(random_source.randint(1, 4)):
        at, how = random_source.randint(0, len(data)), random_source.randrange(6)
        if how == 0 and data:
            data[at % len(data)] ^= 1 << random_source.randrange(8)
        elif how == 1 and data:
            data[at % len(data)] = random_source.choice((0, 1, 0x7F, 0x80, 0xFF))
        elif how == 2:
            data[at:at] = random_source.choice(WORDS)
        elif how == 3:
            del data[at : at + random_source.randint(1, 16)]
        elif how == 4:
            other = random_source.choice(others)
            begin = random_source.randint(0, len(other))
            data[at:at] = other[begin : begin + 64]
        else:
            word = random_source.choice(WORDS)
            data[at : at + len(word)] = word
    return bytes(data[:8192])


def check_columns(folder, dtype):
    """What was written fits together: offsets ascend from 0 and end with the last byte."""
    import numpy

    offsets, chars = (numpy.load(folder / f"names.{part}.npy") for part in ("offsets", "chars"))
    assert (
        offsets.itemsize == (8 if dtype == "i64" else offsets.itemsize)
        and offsets[0] == 0
        and offsets[-1] == len(chars)
    ), "the offsets do not fit the bytes"
    assert (numpy.diff(offsets) >= 0).all(), "the offsets do not ascend"
    validity = folder / "names.validity.npy"
    if validity.exists():
        assert len(numpy.load(validity)) == (len(offsets) + 6) // 8, "the validity does not fit the rows"
        validity.unlink()


def one(columns, folder, name, data, column, dtype):
    path = folder / name
    path.write_bytes(data)
    word = f"{path}:{column}" if column else str(path)
    try:
        columns.read(folder, dtype, {"names": word})
    except columns.Wrong as error:
        assert str(path) in str(error) and "\n" not in str(error), (
            f"the message does not name the file in one line: {error}"
        )
        return False
    check_columns(folder, dtype)
    return True


def part(number):
    """Inputs number * PART and on; prints each input's number before it, so that a crash says which one it was."""
    import pyarrow

    pyarrow.set_cpu_count(1)
    pyarrow.set_io_thread_count(1)
    columns, corpus = columns_module(), seeds()
    read = 0
    with tempfile.TemporaryDirectory() as name, open(os.environ["PROGRESS"], "w+b", buffering=0) as progress:
        folder = pathlib.Path(name)
        for i in range(number * PART, (number + 1) * PART):
            source = random.Random(i)
            file, data = source.choice(corpus)
            mutated = data if i < 2 * len(corpus) else mutate(source, data, [other for _, other in corpus])
            os.pwrite(progress.fileno(), b"%012d" % i, 0)
            read += one(
                columns,
                folder,
                file,
                mutated,
                source.choice((None, "name", "other")),
                source.choice((None, "i32", "i64")),
            )
    print(f"{read} of {PART} were read, the others refused")


def write(columns, folder):
    """What was read, as Arrow, to a file."""
    import numpy

    one(columns, folder, "x.csv", b"name\nanna\n", "name", None)
    numpy.save(folder / "names.validity.npy", numpy.empty(0, "u1"))
    descriptor = os.open(folder / "out.arrow", os.O_WRONLY | os.O_CREAT)
    assert columns.main(["write", str(folder), f"names={descriptor}:{folder}/out.arrow"]) == 0, (
        "what was read cannot be written"
    )
    (folder / "names.validity.npy").unlink()
    one(columns, folder, "x.arrow", (folder / "out.arrow").read_bytes(), "name", None)


def reached():
    """Every function of columns.py, by the seeds as they are and by what is refused before or behind them."""
    columns, ran = columns_module(), set()

    def note(frame, event, argument):
        if event == "call" and frame.f_code.co_filename == columns.__file__:
            ran.add(frame.f_code.co_qualname if hasattr(frame.f_code, "co_qualname") else frame.f_code.co_name)

    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        sys.setprofile(note)
        for file, data in seeds():
            one(columns, folder, file, data, "name", None)
        columns.main(["read", str(folder), "names=no.txt"])
        columns.main(["read", str(folder), "--dtype", "i64", f"names={folder}/x.csv"])
        (folder / "good.csv").write_text("name\nanna\n")
        columns.main(["read", str(folder / "missing"), f"names={folder}/good.csv"])
        write(columns, folder)
        sys.setprofile(None)
    tree = ast.parse(pathlib.Path(columns.__file__).read_text())
    known = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    missed = known - {name.split(".")[0] for name in ran}
    print(f"columns: the seeds reach {len(known) - len(missed)} of {len(known)} functions of cli/columns.py")
    if missed:
        sys.exit(
            f"BAD  columns: the seeds of tests/fuzz/columns.py do not reach {', '.join(sorted(missed))}: add one that does"
        )


def main():
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        print("skip: pyarrow is not installed")
        sys.exit(77)
    record.begin("columns")
    reached()
    count = 1_000_000 if os.environ.get("RUNGS_TEST_FULL") else 20_000
    with tempfile.TemporaryDirectory() as name:
        progress = pathlib.Path(name) / "progress"
        for number in range(count // PART):
            done = subprocess.run(
                [sys.executable, __file__, "part", str(number)],
                capture_output=True,
                text=True,
                errors="replace",
                env={**os.environ, "PROGRESS": str(progress), "OMP_NUM_THREADS": "1"},
            )
            if done.returncode != 0:
                at = progress.read_text() if progress.exists() else "none"
                sys.exit(
                    f"BAD  columns: input {at} (random.Random({at})): exit code {done.returncode}\n{done.stderr[-3000:]}"
                )
    record.end("columns", count)
    print(f"ok   columns: {count} files")


if __name__ == "__main__":
    if sys.argv[1:2] == ["part"]:
        part(int(sys.argv[2]))
    else:
        main()
