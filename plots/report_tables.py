"""The tables of the report: ladder, accuracy, what failed, what was skipped, what was emulated, first calls."""
import collections
import math

import choose
import rows as r
from markdown import details, table
from words import count, percent, rate, seconds, significant

VERDICT_ORDER = {"pass": 0, "fail": 1, "error": 2, "skip": 3}


def machines(results):
    return list(dict.fromkeys(r.machine_of(results, row) for row in results.rows))


def bound_name(row):
    bound = row.get("bound") or {}
    return (bound.get("name") or "-") + (" (declared)" if bound.get("declared") else "")


def ratio(value):
    if value is None:
        return "-"
    return "not comparable" if math.isinf(value) else "0" if value == 0 else f"{value:.2g}"


def with_interval(row, mode):
    timed = r.timing(row, mode)
    if not timed:
        return "-"
    low, high = timed.get("low"), timed.get("high")
    return seconds(timed["median"], 4) + (f" ({seconds(low, 4)} to {seconds(high, 4)})" if low is not None and high is not None else "")


def speedup_text(results, row):
    """With the widest interval that the two medians' intervals allow."""
    value, spec = r.speedup(results, row), r.baseline_spec(results, row)
    if value is None:
        return "-"
    if spec == row["spec"]:
        return "1 (baseline)"
    base, mine = results.times[r.machine_of(results, row), row["case"], spec, "cold"], r.timing(row, "cold")
    if None in (base.get("low"), base.get("high"), mine.get("low"), mine.get("high")):
        return f"{significant(value)}x"
    return f"{significant(value)}x ({significant(base['low'] / mine['high'])} to {significant(base['high'] / mine['low'])})"


def case_table(results, rows):
    lines = []
    for row in sorted(rows, key=lambda row: (VERDICT_ORDER.get(row["verdict"], 9), r.median(row) or math.inf, row["spec"])):
        if row["verdict"] == "skip":
            continue
        share, size, cold = r.fraction(results, row), r.work_bytes(row), r.median(row)
        flag = " **(!)**" if share and share > 1 else ""
        verdict = row["verdict"] if row["verdict"] != "pass" or cold else f"pass, not timed: {row.get('why_not_timed') or 'reason unknown'}"
        lines.append((r.spec_name(row), with_interval(row, "cold"), seconds(r.median(row, "hot"), 4), seconds(r.median(row, "graph"), 4),
                      rate(size / cold) if size and cold else "-", percent(share) + flag, speedup_text(results, row), ratio(r.worst_ratio(row)), bound_name(row), verdict))
    baseline = next((r.baseline_spec(results, row) or row["baseline"] for row in rows if row.get("baseline")), None)
    against = f">speed-up over {r.name_of(baseline)}" if baseline else ">speed-up"
    text = table(["variant", ">cold (95% interval)", ">hot", ">graph", ">GB/s", ">of copy", against, ">error / bound", "bound", "verdict"],
                 [[line[0], *line[1:4], line[4].replace(" GB/s", ""), *line[5:]] for line in lines])
    skipped = sorted({r.spec_name(row) for row in rows if row["verdict"] == "skip"})
    return text + (f"\n\nSkipped: {', '.join(skipped)}." if skipped else "")


def sweep_table(rows, parameter):
    """Variant against the swept parameter: cold medians."""
    values = sorted({r.number(row, parameter) for row in rows})
    cells = collections.defaultdict(dict)
    for row in rows:
        text = seconds(r.median(row)) if r.median(row) else "**fail**" if row["verdict"] == "fail" else row["verdict"]
        cells[r.spec_name(row) + (f" ({bound_name(row)})" if r.is_declared(row) else "")][r.number(row, parameter)] = r.median(row) or math.inf, text
    order = sorted(cells, key=lambda spec: min(t for t, _ in cells[spec].values()))
    return table(["variant", *(f">{parameter} = {count(v)}" for v in values)], [[spec, *(cells[spec].get(v, (0, "-"))[1] for v in values)] for spec in order])


def swept_parameter(rows):
    """The numeric parameter with most values; None if none varies."""
    values = collections.defaultdict(set)
    for row in rows:
        for name, value in (row.get("params") or {}).items():
            if isinstance(value, (int, float)):
                values[name].add(value)
    best = max(values, key=lambda name: len(values[name]), default=None)
    return best if best and len(values[best]) > 1 else None


def by_case(rows):
    found = collections.defaultdict(list)
    for row in rows:
        found[row["case"]].append(row)
    return {case: group for case, group in found.items() if any(r.median(row) for row in group)}


def title(row):
    return f"{choose.describe(row)}, input {row.get('input')}"


def ladder_of_op(results, op, rows):
    """Cases that claims speak of are shown open; sweeps as one matrix per group; every case in full, folded."""
    parts = []
    claimed = {c.get("case") for c in results.claims}
    cases = by_case(rows)
    for case, group in cases.items():
        if case in claimed:
            parts.append(f"**{title(group[0])}** (published)\n\n`{case}`\n\n{case_table(results, group)}")
    parameter = swept_parameter([row for row in rows if r.median(row)])
    if parameter:
        for group in choose.groups([row for row in rows if r.number(row, parameter) is not None], parameter).values():
            if len({r.number(row, parameter) for row in group if r.median(row)}) >= 2:
                head = f"{choose.describe(group[0], parameter)}, input {group[0].get('input')}: cold median against {parameter}"
                parts.append(details(head, sweep_table(group, parameter)))
    rest = [details(title(group[0]), f"`{case}`\n\n{case_table(results, group)}") for case, group in cases.items() if case not in claimed]
    return "\n\n".join(parts + (["Every other case, one by one:"] if parts and rest else []) + rest)


def ladder(results):
    parts = []
    for machine in machines(results):
        for op in sorted({row["op"] for row in results.rows}):
            rows = [row for row in results.rows if row["op"] == op and r.machine_of(results, row) == machine and not r.is_emulated(row)]
            if any(r.median(row) for row in rows):
                parts.append(f"### {op} on {machine}\n\n{ladder_of_op(results, op, rows)}")
    if not parts:
        return "Nothing was timed."
    if any((r.fraction(results, row) or 0) > 1 for row in results.rows):
        parts.append("**(!)** More than the copy ceiling: a wrong byte count, data that stayed in a cache, or a ceiling measured too low. Not a result to rely on.")
    how = ("Medians over samples of one call; GB/s by the op's work model, whatever the kernel really moved; *of copy*: share of the copy ceiling measured in the same run; "
           "*error / bound*: the largest error as a multiple of what is allowed. A looser bound that a variant declares for itself is named.")
    return how + "\n\n" + "\n\n".join(parts)


def word_params(row):
    return " ".join(str(v) for k, v in (row.get("params") or {}).items() if isinstance(v, str) and choose.says_something(k, v))


def accuracy_cell(rows):
    """The worst ratio over all cases of the cell; if something is wrong, which aggregates are."""
    wrong = sorted({word_params(row) for row in rows if row["verdict"] == "fail"})
    ratios = [r.worst_ratio(row) for row in rows if row["verdict"] == "pass" and r.worst_ratio(row) is not None]
    if wrong:
        return "**fail**" + (f" {', '.join(w for w in wrong if w)}" if ratios and any(wrong) else "")
    if ratios:
        return ratio(max(ratios))
    return "error" if any(row["verdict"] == "error" for row in rows) else "-"


def accuracy_table(rows):
    families = sorted({row.get("input") for row in rows}, key=str)
    cells = collections.defaultdict(lambda: collections.defaultdict(list))
    for row in rows:
        cells[r.name_of(row), bound_name(row) if r.is_declared(row) else ""][row.get("input")].append(row)
    names = {key: key[0] + (f", {key[1]}" if key[1] else "") for key in cells}
    return table(["variant", *(f">{f}" for f in families)], [[names[key], *(accuracy_cell(cells[key][f]) for f in families)] for key in sorted(cells)])


def accuracy(results):
    parts = []
    for op in sorted({row["op"] for row in results.rows}):
        for emulated in (False, True):
            for dtype in ("f64", "f32"):
                rows = [row for row in results.rows if row["op"] == op and row.get("dtype") == dtype and r.is_emulated(row) == emulated and row.get("errors")]
                if rows:
                    where = "emulated on the CPU" if emulated else "as run"
                    parts.append(f"**{op}, {dtype}, {where}**\n\n{accuracy_table(rows)}")
    if not parts:
        return "Nothing ran, so nothing was verified."
    how = ("By input family: the largest error over all cases and aggregates as a multiple of the bound (at most 1 passes), or **fail** with the aggregates that are wrong "
           "(none named: all). References are computed in better than double precision.")
    return how + "\n\n" + "\n\n".join(parts)


def failed(results):
    groups = collections.defaultdict(list)
    for row in results.rows:
        if row["verdict"] in ("fail", "error"):
            groups[row["verdict"], row["spec"], r.is_emulated(row), bound_name(row), word_params(row)].append(row)
    if not groups:
        return "Nothing failed."
    lines = []
    def each(rows, get):
        return ", ".join(sorted({str(get(row)) for row in rows} - {"", "None"}))
    for (verdict, spec, in_emulator, bound, words), rows in sorted(groups.items(), key=lambda item: (VERDICT_ORDER[item[0][0]], *map(str, item[0]))):
        worst = max(rows, key=lambda row: r.worst_ratio(row) or 0)
        what = "; ".join(w for w in (words, each(rows, lambda row: row.get("dtype"))) if w)
        lines.append((verdict + (" (emulated)" if in_emulator else ""), spec.split("/", 1)[-1], what, bound, len(rows), each(rows, lambda row: row.get("input")),
                      f"{worst.get('reason') or 'no reason recorded'} [{worst['case']}]"))
    return "What fails verification has no time.\n\n" + table(["verdict", "variant", "of", "bound", ">cases", "inputs", "reason, the worst one with its case"], lines)


def skipped(results):
    groups = collections.defaultdict(list)
    for row in results.rows:
        if row["verdict"] == "skip":
            groups[row["variant"], row.get("reason") or "no reason recorded"].append(row)
    if not groups:
        return "Nothing was skipped."
    return table(["variant", ">cases", "reason"], [(variant.split("/", 1)[-1], len(rows), reason) for (variant, reason), rows in sorted(groups.items())])


def emulated(results):
    groups = collections.defaultdict(list)
    for row in results.rows:
        if r.is_emulated(row):
            groups[row["spec"]].append(row)
    if not groups:
        return "Nothing was emulated."
    lines = []
    for spec, rows in sorted(groups.items()):
        verdicts = collections.Counter(row["verdict"] for row in rows)
        outcome = "verified (emulated), not timed" if verdicts["pass"] else "not verified"
        lines.append((spec.split("/", 1)[-1], *(verdicts[v] for v in ("pass", "fail", "error", "skip")), outcome))
    how = "CUDA kernels compiled for the CPU and run in an emulator, in randomised order. It tells whether their logic is right, and nothing about time."
    return how + "\n\n" + table(["variant", ">passed", ">failed", ">errors", ">skipped", ""], lines)


def startup(results):
    groups = collections.defaultdict(list)
    for row in results.rows:
        if r.timing(row, "first") or row.get("prepare_seconds") is not None:
            groups[row["spec"]].append(row)
    if not groups:
        return "No first call was timed."
    def span(values):
        values = sorted(v for v in values if v is not None)
        return "-" if not values else seconds(values[0]) if values[0] == values[-1] else f"{seconds(values[0])} to {seconds(values[-1])}"
    lines = [(spec.split("/", 1)[-1], len(rows), span([r.median(row, "first") for row in rows]), span([row.get("prepare_seconds") for row in rows]),
              span([r.median(row, "enqueue") for row in rows])) for spec, rows in sorted(groups.items())]
    how = "*First call*: host time of the first call in a process until it is done, over the cases; *preparation*: work done once per case, such as compiling; *enqueue*: host time until the call returns."
    return how + "\n\n" + table(["variant", ">cases", ">first call", ">preparation", ">enqueue"], lines)
