"""Error against time. What failed verification has no time: it stands at the margin, crossed out."""
import math

import matplotlib.pyplot as plt

from analysis import rows as r
from analysis import select
from analysis.format import describe, seconds
from plots import style


def scale(rows):
    """Where errors of zero and outputs that cannot be compared are drawn, and the ticks (value, text) of the axis."""
    errors = [r.worst_error(row) for row in rows]
    finite = [e for e in errors if 0 < e < math.inf] or [1e-16]
    low, high = math.floor(math.log10(min(finite))), max(math.ceil(math.log10(max(finite))), 0)
    step = max(1, round((high - low) / 6))
    ticks = [(10.0**k, f"1e{k}" if k else "1") for k in range(high, low - 1, -step)]
    exact, incomparable = 10.0 ** (low - 1.5), 10.0 ** (high + 1.5)
    if 0 in errors:
        ticks.append((exact, "exact"))
    if math.inf in errors:
        ticks.append((incomparable, "NaN, inf"))
    return exact, ticks, incomparable


def height(row, levels):
    exact, _, incomparable = levels
    error = r.worst_error(row)
    return incomparable if math.isinf(error) else max(error, exact)


def draw_points(axes, rows, margin, levels):
    """Returns what to label: (x, y, text, colour)."""
    labels = []
    for row in rows:
        colour = style.BACKEND_COLOURS.get(row["backend"], style.MUTED)
        name = r.name_of(row)
        if r.is_declared(row):
            name += f" ({row['bound']['name']})"
        if row["verdict"] == "fail":
            axes.plot(margin, height(row, levels), marker="x", markersize=6.5, markeredgewidth=1.8, color=style.FAILED, ls="", clip_on=False, zorder=4)
            labels.append((margin, height(row, levels), name, style.FAILED))
        else:
            hollow = r.is_declared(row)
            axes.plot(r.median(row), height(row, levels), marker="D" if hollow else "o", markersize=6.5, color=colour, markerfacecolor="white" if hollow else colour, ls="", zorder=3)
            labels.append((r.median(row), height(row, levels), name, "#222222"))
    return labels


def place_labels(axes, labels, fontsize=7.5):
    """Beside each point, moved up or down until no two texts and no text and point overlap."""
    figure = axes.figure
    figure.canvas.draw()
    renderer = figure.canvas.get_renderer()
    points = [axes.transData.transform((x, y)) for x, y, _, _ in labels]
    taken = [(px - 5, py - 5, px + 5, py + 5) for px, py in points]
    frame = axes.get_window_extent()
    step = fontsize * figure.dpi / 72 * 0.55
    for (px, py), (_, _, text, colour) in sorted(zip(points, labels), key=lambda item: item[0][1]):
        probe = axes.text(0, 0, text, fontsize=fontsize)
        box = probe.get_window_extent(renderer)
        probe.remove()
        width, tall = 1.06 * box.width + 3, box.height  # text is a little wider at the resolution that is saved
        best = None
        for k in range(0, 60):
            for side in (1, -1):
                for direction in ((1, -1) if k else (1,)):
                    x0 = px + 8 if side > 0 else px - 8 - width
                    y0 = py - tall / 2 + direction * k * step
                    spot = (x0, y0, x0 + width, y0 + tall)
                    inside = x0 > frame.x0 + 2 and spot[2] < frame.x1 - 6 and y0 > frame.y0 and spot[3] < frame.y1
                    if inside and not any(spot[0] < t[2] and t[0] < spot[2] and spot[1] < t[3] and t[1] < spot[3] for t in taken):
                        best = spot, side, k
                        break
                if best:
                    break
            if best:
                break
        if not best:
            continue
        spot, side, k = best
        taken.append(spot)
        to_points = 72 / figure.dpi
        offset = ((spot[0] if side > 0 else spot[2]) - px) * to_points, ((spot[1] + spot[3]) / 2 - py) * to_points
        axes.annotate(text, axes.transData.inverted().transform((px, py)), offset, textcoords="offset points", fontsize=fontsize, color=colour,
                      ha="left" if side > 0 else "right", va="center",
                      arrowprops={"arrowstyle": "-", "lw": 0.5, "color": "#999999", "shrinkA": 0, "shrinkB": 3, "relpos": (0 if side > 0 else 1, 0.5)} if k > 1 else None)


def draw_panel(axes, rows, limits, levels):
    low, high, margin = limits
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlim(low, margin * margin / high)
    bottom, top = min(value for value, _ in levels[1]), max(value for value, _ in levels[1])
    bottom = min([bottom, *(height(row, levels) for row in rows)])
    axes.set_ylim(bottom / 300, top * 200)
    axes.axvspan(high, margin * margin / high, color="#F6F1EC", zorder=0, lw=0)
    axes.text(margin, 0.03, "failed, not timed", fontsize=8, color=style.FAILED, ha="center", va="bottom", transform=axes.get_xaxis_transform())
    ticks = [10.0**k for k in range(-7, 4) if low <= 10.0**k <= high]
    axes.set_xticks(ticks, [seconds(d, 1) for d in ticks])
    axes.set_yticks([value for value, _ in levels[1]], [text for _, text in levels[1]])
    axes.minorticks_off()
    axes.set_title(f"input {rows[0]['input']}", fontsize=9.5)
    axes.set_ylabel("relative error (L2 norm)")
    return draw_points(axes, rows, margin, levels)


def draw_case(results, op, dtype, panels, out):
    everything = [row for rows in panels for row in rows]
    times = [r.median(row) for row in everything if r.median(row)]
    low, high = min(times) / 2.5, max(times) * 2.5
    limits, levels = (low, high, high * (high / low) ** 0.22), scale(everything)
    figure, grid = plt.subplots(len(panels), 1, figsize=(7.6, 1.1 + 3.2 * len(panels)), squeeze=False)
    pending = [(axes, draw_panel(axes, rows, limits, levels)) for axes, rows in zip(grid[:, 0], panels)]
    grid[-1, 0].set_xlabel("time per call (cold, median)")
    present = {row["backend"] for row in everything if row["verdict"] != "fail"}
    handles = [plt.Line2D([], [], marker="o", ls="", color=style.BACKEND_COLOURS.get(b, style.MUTED), label=style.BACKEND_NAMES.get(b, b)) for b in sorted(present)]
    if any(r.is_declared(row) for row in everything):
        handles.append(plt.Line2D([], [], marker="D", ls="", color="#222222", markerfacecolor="white", label="within its own, looser tolerance"))
    if any(row["verdict"] == "fail" for row in everything):
        handles.append(plt.Line2D([], [], marker="x", ls="", color=style.FAILED, markeredgewidth=1.8, label="failed verification"))
    style.head(figure, f"Error against time: {describe(everything[0])}", handles)
    style.lay_out(figure)
    for axes, labels in pending:
        place_labels(axes, labels)
    return style.finish(figure, results, everything, out, f"accuracy_{op}_{dtype}", layout=False)


def draw(results, out):
    pictures = []
    for op in sorted({row["op"] for row in results.rows}):
        for dtype in ("f64", "f32"):
            panels = select.accuracy_cases(results, op, dtype)
            if panels:
                pictures.append((draw_case(results, op, dtype, panels, out), f"Error against time for {op}, {dtype}: variants that fail verification are not timed"))
    return pictures
