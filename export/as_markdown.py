"""A Markdown page: what was verified, and the medians with their intervals. The latest row of each."""
import entries as e
from entries import r
from markdown import table, without_empty
from words import many, seconds_between


def write(source):
    rows = source.latest.rows
    counts = {verdict: sum(row["verdict"] == verdict for row in rows) for verdict in ("pass", "fail", "error", "skip")}
    parts = [", ".join(f"{count} {verdict}" for verdict, count in counts.items() if count) + f" of {many(len(rows), 'row')}"]
    by_case = {}
    for row in rows:
        by_case.setdefault((source.machine(row), row["case"]), []).append(row)
    for (machine, case), found in by_case.items():
        header = ["variant", "verdict", *(f">{mode}" for mode in e.MODES), "why"]
        parts.append(f"`{case}` on {machine}\n\n" + table(*without_empty(header, [line(row) for row in found])))
    return "\n\n".join(parts) + "\n", len(rows)


def line(row):
    times = [r.timing(row, mode) if row["verdict"] == "pass" else None for mode in e.MODES]
    why = row.get("reason") or ("" if any(times) else row.get("why_not_timed"))
    return [f"`{row['spec'].split('/', 1)[-1]}`" + (" (emulated)" if r.is_emulated(row) else ""), row["verdict"],
            *(seconds_between(t["median"], t.get("low"), t.get("high")) if t else "-" for t in times), why or "-"]
