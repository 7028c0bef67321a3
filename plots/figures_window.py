"""Time against window, one line per variant, with the time that a copy of the same bytes takes: is the cost independent of w?"""
import collections

import matplotlib.pyplot as plt

from analysis import rows as r
from analysis import select
from analysis.format import describe, seconds
from plots import figures_sizes, style

PARAMETER = "window"
MOST_LINES = 16


def lines_of(group):
    """variant -> [(window, seconds)], the fastest tuning at each window."""
    by_window = collections.defaultdict(list)
    for row in group:
        by_window[r.number(row, PARAMETER)].append(row)
    lines = collections.defaultdict(list)
    for window in sorted(by_window):
        for variant, row in select.fastest_per_variant(by_window[window]).items():
            lines[variant].append((window, r.median(row)))
    return lines


def draw_dtype(results, op, dtype, group, styles, out):
    lines = dict(sorted(lines_of(group).items(), key=lambda item: item[1][-1][1])[:MOST_LINES])
    windows = sorted({r.number(row, PARAMETER) for row in group})
    figure, axes = plt.subplots(figsize=(7.6, 5.0))
    axes.set_xscale("log")
    axes.set_yscale("log")
    labels, early = [], []
    for variant, points in lines.items():
        name = r.name_of(variant)
        xs, ys = zip(*points)
        axes.plot(xs, ys, **styles[name], markeredgewidth=0)
        if xs[-1] == windows[-1]:
            labels.append((xs[-1], ys[-1], name, styles[name]["color"]))
        else:
            early.append(plt.Line2D([], [], **styles[name], markeredgewidth=0, label=name))
    gpu_row = next((row for row in group if r.device_of(row) == "cuda" and results.ceiling(row)), None)
    floor_row = gpu_row or next((row for row in group if results.ceiling(row)), None)
    if floor_row and r.work_bytes(floor_row):
        floor = r.work_bytes(floor_row) / results.ceiling(floor_row)
        axes.axhline(floor, color="#222222", lw=1.1, ls=(0, (4, 2)), zorder=1)
        axes.annotate(f"copy of the same bytes: {seconds(floor)}", (windows[0], floor), (0, -4), textcoords="offset points", fontsize=8.5, va="top", color="#222222")
        axes.set_ylim(bottom=floor / 2)
    axes.set_xlim(windows[0] / 1.25, windows[-1] * 1.25)
    axes.set_xticks(windows, [f"{w:g}" for w in windows])
    figures_sizes.time_ticks(axes)
    if early:
        axes.legend(handles=early, loc="upper left", fontsize=8, handlelength=2.6)
    axes.set_xlabel("window w (elements)")
    axes.set_ylabel("time per call (cold, median)")
    style.head(figure, f"Time against window: {describe(group[0], PARAMETER)}")
    style.label_line_ends(axes, labels)
    return style.finish(figure, results, group, out, f"window_{op}_{dtype}")


def draw(results, out):
    pictures = []
    for op, dtype, styles in style.ops_and_dtypes(results):
        group = select.longest_sweep(results, op, dtype, PARAMETER, select.LEAST_POINTS)
        if group:
            picture = draw_dtype(results, op, dtype, group, styles, out)
            pictures.append((picture, f"Time against window for every variant of {op}, {dtype}"))
    return pictures
