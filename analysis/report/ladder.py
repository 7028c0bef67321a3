"""The ladder: the published cases in full, sweeps as one compact table per group, whatever is left folded."""

import collections
import math
import string

from analysis import rows as r
from analysis import select
from analysis.format import (
    count,
    describe,
    details,
    folded,
    percent,
    pictures_of,
    rate,
    seconds,
    seconds_between,
    significant,
    table,
    without_empty,
)
from analysis.report import bits, counts

VERDICT_ORDER = {"pass": 0, "fail": 1, "error": 2, "skip": 3}


def ratio(value):
    if value is None:
        return "-"
    return "not comparable" if math.isinf(value) else "0" if value == 0 else f"{value:.2g}"


def with_interval(row, mode, digits=4):
    timed = r.timing(row, mode)
    return seconds_between(timed["median"], timed.get("low"), timed.get("high"), digits) if timed else "-"


def baseline_of(results, rows):
    """Of a table, whose rows may come from suites with a baseline each: the one that most of them have."""
    found = collections.Counter(filter(None, (results.baseline_spec(row) or row.get("baseline") for row in rows)))
    return min(found, key=lambda spec: (-found[spec], spec), default=None)


def speedup_text(results, row, spec):
    """With the widest interval that the two medians' intervals allow."""
    value = results.speedup(row, over=spec) if spec else None
    if value is None:
        return "-"
    if spec == row["spec"]:
        return "1 (baseline)"
    base, mine = results.time_of(row, spec), r.timing(row, "cold")
    if None in (base.get("low"), base.get("high"), mine.get("low"), mine.get("high")):
        return f"{significant(value)}x"
    return f"{significant(value)}x ({significant(base['low'] / mine['high'])} to {significant(base['high'] / mine['low'])})"


def error_text(row):
    found = ratio(r.worst_ratio(row))
    named = found != "-" and row.get("bound") and (r.is_declared(row) or row["verdict"] == "fail")
    return f"{found} of `{row['bound']['name']}`" if named else found


def commit_of(results, row):
    return (results.environment(row).get("commit") or "unknown")[:7]


def with_marks(results, rows):
    """(the rows, those of other campaigns than most marked; what the marks mean): times of one table that are of several cards or builds."""
    count = collections.Counter(results.campaign(row) for row in rows if r.median(row))
    order = sorted(count, key=lambda campaign: (-count[campaign], str(campaign)))
    marks = {campaign: f" [{letter}]" for campaign, letter in zip(order[1:], string.ascii_lowercase)}
    marked = [{**row, "mark": marks.get(results.campaign(row), "")} for row in rows]
    commits = {row["mark"].strip(): commit_of(results, row) for row in marked if row["mark"]}
    words = ", ".join(f"{mark} of commit {commit}" for mark, commit in sorted(commits.items()))
    return marked, f" Of another campaign, on another card: {words}." if words else ""


def case_table(results, rows):
    lines, baseline = [], baseline_of(results, rows)
    ran = [row for row in rows if row["verdict"] != "skip"]
    several = len({results.campaign(row) for row in ran}) > 1
    for row in sorted(ran, key=lambda row: (VERDICT_ORDER[row["verdict"]], r.median(row) or math.inf, row["spec"])):
        size, cold = r.work_bytes(row), r.median(row)
        verdict = r.verdict_words(row)
        if row["verdict"] == "pass" and results.why_not_ranked(row):
            verdict += f", {results.why_not_ranked(row)}"
        if row["verdict"] == "pass" and not cold:
            verdict += f", not timed: {row.get('why_not_timed') or 'reason unknown'}"
        lines.append(
            (
                r.name_of(row["spec"]),
                with_interval(row, "cold"),
                seconds(r.median(row, "hot"), 4),
                seconds(r.median(row, "graph"), 4),
                rate(size / cold).replace(" GB/s", "") if size and cold else "-",
                percent(r.share_of_limit(row)),
                speedup_text(results, row, baseline),
                error_text(row),
                bits.bits_text(row),
                f"`{commit_of(results, row)}`" if several else "-",
                verdict,
            )
        )
    against = f">over {r.name_of(baseline)}" if baseline else ">speed-up"
    header = ["variant", ">cold (95% interval)", ">hot", ">graph", ">GB/s", ">of limit", against]
    text = table(*without_empty([*header, ">error / bound", "bits", "commit", "verdict"], lines))
    skipped = sorted({r.name_of(row["spec"]) for row in rows if row["verdict"] == "skip"})
    return text + (f"\n\nSkipped: {', '.join(skipped)}." if skipped else "")


def value_words(values):
    return " x ".join(count(v) for v in values)


def sweep_label(row):
    return r.name_of(row["spec"]) + (f" (`{row['bound']['name']}`)" if r.is_declared(row) else "")


def time_of(row, mode="cold"):
    return seconds(r.median(row, mode)) + " (one input)" * r.is_on_one_input(row) + row.get("mark", "")


def sweep_cell(row, mode):
    if row is None:
        return "-"
    if not r.median(row, mode):
        return "**fail**" if row["verdict"] == "fail" else "-" if row["verdict"] == "pass" else row["verdict"]
    share = r.share_of_limit(row, mode)
    return time_of(row, mode) + (f", {percent(share, 2)}" if share else "")


def sweep_table(rows, swept, mode="cold"):
    """Variant against what is swept: median and share of the ceiling; fastest at the largest value first. A row that only verified takes no
    time's place, and a value at which nothing was timed no column."""
    values = sorted({select.value_of(row, swept) for row in rows if r.median(row, mode)})
    cells = collections.defaultdict(dict)
    for row in sorted(rows, key=lambda row: bool(r.median(row, mode))):
        cells[sweep_label(row)][select.value_of(row, swept)] = row

    def order(label):
        some = [cells[label].get(v) for v in reversed(values)]
        return [row and r.median(row, mode) or math.inf for row in some], label

    lines = [[label, *(sweep_cell(cells[label].get(v), mode) for v in values)] for label in sorted(cells, key=order)]
    short = {"window": "w = "}.get(swept[0], f"{swept[0]} = ") if len(swept) == 1 else ""
    return table_of_variants([f">{short}{value_words(v)}" for v in values], lines)


def table_of_variants(header, lines):
    """Of variants: those of which there is something to say."""
    known = [line for line in lines if any(cell not in ("-", "skip") for cell in line[1:])]
    return table(["variant", *header], known)


def widest_interval(rows, swept, mode="cold"):
    found = []
    for row in rows:
        timed = r.timing(row, mode)
        if timed and timed.get("low") and timed.get("high"):
            apart = max(timed["high"] / timed["median"] - 1, 1 - timed["low"] / timed["median"])
            found.append((apart, r.name_of(row["spec"]), select.value_of(row, swept)))
    if not found:
        return ""
    found.sort(key=lambda item: item[0])
    widest, spec, value = found[-1]
    return (
        f"95% intervals of these {len(found)} medians: half of them within ±{percent(found[len(found) // 2][0])}, "
        f"the widest ±{percent(widest)} ({spec}, {' x '.join(swept)} = {value_words(value)})."
    )


def sweep_text(results, rows, swept):
    rows, marks = with_marks(results, rows)
    text = sweep_table(rows, swept) + "\n\n" + widest_interval(rows, swept) + marks
    if any(r.median(row, "hot") for row in rows):
        hot = [row for row in rows if r.median(row, "hot") or row["verdict"] != "pass"]
        text += "\n\n" + details("the same, hot", sweep_table(hot, swept, "hot"))
    return text


def sweeps_part(results, sweeps, swept, shown):
    """A heading, the first table open, the others folded; their cases are shown then."""
    parts = [f"#### Time against {' x '.join(swept)}\n\nMedian of cold calls, and the share of the limit."]
    for k, group in enumerate(sweeps):
        parts.append(folded(title(group[0], *swept), sweep_text(results, group, swept), k > 0))
        shown |= {row["case"] for row in group if r.median(row)}
    return parts


def title(row, *left_out):
    return f"{describe(row, *left_out)}, input {row.get('input')}"


def input_table(rows):
    """Variant against input: cold medians."""
    families = sorted({row["input"] for row in rows})
    cells = collections.defaultdict(dict)
    for row in rows:
        text = {"fail": "**fail**", "pass": time_of(row)}.get(row["verdict"], row["verdict"])
        cells[sweep_label(row)][row["input"]] = text
    lines = [[label, *(cells[label].get(f, "-") for f in families)] for label in sorted(cells)]
    return table_of_variants([f">{f}" for f in families], lines)


def ladder_of_op(results, rows, links):
    claimed = {c.get("case") for c in results.claims}
    cases = select.by_case(rows)
    order = sorted((case for case in cases if case in claimed), key=lambda case: -len(cases[case]))
    shown, parts = set(order), []
    for k, case in enumerate(order):
        parts.append(folded(title(cases[case][0]), f"`{case}`\n\n{case_table(results, cases[case])}", k > 0))
    if order:
        parts.insert(0, "#### Cases of published claims")
    parameter, sweeps = select.find_sweeps(rows)
    if sweeps:
        sweeps.sort(key=lambda group: (not select.is_mean(group[0]), group[0]["dtype"] != "f64", -len(group)))
        sweeps.sort(key=lambda group: -max(r.number(row, "n") or 0 for row in group) if parameter != "n" else 0)
        parts += sweeps_part(results, sweeps, (parameter,), shown)
    shapes = select.find_shapes(rows, shown)
    if shapes:
        shapes.sort(key=lambda group: -sum(bool(r.median(row)) for row in group))
        parts += sweeps_part(results, shapes, select.SHAPE, shown)
    counted = counts.counts_of_op(rows[0]["op"], rows, title, links["method"])
    parts += [counted] if counted else []
    groups = [[row for row in group if row["case"] not in shown] for group in select.by_input(rows)]
    if groups:
        parts.append(
            "#### Time on many inputs\n\nMedian of cold calls; the errors of the same rows are under Accuracy. **fail**: failed verification, not timed."
        )
    for group in groups:
        marked, marks = with_marks(results, group)
        parts.append(details(describe(group[0]), input_table(marked) + ("\n\n" + marks.strip() if marks else "")))
        shown |= {row["case"] for row in group}
    rest = [
        details(title(group[0]), f"`{case}`\n\n{case_table(results, group)}")
        for case, group in cases.items()
        if case not in shown
    ]
    return "\n\n".join(parts + (["#### Other cases"] if parts and rest else []) + rest)


def ladder(results, pictures, why_none, links):
    parts = []
    for machine in dict.fromkeys(results.machine(row) for row in results.rows):
        for op in sorted({row["op"] for row in results.rows}):
            here = (row for row in results.rows if row["op"] == op and results.machine(row) == machine)
            rows = [row for row in here if not r.is_emulated(row)]
            if any(r.median(row) for row in rows):
                parts.append(f"### {machine}\n\n{ladder_of_op(results, rows, links)}")
    if not parts:
        return "Nothing was timed."
    how = (
        "How to read the tables:\n\n"
        "- *cold*: median of single calls after a cache flush, with its 95% interval (fewer than 6 samples: observed range, which covers less); *hot*: warm L2, back to back; *graph*: a CUDA graph replayed back to back\n"
        "- *GB/s*: input and output counted once each, over the cold median, whatever the kernel moved; *of limit*: the least time that the device needs for these bytes, over the median\n"
        "- clocks: *cold*, *hot* and *graph* of CUDA variants, PyTorch, CuPy and Numba on CUDA are GPU time, host launch latency excluded; those of CPU variants, CPU libraries and JAX are host time (JAX: host launch latency included); *complete*, in the figure of published speed-ups, is host time for all\n"
        "- *over X*: how many times faster than X in the same case and campaign (one build on one card); empty where X was not timed there; *commit* tells campaigns apart, whose times are of different cards\n"
        "- *error / bound*: the largest error as a multiple of the tolerance; at most 1 passes. Where a variant has its own, looser tolerance, that tolerance is named "
        "(`textbook`, `prefix`, ...); the page of the op in `docs/ops/` has its formula\n"
        "- *timed on one input*, *(one input)*: the data of its samples leaves the outputs as they are, so that a stored result would be right; in no ranking and no claim"
    )
    if any(counts.HEADING in part for part in parts):
        how += "\n" + counts.HOW
    drawn = pictures_of(pictures, "ladder_", "sweep_") or why_none
    return "\n\n".join([drawn, how, *parts])
