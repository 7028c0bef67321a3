"""The published speed-ups as bars beside ours: one group per published case, from claim lines and the rows of their cases."""
import collections

import matplotlib.pyplot as plt

import choose
import rows as r
import style
from words import count, significant


def published_speedups(claims):
    """(case, baseline, source, hardware) -> variant spec -> published speed-up, as stated or as the ratio of two published times."""
    found = collections.defaultdict(dict)
    times = collections.defaultdict(dict)
    for c in claims:
        key = c.get("case"), c.get("source"), c.get("hardware")
        if c.get("quantity") == "seconds" and c.get("value"):
            times[key][c.get("variant")] = c["value"]
    for c in claims:
        if c.get("quantity") == "speedup" and c.get("value"):
            case, source, hardware = c.get("case"), c.get("source"), c.get("hardware")
            group = found[case, c.get("baseline"), source, hardware]
            base = times[case, source, hardware].get(c.get("baseline"))
            for spec, seconds in times[case, source, hardware].items():
                if base:
                    group.setdefault(spec, base / seconds)
            group[c.get("variant")] = c["value"]
    for (_, baseline, _, _), group in found.items():
        group[baseline] = 1.0
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
    return choose.describe(row) + (f", {row['input']}" if row.get("input") else "") if params else row["case"]


def bar(axes, y, value, logarithmic, **how):
    """From nothing on a linear axis; from 1x, where a ratio says nothing, on a logarithmic one."""
    start = 1.0 if logarithmic else 0.0
    axes.barh(y, value - start, 0.36, left=start, **how)


def draw_group(results, key, published, measured, out, name):
    case, baseline, source, hardware = key
    specs = sorted(set(published) | set(measured), key=lambda s: (s not in published, measured[s][0] if s in measured else published[s]))
    specs = [s for s in specs if s in published] + [s for s in specs if s not in published][-6:]
    specs = specs[::-1]
    figure, axes = plt.subplots(figsize=(7.6, 1.4 + 0.46 * len(specs)))
    rows = [row for _, row in measured.values()]
    machine = r.machine_of(results, rows[0])
    values = [v for s, (v, _) in measured.items() if s in specs] + list(published.values())
    logarithmic = max(values) / min(values) > 60
    for y, spec in enumerate(specs):
        if spec in published:
            bar(axes, y + 0.2, published[spec], logarithmic, color=style.PUBLISHED, label=f"published: {hardware}")
            axes.annotate(f"{significant(published[spec])}x", (max(published[spec], 1 if logarithmic else 0), y + 0.2), (4, 0), textcoords="offset points", va="center", color=style.MUTED)
        if spec in measured:
            value = measured[spec][0]
            low = y - 0.2 if spec in published else y
            bar(axes, low, value, logarithmic, color=style.OURS, label=f"measured: {machine}")
            axes.annotate(f"{significant(value)}x", (max(value, 1 if logarithmic else 0), low), (4, 0), textcoords="offset points", va="center", color=style.OURS, weight="bold")
        elif spec in published:
            axes.annotate("not measured", (1 if logarithmic else 0, y - 0.2), (4, 0), textcoords="offset points", va="center", color=style.MUTED, fontsize=8)
    axes.set_yticks(range(len(specs)), [s.split("/", 1)[-1] for s in specs])
    if logarithmic:
        axes.set_xscale("log")
        axes.set_xlim(min(values) / 1.5, max(values) * 2.6)
        ticks = [10.0**k for k in range(-4, 6) if min(values) / 1.5 <= 10.0**k <= max(values) * 2.6]
        axes.set_xticks(ticks, [f"{t:g}x" for t in ticks])
        axes.minorticks_off()
        axes.axvline(1, color="#222222", lw=1)
    else:
        axes.set_xlim(0, 1.13 * max(values))
    axes.grid(axis="y", visible=False)
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel(f"times faster than {baseline.split('/', 1)[-1]} (cold, median)")
    handles, labels = axes.get_legend_handles_labels()
    unique = dict(zip(labels, handles))
    style.head(figure, f"Speed-ups, published and measured: {case_title(rows[0])}", list(unique.values()), list(unique))
    return style.finish(figure, results, rows, out, name)


def draw(results, out):
    pictures = []
    rows = choose.on_main_machine(results, results.rows)
    claims = [c for c in results.claims if r.machine_of(results, c) == choose.main_machine(results)]
    for key, published in published_speedups(claims).items():
        measured = ours(results, rows, key[0], key[1])
        if len(measured) < 2:
            continue
        row = next(iter(measured.values()))[1]
        n, window = r.number(row, "n"), r.number(row, "window")
        name = "_".join(str(w) for w in ["ladder", row["op"], f"n{count(n)}" if n else "", f"w{window:g}" if window else ""] if w)
        if any(p.stem == name for p, _ in pictures):
            name += f"_{len(pictures)}"
        text = f"Published speed-ups over {key[1].split('/', 1)[-1]} ({key[3]}) beside ours, {case_title(row)}"
        pictures.append((draw_group(results, key, published, measured, out, name), text))
    return pictures
