"""columns.py - columns of strings between files that people have and the .npy files that `rungs exec` reads and writes.

    columns.py read FOLDER [--dtype i32|i64] NAME=FILE[:COLUMN]...
        makes FOLDER/NAME.PART.npy of the parts offsets, chars and, where there are nulls, validity
    columns.py write FOLDER NAME=DESCRIPTOR:FILE.arrow...
        writes the Arrow file made from these three to the inherited descriptor, which the program opened for FILE

FILE is an Arrow IPC file or stream (.arrow, .ipc, .feather) or a CSV file with a header (.csv). The offsets of all columns are of one
type: i64 where a column is large_string or too long for i32, or as --dtype says. Exit codes: 0, 2 for what is wrong in the input, 4
without pyarrow, 5 for what the machine refuses."""

import argparse
import io
import os
import stat
import sys

INT32_MAX = 2**31 - 1
ARROW, CSV = (".arrow", ".ipc", ".feather"), (".csv",)


class Wrong(Exception):
    """The message, and the exit code: 2, in the input; 5, by the machine."""

    def __init__(self, message, code=2):
        super().__init__(message)
        self.code = code


def file_and_column(text):
    """ "dir/a.csv:name" -> ("dir/a.csv", "name"); a colon before the ending is part of the path."""
    if text.endswith(ARROW + CSV):
        return text, None
    path, colon, column = text.rpartition(":")
    while colon and not path.endswith(ARROW + CSV):
        path, colon, rest = path.rpartition(":")
        column = f"{rest}:{column}"
    if not colon:
        raise Wrong(f"{text}: expected FILE.arrow or FILE.csv, optionally followed by :COLUMN")
    return path, column


def choose(path, names, wanted, fallback):
    """The column that was named, or the one that there is, or the one that is called like the input."""
    if wanted is None:
        wanted = names[0] if len(names) == 1 else fallback
    if names.count(wanted) != 1:
        how = "several columns" if wanted in names else "no column"
        raise Wrong(
            f"{path}: {how} '{one_line(wanted)}' (columns: {one_line(', '.join(names)) or 'none'}); FILE:COLUMN names one"
        )
    return wanted


def read_arrow(path, wanted, fallback):
    from pyarrow import ipc

    with open(path, "rb") as file:
        begin = file.read(6)
        file.seek(0)
        try:
            reader = ipc.open_file(file) if begin == b"ARROW1" else ipc.open_stream(file)
        except (OSError, ValueError) as error:
            raise Wrong(f"{path}: not a complete Arrow IPC file or stream ({one_line(error)})") from error
        return reader.read_all()[choose(path, reader.schema.names, wanted, fallback)]


def read_csv(path, wanted, fallback):
    """A field is text, whatever it looks like. An empty one is null, a quoted empty one is empty.

    So a blank line is a null where the file has one column. Where it has several, nobody can say whether it is a row; to guess wrong
    would pair all rows after it with the wrong ones of another file, so that it is refused."""
    import pyarrow
    from pyarrow import csv

    def parse(blank_lines):
        return csv.ParseOptions(newlines_in_values=True, ignore_empty_lines=not blank_lines)

    def read_rows(blank_lines):
        text = csv.ConvertOptions(
            column_types={column: pyarrow.large_string()},
            include_columns=[column],
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        )
        return csv.read_csv(path, parse_options=parse(blank_lines), convert_options=text)[column]

    with open(path, "rb") as file:
        if file.read(1) in (b"\n", b"\r"):
            raise Wrong(f"{path}: the first line is blank; expected the names of the columns")
    with csv.open_csv(path, parse_options=parse(True)) as reader:
        names = reader.schema.names
    column = choose(path, names, wanted, fallback)
    rows = read_rows(True)
    blank = len(rows) - len(read_rows(False)) if len(names) > 1 else 0
    if blank:
        lines = "a blank line" if blank == 1 else f"{blank} blank lines"
        raise Wrong(
            f"{path}: {lines} in a file of {len(names)} columns; remove them, or write '{',' * (len(names) - 1)}' for a row of nulls"
        )
    return rows


def as_strings(path, column):
    """One array of large_string, and whether the column's offsets had 64 bits."""
    import pyarrow
    from pyarrow import types

    column.validate(full=True)  # offsets that point beyond the data, bytes that are not UTF-8
    kind = column.type.value_type if types.is_dictionary(column.type) else column.type
    if types.is_null(kind):  # what a writer makes of a column that is null throughout
        kind = pyarrow.string()
    if not (types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind)):
        raise Wrong(f"{path}: the column is of type {column.type}; strings are expected")
    strings = column.cast(kind).cast(pyarrow.large_string()).combine_chunks()
    return strings, types.is_large_string(kind)


def one_line(error):
    return " ".join(str(error).split())


def load(name, text):
    path, wanted = file_and_column(text)
    try:
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise Wrong(f"{path}: no regular file; a column is read more than once")
    except OSError as error:
        raise Wrong(f"{path}: {error.strerror}") from error
    try:
        if path.endswith(CSV):
            return as_strings(path, read_csv(path, wanted, name))[0], False
        return as_strings(path, read_arrow(path, wanted, name))
    except (
        OSError,
        ValueError,
        KeyError,
        IndexError,
        MemoryError,
        NotImplementedError,
    ) as error:  # what pyarrow's own errors are as well
        words = one_line(error)
        raise Wrong(words if path in words else f"{path}: {words}") from error


def parts(strings):
    """Offsets from 0 and the bytes that belong to rows, whatever the array is a slice of."""
    import numpy

    _, offsets, chars = strings.buffers()
    if not len(strings):
        return numpy.zeros(1, "<i8"), numpy.empty(0, "u1")
    offsets = numpy.frombuffer(offsets, "<i8")[strings.offset :][: len(strings) + 1]
    chars = numpy.frombuffer(chars, "u1")[offsets[0] : offsets[-1]] if chars is not None else numpy.empty(0, "u1")
    return offsets - offsets[0], chars


def read(folder, dtype, columns):
    import numpy

    loaded = {name: load(name, text) for name, text in columns.items()}
    if len({len(strings) for strings, _ in loaded.values()}) > 1:
        lengths = (f"{name} has {len(strings)} rows ({columns[name]})" for name, (strings, _) in loaded.items())
        raise Wrong(f"columns must have the same length: {', '.join(lengths)}")
    wide = any(is_wide for _, is_wide in loaded.values())
    split = {name: parts(strings) for name, (strings, _) in loaded.items()}
    longest = max(split, key=lambda name: len(split[name][1]))
    if dtype == "i32" and len(split[longest][1]) > INT32_MAX:
        raise Wrong(
            f"{columns[longest]}: {len(split[longest][1])} bytes; int32 offsets hold {INT32_MAX}; use dtype=i64"
        )
    wide = dtype == "i64" or (dtype is None and (wide or len(split[longest][1]) > INT32_MAX))
    for name, (offsets, chars) in split.items():
        strings = loaded[name][0]
        numpy.save(f"{folder}/{name}.offsets.npy", offsets.astype("<i8" if wide else "<i4"))
        numpy.save(f"{folder}/{name}.chars.npy", chars)
        if strings.null_count:
            valid = numpy.asarray(strings.is_valid())
            numpy.save(f"{folder}/{name}.validity.npy", numpy.packbits(valid, bitorder="little"))


def write(folder, columns):
    import numpy
    import pyarrow

    for name, place in columns.items():
        descriptor, path = place.split(":", 1)
        offsets, chars, validity = (
            numpy.load(f"{folder}/{name}.{part}.npy") for part in ("offsets", "chars", "validity")
        )
        buffers = [
            pyarrow.py_buffer(validity) if validity.size else None,
            pyarrow.py_buffer(offsets),
            pyarrow.py_buffer(chars),
        ]
        kind = pyarrow.large_string() if offsets.itemsize == 8 else pyarrow.string()
        table = pyarrow.table({name: pyarrow.Array.from_buffers(kind, len(offsets) - 1, buffers)})
        try:
            with os.fdopen(int(descriptor), "wb") as file:
                write_table(file, table)
        except OSError as error:
            raise Wrong(f"{path}: cannot be written: {error.strerror}", 5) from error
        print(f"{path}: {kind}[{table.num_rows}], {table[0].null_count} null")


def write_table(file, table):
    """The format has places that are filled in later: what cannot be sought gets it from memory."""
    from pyarrow import ipc

    whole = file if file.seekable() else io.BytesIO()
    with ipc.new_file(whole, table.schema) as writer:
        writer.write_table(table)
    if whole is not file:
        file.write(whole.getvalue())


def main(words):
    parser = argparse.ArgumentParser()
    parser.add_argument("what")
    parser.add_argument("folder")
    parser.add_argument("--dtype")
    parser.add_argument("columns", nargs="+")
    args = parser.parse_args(words)
    columns = dict(word.split("=", 1) for word in args.columns)
    try:
        if args.what == "read":
            read(args.folder, args.dtype, columns)
        else:
            write(args.folder, columns)
    except ImportError as error:
        name = (error.name or "pyarrow").split(".")[0]
        print(
            f"{name} is not installed: ./rungs installs it in a source tree; else name a Python that has it in RUNGS_PYTHON"
        )
        return 4
    except Wrong as error:
        print(error)
        return error.code
    except OSError as error:  # in the temporary folder, whose name means nothing to the user
        print(f"columns: temporary files in {os.path.dirname(args.folder)}: {error.strerror or error}")
        return 5
    return 0


if __name__ == "__main__":
    code = main(sys.argv[1:])
    sys.stdout.flush()
    os._exit(code)  # C++'s exit handlers would end the process (std::terminate) while threads of pyarrow run
