"""Time against a size of the problem, one line per variant, on logarithmic axes; the published curves beside ours where the source printed a table."""
import collections
import functools

import matplotlib.pyplot as plt

from analysis import published, select
from analysis import rows as r
from analysis.format import count, describe, seconds
from plots import style

PARAMETERS = {"n": "elements n", "rows": "rows", "cols": "columns"}
LEAST_POINTS, MOST_LINES = 5, 18
SHORTEST = 1e-6  # below it no launch ends: the line of the ceiling would only stretch the axis


def lines_of(group, place_of):
    """variant name -> [(place_of(row), seconds)]; of a variant's tunings the one with most points; at least three make a line."""
    tunings = collections.defaultdict(lambda: collections.defaultdict(dict))
    for row in group:
        tunings[r.name_of(row)][row["spec"]][place_of(row)] = r.median(row)
    lines = {name: sorted(min(specs.values(), key=lambda points: (-len(points), sum(points.values()))).items()) for name, specs in tunings.items()}
    lines = {name: points for name, points in lines.items() if len(points) >= 3}
    return dict(sorted(lines.items(), key=lambda item: item[1][-1][1])[:MOST_LINES])


def copy_line(results, group, place_of):
    """[(place_of(row), seconds)] that the rows' own limits are; of older rows, what copying (or reading) their bytes takes at the ceiling."""
    points = {}
    for row in group:
        ceiling, own = results.ceiling(row), r.own_limit(row)
        if r.device_of(row) == "cuda" and own:
            points[place_of(row)] = own["seconds"]
        elif r.device_of(row) == "cuda" and ceiling and r.work_bytes(row):
            points[place_of(row)] = r.work_bytes(row) / ceiling
    return sorted((value, time) for value, time in points.items() if time > SHORTEST)


def draw_lines(axes, lines, styles):
    for name, points in lines.items():
        axes.plot(*zip(*points), **styles.get(name, {"color": style.MUTED}), markeredgewidth=0, markersize=4)


def prepare(axes, parameter, values):
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlim(values[0] / 1.3, values[-1] * 1.3)
    ticks = values if len(values) <= 6 else values[:: -(-len(values) // 6)]
    axes.set_xticks(ticks, [count(v) for v in ticks])
    axes.set_xlabel(PARAMETERS[parameter])
    axes.minorticks_off()


def time_ticks(axes):
    axes.minorticks_off()
    low, high = axes.get_ylim()
    decades = [10.0**k for k in range(-8, 4) if low <= 10.0**k <= high]
    axes.set_yticks(decades, [seconds(d, 1) for d in decades])


def draw_measured(axes, results, group, place_of, styles):
    """A line for each variant, and what a copy would take; returns what to label their ends with: (x, y, text, colour)."""
    lines, floor = lines_of(group, place_of), copy_line(results, group, place_of)
    draw_lines(axes, lines, styles)
    labels = [(*points[-1], name, styles[name]["color"]) for name, points in lines.items()]
    if len(floor) > 1:
        axes.plot(*zip(*floor), color="#222222", lw=1.1, ls=(0, (4, 2)), zorder=1)
        labels.append((*floor[-1], f"{r.limit_name(group[0])} of the same bytes", "#222222"))
    return labels


def draw_group(results, op, dtype, parameter, group, styles, out):
    place_of = functools.partial(r.number, name=parameter)
    values = sorted({r.number(row, parameter) for row in group})
    printed = published.series(op, parameter, group[0])
    panels = 2 if printed else 1
    figure, grid = plt.subplots(1, panels, figsize=(7.6 if panels == 1 else 9.6, 5.2), sharey=True, squeeze=False)
    mine = grid[0, -1]
    if printed:
        draw_lines(grid[0, 0], printed.lines, styles)
        grid[0, 0].set_title(f"published:\n{printed.hardware}", fontsize=8.5)
        mine.set_title(f"measured:\n{results.machine(group[0])}", fontsize=8.5)
    labels = draw_measured(mine, results, group, place_of, styles)
    for axes in grid[0]:
        prepare(axes, parameter, values)
    time_ticks(grid[0, 0])
    grid[0, 0].set_ylabel("time per call (cold, median)")
    style.head(figure, f"Time against {PARAMETERS[parameter]}: {describe(group[0], parameter)}")
    style.label_line_ends(mine, labels, fontsize=7.5)
    return style.finish(figure, results, group, out, f"sizes_{op}_{parameter}_{dtype}")


def draw(results, out):
    pictures = []
    for op, dtype, styles in style.ops_and_dtypes(results):
        for parameter in PARAMETERS:
            group = select.longest_sweep(results, op, dtype, parameter, LEAST_POINTS)
            if group:
                picture = draw_group(results, op, dtype, parameter, group, styles, out)
                pictures.append((picture, f"Time against {PARAMETERS[parameter]} for {op}, {dtype}, {len(lines_of(group, functools.partial(r.number, name=parameter)))} variants"))
    return pictures
