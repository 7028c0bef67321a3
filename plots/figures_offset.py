"""Error against mean/sigma, a panel for each output, hollow where that output failed: which formulas survive data that lie far from zero?"""

import math

import matplotlib.pyplot as plt

from analysis import rows as r
from analysis import select
from analysis.format import describe
from plots import style

MOST_PANELS = 4
MOST_COLOURED, GREY = 7, "#C4C4C4"
MARKS = {
    "wrong": {"marker": "o", "ms": 5.5, "markerfacecolor": "white", "mew": 1.3},
    "vague": {"marker": "_", "ms": 8, "mew": 1.6},
    "right": {"marker": "o", "ms": 3.5, "mew": 0},
}
FIRST = ("mean", "var", "skewness", "kurtosis", "y")


def error_of(row, output):
    e = (row.get("errors") or {}).get(output)
    if not e:
        return None
    if e.get("incomparable") or e.get("unwritten"):
        return math.inf
    return 0.0 if e.get("max_absolute", e.get("mismatches")) == 0 else e.get("l2_relative")


def failed_in(row, output):
    """Whether this output is what failed: a row fails as a whole, its other outputs may be within their tolerance."""
    e = (row.get("errors") or {}).get(output) or {}
    return row["verdict"] == "fail" and bool(
        e.get("incomparable") or e.get("unwritten") or e.get("max_ratio") is None or e["max_ratio"] > 1
    )


def line_of(group, variant, output):
    """[(mean/sigma, error, this output failed, judgeable)], of the strictest rows where a variant was judged by two bounds."""
    mine = [row for row in group if row["variant"] == variant and error_of(row, output) is not None]
    found = {row["input"]: row for row in reversed(mine)} | {
        row["input"]: row for row in mine if not r.is_declared(row)
    }
    return [
        (level, error_of(found[name], output), failed_in(found[name], output), output not in r.unjudged(found[name]))
        for name, level in select.OFFSETS.items()
        if name in found
    ]


def draw_panel(axes, group, output, colours):
    """Returns what to label: (x, y, text, colour) of the ends of the coloured lines."""
    lines = {variant: line_of(group, variant, output) for variant in colours}
    finite = [e for line in lines.values() for _, e, *_ in line if 0 < e < math.inf] or [1e-16]
    low, high = min(finite) / 4, max(max(finite) * 6, 10)
    labels = []
    for variant, line in lines.items():
        if not line:
            continue
        colour, is_grey = colours[variant], colours[variant] == GREY
        points = [(x, min(max(e, low), high), wrong, judgeable) for x, e, wrong, judgeable in line]
        ends = zip(*(p[:2] for p in points))
        axes.plot(*ends, color=colour, lw=0.9 if is_grey else 1.2, zorder=1 if is_grey else 2)
        kinds = {
            "wrong": [p[:2] for p in points if p[2]],
            "vague": [p[:2] for p in points if not p[2] and not p[3]],
            "right": [p[:2] for p in points if not p[2] and p[3]],
        }
        for kind, some in kinds.items():
            if some:
                axes.plot(*zip(*some), color=colour, ls="", zorder=4, **MARKS[kind])
        if not is_grey:
            labels.append((points[-1][0], points[-1][1], r.name_of(variant), colour))
    axes.set_xscale("symlog", linthresh=1, linscale=0.4)
    axes.set_yscale("log")
    axes.set_ylim(low / 2, high * 2)
    levels = [x for name, x in select.OFFSETS.items() if any(row["input"] == name for row in group)]
    axes.set_xticks(levels, [f"{x:.0e}".replace("e+0", "e") if x >= 10 else f"{x:g}" for x in levels])
    axes.minorticks_off()
    decades = range(math.ceil(math.log10(low)), math.floor(math.log10(high)) + 1)
    ticks = [k for k in decades if k % max(1, len(decades) // 5) == 0]
    axes.set_yticks([10.0**k for k in ticks], [f"1e{k}" if k else "1" for k in ticks])
    axes.axhline(1, color="#BBBBBB", lw=0.8, zorder=0)
    axes.set_title(output if output != "y" else "", fontsize=9.5)
    return labels


def colours_of(group):
    """variant -> colour: those that fail most, then the fastest, seven in all; the others grey."""
    fails = {row["variant"]: 0 for row in group}
    times = {variant: time_of(group, variant) or math.inf for variant in fails}
    for row in group:
        fails[row["variant"]] += row["verdict"] == "fail"
    wrong = sorted((v for v in fails if fails[v]), key=lambda v: (-fails[v], v))[:4]
    others = sorted(times.keys() - set(wrong), key=lambda v: (times[v], v))
    chosen = wrong + others[: MOST_COLOURED - len(wrong)]
    return {**dict.fromkeys(sorted(set(fails) - set(chosen)), GREY), **dict(zip(chosen, style.COLOURS))}


def outputs_of(group):
    names = {name for row in group for name, e in row["errors"].items() if e.get("count")}
    moving = [name for name in names if any((error_of(row, name) or 0) > 0 for row in group)]
    return sorted(moving, key=lambda name: (FIRST.index(name) if name in FIRST else len(FIRST), name))[:MOST_PANELS]


def time_of(group, variant):
    times = [r.median(row) for row in group if row["variant"] == variant and r.median(row)]
    return min(times) if times else None


def draw_group(results, op, dtype, group, out):
    outputs, colours = outputs_of(group), colours_of(group)
    figure, grid = plt.subplots(len(outputs), 1, figsize=(7.6, 1.2 + 2.3 * len(outputs)), squeeze=False, sharex=True)
    labels = [draw_panel(axes, group, output, colours) for axes, output in zip(grid[:, 0], outputs)]
    for axes in grid[:, 0]:
        axes.set_ylabel("relative error (L2)")
    grid[-1, 0].set_xlabel("mean / sigma of the input")
    handles = [style.key("within the tolerance", ms=3.5, color="#444444")]
    if any(failed_in(row, output) for row in group for output in outputs):
        handles.append(style.key("hollow: this output failed", **MARKS["wrong"], color="#444444"))
    if any(r.unjudged(row) for row in group):
        handles.append(style.key("not judgeable", **MARKS["vague"], color="#444444"))
    wrong = f"{len({row['variant'] for row in group if row['verdict'] == 'fail'})} of {len(colours)} variants fail"
    style.head(figure, f"{wrong} as the mean moves away from 0: {describe(group[0])}", handles)
    style.lay_out(figure)
    figure.subplots_adjust(right=0.72)
    for axes, some in zip(grid[:, 0], labels):
        style.label_line_ends(axes, some, fontsize=7.5)
    return style.finish(figure, results, group, out, f"offset_{op}_{dtype}", layout=False)


def draw(results, out):
    pictures = []
    for op in sorted({row["op"] for row in results.rows}):
        for dtype in ("f64", "f32"):
            group = select.offset_case(results, op, dtype)
            if group and outputs_of(group):
                picture = draw_group(results, op, dtype, group, out)
                pictures.append((picture, f"Error against mean/sigma of {op}, {dtype}, by output"))
    return pictures
