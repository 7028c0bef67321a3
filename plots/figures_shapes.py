"""Time against the shape, from few long rows to many short ones, one line per variant: whose cost depends on how a problem is cut into rows?"""
import matplotlib.pyplot as plt

import choose
import figures_sizes
import report_ladder
import rows as r
import style
from words import count

SHAPE = report_ladder.SHAPE
MOST_LINES = 18


def pick(results, op, dtype):
    """The group with most times; shapes of one row, which are in time against n, only if there are few without."""
    rows = [row for row in choose.on_main_machine(results, choose.timed_rows(results)) if row["op"] == op and row.get("dtype") == dtype]
    single = {row["case"] for row in rows if r.number(row, "batch") == 1}
    some = [group for group in report_ladder.find_shapes(rows, single) if len({row["case"] for row in group}) >= figures_sizes.LEAST_POINTS]
    return max(some or report_ladder.find_shapes(rows, set()), key=len, default=None)


def lines_of(group, shapes):
    """variant name -> [(place on the axis, seconds)], by the tuning with most points; at least three make a line."""
    lines = {}
    for spec in {row["spec"] for row in group}:
        times = {report_ladder.value_of(row, SHAPE): r.median(row) for row in group if row["spec"] == spec}
        points = [(k, times[shape]) for k, shape in enumerate(shapes) if shape in times]
        name = r.name_of(spec.split(" ")[0])
        if len(points) >= max(3, len(lines.get(name, ())) + 1):
            lines[name] = points
    return dict(sorted(lines.items(), key=lambda item: item[1][-1][1])[:MOST_LINES])


def draw_group(results, op, dtype, group, styles, out):
    shapes = sorted({report_ladder.value_of(row, SHAPE) for row in group})
    lines = lines_of(group, shapes)
    figure, axes = plt.subplots(figsize=(7.6, 5.2))
    figures_sizes.draw_lines(axes, lines, styles)
    floor = {report_ladder.value_of(row, SHAPE): r.work_bytes(row) / r.ceiling(results, row) for row in group
             if r.device_of(row) == "cuda" and r.work_bytes(row) and r.ceiling(results, row)}
    places = [(k, floor[shape]) for k, shape in enumerate(shapes) if shape in floor and floor[shape] > figures_sizes.SHORTEST]
    axes.set_yscale("log")
    labels = [(points[-1][0], points[-1][1], name, styles[name]["color"]) for name, points in lines.items()]
    if len(places) > 1:
        axes.plot(*zip(*places), color="#222222", lw=1.1, ls=(0, (4, 2)), zorder=1)
        labels.append((*places[-1], f"{r.ceiling_name(group[0])} of the same bytes", "#222222"))
    axes.set_xlim(-0.3, len(shapes) - 0.7)
    axes.set_xticks(range(len(shapes)), [" x\n".join(count(v) for v in shape) for shape in shapes])
    axes.set_xlabel("rows x elements of a row")
    figures_sizes.time_ticks(axes)
    axes.set_ylabel("time per call (cold, median)")
    style.head(figure, f"Time against shape: {choose.describe(group[0], *SHAPE)}")
    style.label_line_ends(axes, labels, fontsize=7.5)
    return style.finish(figure, results, group, out, f"shapes_{op}_{dtype}")


def draw(results, out):
    pictures = []
    for op in sorted({row["op"] for row in results.rows}):
        styles = style.variant_styles({r.name_of(row) for row in results.rows if row["op"] == op})
        for dtype in ("f64", "f32"):
            group = pick(results, op, dtype)
            if group:
                pictures.append((draw_group(results, op, dtype, group, styles, out), f"Time against rows x elements of a row for {op}, {dtype}"))
    return pictures
