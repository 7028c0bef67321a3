"""Writes the files of this folder, which the examples of the documentation read: cmake/python examples/data/make.py [FOLDER]

The numbers are multiples of an irrational number modulo 1, so that every machine makes the same files.
"""

import csv
import pathlib
import sys

import numpy as np
import pyarrow as pa
from pyarrow import ipc

NAMES = ["John Lee", "Madonna", "José Pérez", "", None, "Zoë Müller", "漢 字", "Ada Lovelace", "X", "Mary Ann Evans"]
VISIBLE = ["public", "public", "private", "public", "public", "public", "public", None, "private", "public"]


def spread(n, step):
    return np.arange(n) * step % 1


def column(words):
    """Offsets and characters of a column of strings; a null row is empty here."""
    encoded = [(word or "").encode() for word in words]
    return np.cumsum([0, *map(len, encoded)], dtype=np.int32), np.frombuffer(b"".join(encoded), np.uint8)


def arrays():
    n = 1000
    yield "x", spread(n, 0.6180339887498949)
    yield "y", spread(n, 0.7548776662466927)
    yield "gamma", 0.9 + 0.1 * spread(n, 0.5698402909980532)
    yield "starts", (np.arange(n) % 250 == 0).astype(np.uint8)  # 4 series of 250
    yield "table", spread(n, 0.6180339887498949).reshape(250, 4) * [1, 10, 100, 1000]
    yield "weights", 0.5 + spread(250, 0.7548776662466927)
    for name, words in (("names", NAMES), ("visibilities", VISIBLE)):
        offsets, chars = column(words)
        yield f"{name}_offsets", offsets
        yield f"{name}_chars", chars


def main():
    folder = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).parent
    for name, array in arrays():
        np.save(folder / f"{name}.npy", array)
    with open(folder / "people.csv", "w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(["names", "visible"])
        for name, visible in zip(NAMES, VISIBLE):
            if name == "":
                file.write(f'"",{visible}\n')  # quoted: an empty name; without quotes: null
            else:
                rows.writerow([name, visible])
    table = pa.table({"names": pa.array(NAMES, pa.string()), "visibilities": pa.array(VISIBLE, pa.string())})
    with pa.OSFile(str(folder / "people.arrow"), "wb") as file, ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)


if __name__ == "__main__":
    main()
