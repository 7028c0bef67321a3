"""Do repeated calls of a variant on one input give the same bits, what does it cost to ask for that, and what do calls cost in joules?"""

from analysis import rows as r
from analysis.format import many, significant, table
from analysis.report.rivals import fastest, times_faster
from analysis.report.standing import bound_words, case_words

MOST = 3
SURE_CALLS = 1000  # of each row: with fewer no sentence speaks of determinism


def bits_text(row):
    told = row.get("bits") or {}
    calls = f"{told.get('calls') or 0:,}"
    if told.get("outcome") == "same":
        return f"same in {calls} calls"
    if told.get("outcome") != "differ":
        return "-"
    apart = f", {significant(told['apart'], 2)} apart" if told.get("apart") is not None else ""
    return f"differ (`{told['output']}[{told['element']}]`{apart})"


def outcome(row):
    return (row.get("bits") or {}).get("outcome")


def price_text(found):
    """Of an op: where the fastest of all gives other bits in repeated calls, how much longer the fastest takes that gives the same."""
    cheap, costly = [], []
    for some in found.values():
        best, same = fastest(some.rows), fastest([row for row in some.rows if outcome(row) == "same"])
        if best and outcome(best) == "differ":
            costly.append((best, same, times_faster(same, best) if same else None))
        elif best is same and best:
            cheap.append(best)
    if not cheap and not costly:
        return ""
    least = min(
        [row["bits"]["calls"] for row in cheap] + [same["bits"]["calls"] for _, same, _ in costly if same], default=0
    )
    text = f" *Price of {'determinism' if least >= SURE_CALLS else 'equal bits'}*: none in {len(cheap)} of {many(len(cheap) + len(costly), 'case')}, whose fastest gave the same bits in repeated calls on one input"
    costly.sort(key=lambda one: -(one[2].value if one[2] else float("inf")))
    for best, same, ratio in costly[:MOST]:
        text += f"; {best['op']} {case_words(best)}: `{r.name_of(best)}`{bound_words(best)} differs, "
        text += (
            f"`{r.name_of(same)}` does not and takes {ratio}".replace("*", "")
            if same
            else "and of no other is it known"
        )
    text += f"; and {len(costly) - MOST} more" if len(costly) > MOST else ""
    return text + (f" (each row {least:,} calls or more)." if least else ".")


def energy_table(found):
    """Of each case that was metered our fastest variant and the fastest rival."""
    lines = []
    for op, cases in found.items():
        for some in cases.values():
            metered = [row for row in some.rows if (row.get("energy") or {}).get("joules") is not None]
            for k, row in enumerate(sorted(metered, key=lambda row: row["energy"]["joules"])):
                told = row["energy"]
                per = told.get("joules_per_element")
                lines.append(
                    [
                        "" if k else f"{op} {case_words(row)}",
                        f"`{r.name_of(row)}`",
                        f"{significant(1e3 * told['joules'])} ({significant(1e3 * told['low'])} to {significant(1e3 * told['high'])})",
                        significant(1e12 * per) if per else "-",
                        significant(told["watts"]),
                    ]
                )
    return table(["case", "variant", ">mJ a call", ">pJ an element", ">W"], lines) if lines else ""


def price(found, links):
    """What equal bits cost in all cases, and on which pages joules stand. links: op -> link of its page."""
    every = {(op, case): some for op, cases in found.items() for case, some in cases.items()}
    bits = price_text(every).strip() or "The bits of repeated calls were compared in no case of these runs."
    pages = [f"[{op}]({links[op]})" for op, cases in found.items() if energy_table({op: cases})]
    joules = (
        f"Joules of a call: {', '.join(pages)}." if pages else "No call of these runs was metered (`run --energy`)."
    )
    return f"{bits}\n\n{joules}"
