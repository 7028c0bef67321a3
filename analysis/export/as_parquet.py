"""Parquet: the lines of the CSV, with types, and the samples of each."""

import pyarrow
import pyarrow.parquet

from analysis.export.as_csv import COLUMNS, lines_of

NUMBERS = (
    "power_cap_watts",
    "worst_ratio",
    "bytes",
    "flops",
    "elements",
    "median",
    "low",
    "high",
    "min",
    "q1",
    "q3",
    "max",
    "sm_mhz",
    "bytes_per_second",
    "elements_per_second",
    "limit_seconds",
    "limit_bytes_read",
    "limit_bytes_written",
    "limit_share",
)
WHOLE = ("seed", "count", "calls_per_sample")
LISTS = ("samples", "sm_mhz_samples")


def write(source):
    lines = [{**line, **samples(row, line.get("mode"))} for row in source.rows for line in lines_of(source, row)]
    params = sorted({key for line in lines for key in line if key.startswith("param.")})
    arrays = {name: array(name, [line.get(name) for line in lines]) for name in (*COLUMNS, *params, *LISTS)}
    sink = pyarrow.BufferOutputStream()
    pyarrow.parquet.write_table(pyarrow.table(arrays), sink, compression="zstd")
    return sink.getvalue().to_pybytes(), len(lines)


def samples(row, mode):
    times = ((row.get("timing") or {}).get(mode) or {}) if mode else {}
    return {"samples": times.get("samples"), "sm_mhz_samples": times.get("sm_mhz")}


def array(name, values):
    if name in LISTS:
        return pyarrow.array(values, pyarrow.list_(pyarrow.float64()))
    if name in NUMBERS:
        return pyarrow.array([None if v is None else float(v) for v in values], pyarrow.float64())
    if name in WHOLE:
        return pyarrow.array(values, pyarrow.uint64())
    if name == "dirty":
        return pyarrow.array(values, pyarrow.bool_())
    if name.startswith("param.") and all(isinstance(v, (int, float, type(None))) for v in values):
        return pyarrow.array([None if v is None else float(v) for v in values], pyarrow.float64())
    return pyarrow.array([None if v is None else str(v) for v in values], pyarrow.string())
