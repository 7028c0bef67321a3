"""Error against mean/sigma, one line per variant, with its time, if it has one, beside its name: which formulas survive data that lie far from zero?"""
import math

import matplotlib.pyplot as plt

from analysis import rows as r
from analysis import select
from analysis.format import describe, seconds
from plots import style

MOST_PANELS = 4
VAGUE = {"marker": "o", "ls": "", "markerfacecolor": "none", "markeredgecolor": "#888888", "markersize": 8, "markeredgewidth": 1}
FIRST = ("mean", "var", "skewness", "kurtosis", "y")


def error_of(row, output):
    e = (row.get("errors") or {}).get(output)
    if not e:
        return None
    if e.get("incomparable") or e.get("unwritten"):
        return math.inf
    return 0.0 if e.get("max_absolute", e.get("mismatches")) == 0 else e.get("l2_relative")


def line_of(group, variant, output):
    """[(mean/sigma, error, failed, judgeable)], of the strictest rows where a variant was judged by two bounds."""
    found = {}
    for row in group:
        if row["variant"] == variant and error_of(row, output) is not None and (row["input"] not in found or not r.is_declared(row)):
            found[row["input"]] = row
    return [(select.OFFSETS[name], error_of(row, output), row["verdict"] == "fail", output not in r.unjudged(row))
            for name, row in ((name, found[name]) for name in select.OFFSETS if name in found)]


def draw_panel(axes, group, output, styles, variants):
    lines = {variant: line_of(group, variant, output) for variant in variants}
    finite = [e for line in lines.values() for _, e, *_ in line if 0 < e < math.inf] or [1e-16]
    low, high = min(finite) / 4, max(max(finite) * 6, 10)
    for variant, line in lines.items():
        if not line:
            continue
        heights = [(x, min(max(e, low), high), wrong, judgeable) for x, e, wrong, judgeable in line]
        axes.plot([x for x, *_ in heights], [y for _, y, *_ in heights], **styles[r.name_of(variant)], markeredgewidth=0, markersize=4)
        failed = [(x, y) for x, y, wrong, _ in heights if wrong]
        if failed:
            axes.plot(*zip(*failed), marker="x", ls="", color=style.FAILED, markersize=7, markeredgewidth=1.6, zorder=4)
        vague = [(x, y) for x, y, wrong, judgeable in heights if not wrong and not judgeable]
        if vague:
            axes.plot(*zip(*vague), **VAGUE, zorder=4)
    axes.set_xscale("symlog", linthresh=1, linscale=0.4)
    axes.set_yscale("log")
    levels = [x for name, x in select.OFFSETS.items() if any(row["input"] == name for row in group)]
    axes.set_xticks(levels, [f"{x:.0e}".replace("e+0", "e") if x >= 10 else f"{x:g}" for x in levels])
    axes.minorticks_off()
    axes.axhline(1, color="#BBBBBB", lw=0.8, zorder=0)
    axes.set_title(output if output != "y" else "", fontsize=9.5)


def outputs_of(group):
    names = {name for row in group for name, e in row["errors"].items() if e.get("count")}
    moving = [name for name in names if any((error_of(row, name) or 0) > 0 for row in group)]
    return sorted(moving, key=lambda name: (FIRST.index(name) if name in FIRST else len(FIRST), name))[:MOST_PANELS]


def time_of(group, variant):
    times = [r.median(row) for row in group if row["variant"] == variant and r.median(row)]
    return min(times) if times else None


def draw_group(results, op, dtype, group, styles, out):
    outputs = outputs_of(group)
    times = {row["variant"]: time_of(group, row["variant"]) for row in group}
    variants = sorted(times, key=lambda v: (times[v] or math.inf, v))
    columns = min(2, len(outputs))
    high = -(-len(outputs) // columns)
    figure, grid = plt.subplots(high, columns, figsize=(max(7.6, 3.6 * columns + 2.7), 1.2 + 2.7 * high), squeeze=False, sharex=True)
    for axes in grid.flat[len(outputs):]:
        axes.axis("off")
    for axes, output in zip(grid.flat, outputs):
        draw_panel(axes, group, output, styles, variants)
    for axes in grid[:, 0]:
        axes.set_ylabel("relative error (L2 norm)")
    for axes in grid[-1]:
        axes.set_xlabel("mean / sigma of the input")
    words = {v: "" if not any(times.values()) else f"  {seconds(times[v], 3)}" if times[v] else "  (not timed)" for v in variants}
    handles = [plt.Line2D([], [], **styles[r.name_of(v)], markeredgewidth=0, label=r.name_of(v) + words[v]) for v in variants]
    if any(row["verdict"] == "fail" for row in group):
        handles.append(plt.Line2D([], [], marker="x", ls="", color=style.FAILED, markeredgewidth=1.6, label="failed verification"))
    if any(r.unjudged(row) for row in group):
        handles.append(plt.Line2D([], [], **VAGUE, label="not judgeable"))
    style.head(figure, f"Error against mean/sigma: {describe(group[0])}")
    style.legend_right(figure, handles, "cold median, fastest first" if any(times.values()) else None)
    return style.finish(figure, results, group, out, f"offset_{op}_{dtype}", layout=False)


def draw(results, out):
    pictures = []
    for op, dtype, styles in style.ops_and_dtypes(results):
        group = select.offset_case(results, op, dtype)
        if group and outputs_of(group):
            pictures.append((draw_group(results, op, dtype, group, styles, out), f"Error against mean/sigma for every variant of {op}, {dtype}"))
    return pictures
