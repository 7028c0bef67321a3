"""A Markdown page: what was verified, and the medians with their intervals. The latest row of each."""

from analysis import rows as r
from analysis.format import many, seconds_between, table, without_empty


def write(source):
    latest = source.latest.in_markdown()
    rows = latest.rows
    counts = {verdict: sum(row["verdict"] == verdict for row in rows) for verdict in ("pass", "fail", "error", "skip")}
    parts = [
        ", ".join(f"{count} {verdict}" for verdict, count in counts.items() if count) + f" of {many(len(rows), 'row')}"
    ]
    for (machine, case), found in r.grouped(rows, lambda row: (latest.machine(row), row["case"])).items():
        modes = r.modes_of(found)
        header = ["variant", "verdict", *(f">{mode}" for mode in modes), "why"]
        parts.append(f"`{case}` on {machine}\n\n" + table(*without_empty(header, [line(row, modes) for row in found])))
    return "\n\n".join(parts) + "\n", len(rows)


def line(row, modes):
    times = [r.timing(row, mode) if row["verdict"] == "pass" else None for mode in modes]
    why = row.get("reason") or ("" if any(times) else row.get("why_not_timed"))
    return [
        f"`{row['spec'].split('/', 1)[-1]}`" + (" (emulated)" if r.is_emulated(row) else ""),
        r.verdict_words(row),
        *(seconds_between(t["median"], t.get("low"), t.get("high")) if t else "-" for t in times),
        why or "-",
    ]
