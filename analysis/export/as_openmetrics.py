"""OpenMetrics text, for Prometheus and what reads its format: gauges in seconds, over the processes of the latest build. A file to be scraped
(node exporter's textfile collector) or loaded (promtool tsdb create-blocks-from openmetrics)."""

import datetime

from analysis.export.entries import measurements

GAUGES = (
    ("rungs_time_seconds", "seconds", "Median time of a call over processes.", lambda m: m.median),
    (
        "rungs_time_low_seconds",
        "seconds",
        "Smallest process median; of one process the lower end of its 95% interval.",
        lambda m: m.low,
    ),
    (
        "rungs_time_high_seconds",
        "seconds",
        "Largest process median; of one process the upper end of its 95% interval.",
        lambda m: m.high,
    ),
    ("rungs_processes", None, "Processes that the time is of.", lambda m: len(m.medians)),
)


def write(source):
    found = measurements(source)
    lines = []
    for name, unit, help_text, value in GAUGES:
        lines += [f"# TYPE {name} gauge", *([f"# UNIT {name} {unit}"] if unit else []), f"# HELP {name} {help_text}"]
        lines += [f"{name}{{{labels(source, m)}}} {float(value(m))!r}{stamp(m)}" for m in found if value(m) is not None]
    return "\n".join([*lines, "# EOF"]) + "\n", len(found)


def labels(source, m):
    row, e = m.entry.row, m.entry.environment
    told = {
        "variant": row["spec"],
        "case": row["case"],
        "mode": m.entry.mode,
        "bound": (row.get("bound") or {}).get("name"),
        "device": source.machine(row),
        "commit": e.get("commit"),
    }
    return ",".join(f'{key}="{escape(value)}"' for key, value in told.items() if value)


def escape(text):
    return str(text).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def stamp(m):
    """When the latest process ran, seconds since 1970; nothing where that is not known."""
    try:
        return f" {datetime.datetime.fromisoformat(m.entry.environment['date']).timestamp():.0f}"
    except (KeyError, TypeError, ValueError):
        return ""
