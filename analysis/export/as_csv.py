"""CSV with a header: one line for each row and mode of every process, one without times for each row that has none."""

import csv
import io
import statistics

from analysis import foreign
from analysis import rows as r

COLUMNS = """
    date commit dirty device driver power_cap_watts run scenario op dtype input seed case variant spec backend bound
    verdict not_judgeable reason worst_ratio bytes flops elements mode count median low high min q1 q3 max clock
    calls_per_sample sm_mhz bytes_per_second elements_per_second limit_seconds limit_bytes_read limit_bytes_written
    limit_kernel limit_share why_not_timed""".split()


def write(source):
    names = sorted({name for row in source.rows for name in row.get("params") or {}})
    text = io.StringIO()
    writer = csv.DictWriter(text, [*COLUMNS, *(f"param.{name}" for name in names)], lineterminator="\n")
    writer.writeheader()
    lines = [line for row in source.rows for line in lines_of(source, row)]
    writer.writerows({key: foreign.csv(value) for key, value in line.items()} for line in lines)
    return text.getvalue(), len(lines)


def lines_of(source, row):
    base = described(source, row)
    timed = [mode for mode in row.get("timing") or {} if row["verdict"] == "pass" and r.timing(row, mode)]
    for mode in timed:
        times = row["timing"][mode]
        clocks = [mhz for mhz in times.get("sm_mhz") or [] if mhz]
        limit = times.get("limit") or {}
        yield {
            **base,
            "mode": mode,
            **{key: times[key] for key in COLUMNS if key in times},
            "sm_mhz": statistics.median(clocks) if clocks else None,
            **{f"limit_{key}": limit[key] for key in limit if f"limit_{key}" in COLUMNS},
        }
    if not timed:
        yield base


def described(source, row):
    e = source.environment(row)
    gpu, work = e.get("gpu") or {}, row.get("work") or {}
    return {
        **{key: e.get(key) for key in ("date", "commit", "dirty")},
        **{key: row.get(key) for key in COLUMNS if key in row and key not in ("reason", "bound")},
        "device": source.machine(row),
        "driver": gpu.get("driver"),
        "power_cap_watts": gpu.get("power_cap_watts"),
        "bound": (row.get("bound") or {}).get("name"),
        "reason": (row.get("reason") or "") or None,
        "worst_ratio": r.worst_ratio(row),
        "not_judgeable": " ".join(r.unjudged(row)) or None,
        **{key: work.get(key) for key in ("bytes", "flops", "elements")},
        **{f"param.{name}": value for name, value in (row.get("params") or {}).items()},
    }
