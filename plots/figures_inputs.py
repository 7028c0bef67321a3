"""Which variant fails on which input: of each op a point for each variant and input family, by its largest error over the tolerance; hollow where it failed."""

import collections
import math

import matplotlib.pyplot as plt

from analysis import rows as r
from plots import style
from plots.figures_ladder import name_in

MOST_LINES = 26
LEVELS = (
    (1e-3, "below 0.001", 3.0, "#9CC7E5"),
    (0.1, "0.001 to 0.1", 4.5, "#4F98CB"),
    (1.0, "0.1 to 1", 6.0, "#0B4F8A"),
)  # error / tolerance: up to, words, size, colour


def cells_of(rows):
    """variant label -> input -> (worst ratio, failed, all outputs judgeable)."""
    cells = collections.defaultdict(dict)
    for row in rows:
        if row["verdict"] not in ("pass", "fail", "error"):
            continue
        key = name_in(row)
        worst, failed, clear = cells[key].get(row["input"], (0.0, 0, True))
        ratio = r.worst_ratio(row) or 0.0
        worst = max(worst, ratio if math.isfinite(ratio) else 0.0)
        cells[key][row["input"]] = worst, failed + (row["verdict"] != "pass"), clear and not r.unjudged(row)
    return cells


def draw_cell(axes, x, y, cell):
    worst, failed, clear = cell
    if failed:
        axes.plot([x], [y], marker="o", ms=9.5, color=style.FAILED, markerfacecolor="white", mew=1.5, ls="")
        if failed > 1:
            axes.annotate(str(failed), (x, y), ha="center", va="center", fontsize=6.5, color=style.FAILED)
        return
    _, _, size, colour = next((level for level in LEVELS if worst <= level[0]), LEVELS[-1])
    how = {"marker": "o", "ms": size, "color": colour} if clear else {"marker": "_", "ms": 7, "color": style.MUTED}
    axes.plot([x], [y], **how, ls="")


def draw_op(results, op, rows, out):
    cells = cells_of(rows)
    fails = {key: sum(bool(cell[1]) for cell in some.values()) for key, some in cells.items()}
    keys = sorted(cells, key=lambda key: (-fails[key], -len(cells[key]), key))[:MOST_LINES]
    inputs = sorted(
        {name for key in keys for name in cells[key]},
        key=lambda name: (-sum(bool(cells[key].get(name, (0, 0))[1]) for key in keys), name),
    )
    figure, axes = plt.subplots(figsize=(max(7.6, 3.2 + 0.34 * len(inputs)), 2.2 + 0.21 * len(keys)))
    for y, key in enumerate(keys):
        for x, name in enumerate(inputs):
            if name in cells[key]:
                draw_cell(axes, x, -y, cells[key][name])
    axes.set_xticks(range(len(inputs)), inputs, rotation=45, ha="right", fontsize=8)
    axes.set_yticks([-y for y in range(len(keys))], keys, fontsize=8)
    axes.set_xlim(-0.6, len(inputs) - 0.4)
    axes.set_ylim(-len(keys) + 0.4, 0.6)
    axes.tick_params(length=0)
    handles = [style.key(f"error {words} of the tolerance", ms=size, color=colour) for _, words, size, colour in LEVELS]
    if any(cell[1] for key in keys for cell in cells[key].values()):
        handles.append(style.key("failed (cases)", ms=8, mew=1.6, color=style.FAILED, markerfacecolor="white"))
    if any(not cell[2] for key in keys for cell in cells[key].values()):
        handles.append(style.key("an output is not judgeable", marker="_", ms=7, color=style.MUTED))
    wrong = f"{sum(map(bool, fails.values()))} of {len(cells)}"
    first = "" if len(keys) == len(cells) else f", the first {len(keys)}"
    style.head(figure, f"{wrong} variants fail on some input: {op}{first}", handles)
    picture = style.finish(figure, results, rows, out, f"inputs_{op}")
    return picture, f"Which variants of {op} fail on which input: {wrong}"


def draw(results, out):
    pictures = []
    for op in sorted({row["op"] for row in results.rows}):
        rows = [row for row in results.rows if row["op"] == op and row.get("errors")]
        rows = [row for row in rows if not r.is_emulated(row)] or rows
        if len({row["input"] for row in rows}) >= 3:
            pictures.append(draw_op(results, op, rows, out))
    return pictures
