"""Time against the shape, from few long rows to many short ones, one line per variant: whose cost depends on how a problem is cut into rows?"""
import matplotlib.pyplot as plt

import choose
import figures_sizes
import report_ladder
import rows as r
import style
from words import count

SHAPE = report_ladder.SHAPE


def pick(results, op, dtype):
    """The group with most times; shapes of one row, which are in time against n, only if there are few without."""
    rows = [row for row in choose.on_main_machine(results, choose.timed_rows(results)) if row["op"] == op and row.get("dtype") == dtype]
    single = {row["case"] for row in rows if r.number(row, "batch") == 1}
    some = [group for group in report_ladder.find_shapes(rows, single) if len({row["case"] for row in group}) >= figures_sizes.LEAST_POINTS]
    return max(some or report_ladder.find_shapes(rows, set()), key=len, default=None)


def draw_group(results, op, dtype, group, styles, out):
    shapes = sorted({report_ladder.value_of(row, SHAPE) for row in group})
    def place_of(row):
        return shapes.index(report_ladder.value_of(row, SHAPE))
    figure, axes = plt.subplots(figsize=(7.6, 5.2))
    labels = figures_sizes.draw_measured(axes, results, group, place_of, styles)
    axes.set_yscale("log")
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
    for op, dtype, styles in style.ops_and_dtypes(results):
        group = pick(results, op, dtype)
        if group:
            pictures.append((draw_group(results, op, dtype, group, styles, out), f"Time against rows x elements of a row for {op}, {dtype}"))
    return pictures
