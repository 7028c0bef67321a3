"""One figure for a case on a machine: a panel for each variant, time over commits, levels and where they change."""

import hashlib
import pathlib
import textwrap

import matplotlib.pyplot as plt

from analysis import rows as r
from analysis.format import TIME_UNITS, change, describe, machine_text, many
from analysis.statistics import levels
from plots import style

COLUMNS, MOST_PANELS = 3, 24
SLOWER, FASTER = "#D55E00", "#007A5A"
LEAST_SPAN = 0.12  # of the median: what noise looks like should not depend on how small it is


def chosen(group):
    """The series that are drawn, those with the largest change first."""
    return sorted(group, key=lambda s: (-s.biggest(), s.row["spec"], s.mode))[:MOST_PANELS]


def order_of(history, shown):
    there = {p.commit for s in shown for p in s.points}
    return [c for c in history.order if c in there]


def name_of(group):
    case = repr((group[0].machine, group[0].row["case"]))
    return f"history_{group[0].row['op']}_{hashlib.sha256(case.encode()).hexdigest()[:8]}"


def described(history, group, out):
    """Where draw() puts the figure, what it shows, and how many series it leaves out."""
    shown = chosen(group)
    changed = sum(bool(s.bounds) for s in shown)
    text = f"{describe(shown[0].row)} over {len(order_of(history, shown))} commits, {many(len(shown), 'variant')}, {changed} with a change"
    return pathlib.Path(out) / f"{name_of(group)}.svg", text, len(group) - len(shown)


def draw(history, group, out):
    """group: the series of one case on one machine."""
    shown = chosen(group)
    order = order_of(history, shown)
    columns = min(COLUMNS, len(shown))
    lines = -(-len(shown) // columns)
    figure, grid = plt.subplots(lines, columns, figsize=(max(3.5 * columns, 6.4), 1.75 * lines + 1.15), squeeze=False)
    for axes, series in zip(grid.flat, shown):
        panel(axes, series, order)
    for k, axes in enumerate(grid.flat):
        if k >= len(shown):
            axes.set_visible(False)
        elif k + columns < len(shown):
            axes.set_xticklabels([])
    case = describe(shown[0].row)
    head(figure, f"{case}, input {shown[0].row['input']}", machine_text(shown[0].machine))
    latest = [s.row for s in shown if s.points[-1].commit == order[-1]]
    style.finish(figure, history, latest, out, name_of(group))


def head(figure, title, subtitle):
    height = figure.get_size_inches()[1]
    figure.text(0.008, 1 - 0.08 / height, title, ha="left", va="top", weight="bold", fontsize=11)
    figure.text(0.008, 1 - 0.29 / height, subtitle, ha="left", va="top", fontsize=8.5, color=style.MUTED)
    figure.rungs_room = 0.5


def panel(axes, series, order):
    at = {commit: k for k, commit in enumerate(order)}
    xs = [at[p.commit] for p in series.points]
    unit = next((unit for unit, scale in TIME_UNITS.items() if min(p.seconds for p in series.points) >= scale), "ns")
    scale = TIME_UNITS[unit]
    ys = [p.seconds / scale for p in series.points]
    lows, highs = zip(*((p.low / scale, p.high / scale) for p in series.points))
    axes.vlines(xs, lows, highs, color=style.OURS, lw=1.0, alpha=0.45)
    axes.plot(xs, ys, "o", ms=3.2, color=style.OURS, mew=0)
    for start, end, level in levels(ys, series.bounds):
        axes.hlines(level, xs[start] - 0.4, xs[end - 1] + 0.4, color="#222222", lw=1.1)
    limits(axes, ys, series)
    for k, (index, ratio) in enumerate(series.steps()):
        middle, at_right = (xs[index - 1] + xs[index]) / 2, xs[index] > 0.6 * len(order)
        mark(axes, middle, ratio, series.points[index].commit, at_right, row=k % 3)
    spec = r.name_of(series.row["spec"]) + ("" if series.mode == "cold" else f" ({series.mode})")
    axes.set_title("\n".join(textwrap.wrap(spec, 38, max_lines=2, placeholder=" …")), fontsize=8.5)
    axes.set_ylabel(unit, fontsize=8, rotation=0, ha="right", va="center", labelpad=4)
    axes.set_xlim(-0.8, len(order) - 0.2)
    ticks = range(0, len(order), max(1, -(-len(order) // 5)))
    axes.set_xticks(list(ticks), [order[k].replace("+changes", "+") for k in ticks], fontsize=7)
    axes.tick_params(axis="y", labelsize=7.5)
    axes.grid(axis="x", visible=False)


def limits(axes, ys, series):
    """Room above for the marks."""
    low, high = min(ys), max(ys)
    middle = (low + high) / 2
    half = max((high - low) / 2 * 1.15, middle * LEAST_SPAN / 2)
    room = 1.1 + 0.32 * min(len(series.bounds), 3) if series.bounds else 1.0
    axes.set_ylim(max(0, middle - half), middle + half * room)


def mark(axes, x, ratio, commit, at_right, row):
    colour = SLOWER if ratio > 1 else FASTER
    axes.axvline(x, color=colour, lw=1.0, ls=(0, (3, 2)))
    axes.annotate(
        f"{change(ratio)} {commit}",
        xy=(x, 1),
        xycoords=("data", "axes fraction"),
        xytext=(-3 if at_right else 3, -1 - 9.5 * row),
        textcoords="offset points",
        ha="right" if at_right else "left",
        va="top",
        fontsize=7.5,
        color=colour,
        weight="bold",
        bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.85, "pad": 0.6},
    )
