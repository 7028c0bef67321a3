"""Parquet: the lines of the CSV, with types, and the samples of each."""

import pyarrow
import pyarrow.parquet

from analysis.export.as_csv import COLUMNS, lines_of

TYPES = {
    "text": pyarrow.string(),
    "real": pyarrow.float64(),
    "whole": pyarrow.uint64(),
    "bool": pyarrow.bool_(),
    "list": pyarrow.list_(pyarrow.float64()),
}


def write(source):
    lines = [{**line, **samples(row, line.get("mode"))} for row in source.rows for line in lines_of(source, row)]
    columns = {**COLUMNS, **dict.fromkeys(sorted({key for line in lines for key in line if key.startswith("param.")}))}
    columns |= dict.fromkeys(("samples", "sm_mhz_samples"), "list")
    arrays = {name: array(kind, [line.get(name) for line in lines]) for name, kind in columns.items()}
    sink = pyarrow.BufferOutputStream()
    pyarrow.parquet.write_table(pyarrow.table(arrays), sink, compression="zstd")
    return sink.getvalue().to_pybytes(), len(lines)


def samples(row, mode):
    times = ((row.get("timing") or {}).get(mode) or {}) if mode else {}
    return {"samples": times.get("samples"), "sm_mhz_samples": times.get("sm_mhz")}


def array(kind, values):
    """kind: of TYPES; None: numbers where all are."""
    kind = kind or ("real" if all(isinstance(v, (int, float, type(None))) for v in values) else "text")
    told = [v if v is None or kind != "text" else str(v) for v in values]
    return pyarrow.array(told, TYPES[kind])
