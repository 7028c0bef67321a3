"""The ladder: how much faster every variant is than a published kernel, on the published case that most variants ran, published bars beside ours."""
import collections

import matplotlib.pyplot as plt

from analysis import rows as r
from analysis import select
from analysis.claim_text import hardware_of
from analysis.format import describe, seconds, significant
from plots import style

MOST_OTHERS = 12
OURS = {"cuda": style.OURS, "cpu": style.BACKEND_COLOURS["cpu"], "peer": "#56B4E9"}


def published_speedups(claims):
    """(case, baseline) -> hardware -> variant spec -> published speed-up, as stated or as the ratio of two published times."""
    found = collections.defaultdict(lambda: collections.defaultdict(dict))
    times = collections.defaultdict(dict)
    for c in claims:
        if c.get("quantity") == "seconds" and c.get("value"):
            times[c.get("case"), c.get("source"), c.get("hardware")][c.get("variant")] = c["value"]
    for c in claims:
        if c.get("quantity") == "speedup" and c.get("rule") == "about" and c.get("value") and c.get("mode", "cold") == "cold":  # as ours are drawn
            case, source, hardware = c.get("case"), c.get("source"), c.get("hardware")
            series = found[case, c.get("baseline")][f"published: {hardware_of(c)}"]
            base = times[case, source, hardware].get(c.get("baseline"))
            for spec, time in times[case, source, hardware].items():
                if base:
                    series.setdefault(spec, base / time)
            series[c.get("variant")] = c["value"]
            series[c.get("baseline")] = 1.0
    return found


def ours(results, claim_rows, case, baseline, mode="cold"):
    """spec -> (speed-up, row) on the main machine; empty without a time of the baseline."""
    mine = {row["spec"]: row for row in claim_rows if row["case"] == case and r.median(row, mode)}
    base = mine.get(baseline)
    if not base:
        return {}
    return {spec: (r.median(base, mode) / r.median(row, mode), row) for spec, row in mine.items()}


def case_title(row):
    params = row.get("params") or {}
    return describe(row) + (f", {row['input']}" if row.get("input") else "") if params else row["case"]


def bar(axes, y, tall, value, logarithmic, time=None, **how):
    """From nothing on a linear axis; from 1x, where a ratio says nothing, on a logarithmic one. The value stands at its end."""
    start = 1.0 if logarithmic else 0.0
    axes.barh(y, value - start, tall, left=start, **how)
    mine = how["color"] in OURS.values()
    axes.annotate(f"{significant(value)}x" + (f"   {seconds(time)}" if time else ""), (max(value, start), y), (4, 0), textcoords="offset points", va="center", fontsize=8.5,
                  color="#222222" if mine else style.MUTED, weight="bold" if mine else "normal")


def order_of(measured, series):
    """From the slowest to the fastest: the published rungs and the fastest others of ours."""
    published = {spec: value for values in series.values() for spec, value in values.items()}
    rungs = sorted(published, key=lambda s: measured[s][0] if s in measured else published[s])
    return sorted(rungs + sorted((s for s in measured if s not in published), key=lambda s: measured[s][0])[-MOST_OTHERS:], key=lambda s: measured[s][0] if s in measured else published[s])


def scale_axis(axes, values):
    """Logarithmic where a linear axis would hide the smaller bars."""
    logarithmic = max(values) / min(values) > 60
    if logarithmic:
        low, high = min(values) / 1.5, max(values) * max(7, (max(values) / min(values)) ** 0.35)  # room for the words at the ends
        axes.set_xscale("log")
        axes.set_xlim(low, high)
        ticks = [10.0**k for k in range(-4, 6) if low <= 10.0**k <= high]
        axes.set_xticks(ticks, [f"{t:g}x" for t in ticks])
        axes.minorticks_off()
        axes.axvline(1, color="#222222", lw=1)
    else:
        axes.set_xlim(0, 1.13 * max(values))
    axes.grid(axis="y", visible=False)
    axes.tick_params(axis="y", length=0)
    return logarithmic


def tick_label(spec, specs, measured):
    """Tunables only where they tell two apart; the name of a looser bound."""
    variant = spec.split(" ")[0]
    name = spec if sum(other.split(" ")[0] == variant for other in specs) > 1 else variant
    loose = spec in measured and r.is_declared(measured[spec][1])
    return name.split("/", 1)[-1] + (f" ({measured[spec][1]['bound']['name']})" if loose else "")


def draw_group(results, baseline, series, measured, out, name):
    specs = order_of(measured, series)
    rows = [row for _, row in measured.values()]
    bars = {label: (values, grey) for (label, values), grey in zip(series.items(), ("#B9B9B9", "#8F8F8F", "#D6D6D6", "#A5A5A5"))}
    for backend, colour in OURS.items():
        mine = {s: value for s, (value, row) in measured.items() if s in specs and row["backend"] == backend}
        if mine:
            bars[f"{results.machine(rows[0])}: {style.BACKEND_NAMES[backend]}"] = mine, colour
    slots = sum(max(1, sum(spec in values for values, _ in bars.values())) for spec in specs)
    figure, axes = plt.subplots(figsize=(7.6, 1.5 + 0.2 * slots + 0.12 * len(specs)))
    logarithmic = scale_axis(axes, [v for values, _ in bars.values() for v in values.values()])
    y, ticks, handles = 0.0, [], {}
    for spec in specs:
        present = [(label, values[spec], colour) for label, (values, colour) in bars.items() if spec in values]
        for i, (label, value, colour) in enumerate(present):
            bar(axes, y - i, 0.86, value, logarithmic, r.median(measured[spec][1]) if colour in OURS.values() else None, color=colour)
            handles[label] = plt.Rectangle((0, 0), 1, 1, color=colour)
        ticks.append(y - (len(present) - 1) / 2)
        y -= len(present) + 0.6
    axes.set_yticks(ticks, [tick_label(spec, specs, measured) for spec in specs])
    axes.set_ylim(y + 0.6, 1.0)
    axes.set_xlabel(f"times faster than {baseline.split('/', 1)[-1].split(' ')[0]}, and time per call (cold, median)", x=0.3)
    shown = [label for label in bars if label in handles]
    style.head(figure, f"Published and measured: {case_title(rows[0])}", [handles[label] for label in shown], shown)
    return style.finish(figure, results, rows, out, name)


def draw(results, out):
    """One figure per op: the case and baseline with most variants, large cases before small ones, then most published bars, then the first of the claims."""
    rows = select.on_main_machine(results, results.rows)
    claims = [c for c in results.claims if results.machine(c) == select.main_machine(results)]
    best = {}
    for (case, baseline), series in published_speedups(claims).items():
        measured = ours(results, rows, case, baseline)
        if len(measured) < 2:
            continue
        op = measured[baseline][1]["op"]
        rank = len(measured) * select.weight(measured[baseline][1]), sum(map(len, series.values()))
        if op not in best or rank > best[op][0]:
            best[op] = rank, baseline, series, measured
    pictures = []
    for op, (_, baseline, series, measured) in sorted(best.items()):
        picture = draw_group(results, baseline, series, measured, out, f"ladder_{op}")
        pictures.append((picture, f"Ladder of {op}: times faster than {r.name_of(baseline)}, published and measured, {case_title(measured[baseline][1])}"))
    return pictures
