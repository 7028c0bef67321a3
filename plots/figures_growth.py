"""Error against the number of elements, one line per variant, for the inputs that tell most: does the error grow with n, and whose?"""
import collections
import math

import matplotlib.pyplot as plt

import choose
import rows as r
import style
from words import count, significant

LEAST_POINTS, MOST_PANELS, MOST_LINES = 4, 4, 14  # a panel needs two lines of so many points; beside them, two points are a line

FAILED, LOOSELY = "failed verification", "right under a looser, declared bound"
MARKS = {FAILED: {"marker": "x", "color": style.FAILED, "markeredgewidth": 1.6},
         LOOSELY: {"marker": "o", "markerfacecolor": "none", "markeredgecolor": "0.25", "markeredgewidth": 0.9}}


def size_of(row):
    return r.number(row, "n") or r.number(row, "rows")


def absolute(row):
    """The largest error over the largest truth: comparable between inputs of any size."""
    return r.worst_error(row, "l2_relative")


def by_output(row):
    """A row as one for each output, with a parameter that names it."""
    def verdict(e):
        return "fail" if (e.get("max_ratio") or 0) > 1 or e.get("incomparable") else "pass"
    return [{**row, "errors": {name: e}, "params": {**row["params"], "output": name}, "verdict": verdict(e)} for name, e in (row.get("errors") or {}).items()]


def usable(results, op, dtype):
    rows = [row for row in choose.on_main_machine(results, results.rows) if row["op"] == op and row.get("dtype") == dtype and size_of(row) and row["verdict"] in ("pass", "fail")]
    if len({name for row in rows for name in row.get("errors") or {}}) == 2:  # such as two gradients
        rows = [part for row in rows for part in by_output(row)]
    return [row for row in rows if absolute(row) is not None and math.isfinite(absolute(row))]


def rank(row):
    """Of two rows of a variant and size: the one that was held to the op's own bound, then the worse."""
    return not r.is_declared(row), absolute(row)


def lines_of(group, least=LEAST_POINTS):
    """variant -> [(n, error, how judged: FAILED, LOOSELY or None)]."""
    lines = collections.defaultdict(dict)
    for row in group:
        name = r.name_of(row)
        old = lines[name].get(size_of(row))
        if old is None or rank(row) > rank(old):
            lines[name][size_of(row)] = row
    lines = {name: [(n, absolute(row), FAILED if row["verdict"] == "fail" else LOOSELY if r.is_declared(row) else None) for n, row in sorted(points.items())] for name, points in lines.items()}
    return {name: points for name, points in lines.items() if len(points) >= least}


def decades(sizes):
    return round(math.log10(max(sizes) / min(sizes)), 1)


def panels_of(rows):
    """Groups that differ in n only, those with most variants over the widest range of sizes first, at most one per input and output."""
    groups = [(key, group) for key, group in choose.groups(rows, "n", "rows").items() if len(lines_of(group)) > 1 and any(absolute(row) > 0 for row in group)]
    groups = [(key, group) for key, group in groups if max(absolute(row) for row in group) > 1e-17]  # more than a rounding of the truth itself
    groups.sort(key=lambda item: (-decades([size_of(row) for row in item[1]]) * len(lines_of(item[1])), str(item[0])))
    chosen, others = {}, []
    for key, group in groups:
        if chosen.setdefault((key[2], group[0]["params"].get("output")), group) is not group:
            others.append(group)
    others.sort(key=growth, reverse=True)
    return (list(chosen.values()) + others[:2])[:MOST_PANELS]  # and two more, where errors grow most


def growth(group):
    """By how much the error of the worst line grows from its smallest size to its largest."""
    return max((points[-1][1] / points[0][1] for points in lines_of(group).values() if points[0][1] > 0), default=0)


def usual_apart(row):
    """Which parameters of the panel say something, in words."""
    words = choose.describe(row, "n", "rows").split(", ")[:-1]
    words[0] = words[0].removeprefix(row["op"]).strip()
    return "".join(f", {word}" for word in words if word)


def apart(sizes):
    """Those that leave room for a label beside the one before; the largest is always one of them."""
    chosen, step = [], max(5, (sizes[-1] / sizes[0]) ** (1 / 4))
    for n in reversed(sizes):
        if not chosen or chosen[-1] >= step * n:
            chosen.append(n)
    return chosen[::-1]


def draw_panel(axes, group, styles):
    lines = lines_of(group, 2)
    smallest = min((e for points in lines.values() for _, e, _ in points if e > 0), default=1e-17)
    for name, points in sorted(lines.items(), key=lambda item: -item[1][-1][1])[:MOST_LINES]:
        xs, ys = [n for n, _, _ in points], [max(e, smallest / 3) for _, e, _ in points]
        axes.plot(xs, ys, **styles[name], markeredgewidth=0, markersize=4)
        for judged, marker in MARKS.items():
            marked = [(n, e) for n, e, how in points if how == judged]
            if marked:
                axes.plot(*zip(*marked), ls="", markersize=7 if judged == FAILED else 6, zorder=4, **marker)
    axes.set_xscale("log")
    axes.set_yscale("log")
    low, high = axes.get_ylim()
    if math.floor(math.log10(high)) <= math.ceil(math.log10(low)):  # fewer than two powers of ten: nothing could be read off
        axes.set_ylim(10 ** math.floor(math.log10(low)), 10 ** math.ceil(math.log10(high)))
    sizes = sorted({size_of(row) for row in group})
    powers = [n for n in sizes if math.log10(n) % 1 == 0]
    ticks = powers if len(powers) > 2 else apart(sizes)
    axes.set_xticks(ticks, [count(n) if len(count(n)) < 8 else significant(n, 2).replace("+", "") for n in ticks])
    axes.minorticks_off()
    axes.set_title(f"input {group[0]['input']}{usual_apart(group[0])}", fontsize=8)
    axes.set_xlabel("rows" if r.number(group[0], "rows") else "n")
    return lines


def draw_op(results, op, dtype, panels, styles, out):
    columns = 2 if len(panels) > 1 else 1
    lines_high = -(-len(panels) // columns)
    figure, grid = plt.subplots(lines_high, columns, figsize=(max(7.6, 3.7 * columns + 2.8), 1.2 + 2.9 * lines_high), squeeze=False)
    names = set()
    for axes in grid.flat[len(panels):]:
        axes.axis("off")
    for axes, group in zip(grid.flat, panels):
        names |= set(draw_panel(axes, group, styles))
    for axes in grid[:, 0]:
        axes.set_ylabel("relative error (L2 norm)")
    handles = [plt.Line2D([], [], **styles[name], markeredgewidth=0, label=name) for name in sorted(names)]
    judgements = {how for group in panels for points in lines_of(group, 2).values() for _, _, how in points}
    handles += [plt.Line2D([], [], ls="", label=how, **marker) for how, marker in MARKS.items() if how in judgements]
    style.head(figure, f"Error against size: {op}, {dtype}")
    style.legend_right(figure, handles)
    return style.finish(figure, results, [row for group in panels for row in group], out, f"growth_{op}_{dtype}", layout=False)


def draw(results, out):
    pictures = []
    for op, dtype, styles in style.ops_and_dtypes(results):
        panels = panels_of(usable(results, op, dtype))
        if panels:
            pictures.append((draw_op(results, op, dtype, panels, styles, out), f"Error against size for every variant of {op}, {dtype}"))
    return pictures
