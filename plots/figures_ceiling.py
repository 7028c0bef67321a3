"""How far from the limit: each variant's share of the copy (or read) ceiling measured in the same run; bars cold, marks hot."""
import matplotlib.pyplot as plt

from analysis import rows as r
from analysis import select
from analysis.format import describe, percent
from plots import style


def draw_panel(axes, results, best, names):
    for y, name in enumerate(names):
        row = best.get(name)
        if row is None:
            axes.annotate("not timed", (0.005, y), fontsize=7.5, color=style.MUTED, va="center")
            continue
        cold, hot = results.fraction(row), results.fraction(row, "hot")
        axes.barh(y, cold, 0.62, color=style.BACKEND_COLOURS.get(row["backend"], style.MUTED))
        if hot:
            axes.plot(hot, y, marker="|", markersize=11, markeredgewidth=1.8, color="#222222", zorder=3)
        flag = " (!)" if cold > 1 else ""
        axes.annotate(percent(cold) + flag, (max(cold, hot or 0), y), (5, 0), textcoords="offset points", va="center", fontsize=8,
                      color=style.FAILED if flag else "#222222")
    axes.axvline(1, color="#222222", lw=1.1, ls=(0, (4, 2)), zorder=1)
    axes.grid(axis="y", visible=False)
    axes.tick_params(axis="y", length=0)
    axes.set_xlim(0, 1.24)
    axes.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", "25%", "50%", "75%", r.limit_name(next(iter(best.values())))])


def draw_case(results, op, group, out):
    best = {}
    for dtype in ("f64", "f32"):
        rows = select.fastest_per_variant([row for row in group if row["dtype"] == dtype])
        if rows:
            best[dtype] = {r.name_of(v): row for v, row in rows.items()}
    shares = {n: [results.fraction(d[n]) if n in d else -1.0 for d in best.values()] for d in best.values() for n in d}
    names = sorted(shares, key=lambda n: (shares[n], n))
    figure, panels = plt.subplots(1, len(best), figsize=(7.6, 1.6 + 0.29 * len(names)), sharey=True, squeeze=False)
    for axes, (dtype, rows) in zip(panels[0], best.items()):
        draw_panel(axes, results, rows, names)
        axes.set_title({"f64": "float64", "f32": "float32"}[dtype], fontsize=9.5)
        axes.set_xlabel(f"share of the device's measured {r.limit_name(group[0], ' peak')}")
    panels[0][0].set_yticks(range(len(names)), names)
    backends = sorted({row["backend"] for row in group})
    handles = [plt.Rectangle((0, 0), 1, 1, color=style.BACKEND_COLOURS.get(b, style.MUTED)) for b in backends]
    handles.append(plt.Line2D([], [], marker="|", markersize=9, markeredgewidth=1.8, color="#222222", ls=""))
    title = describe(group[0]).rsplit(",", 1)[0]
    style.head(figure, f"Share of the limit: {title}", handles, [f"{style.BACKEND_NAMES.get(b, b)}, cold" for b in backends] + ["hot"])
    return style.finish(figure, results, group, out, f"ceiling_{op}")


def draw(results, out):
    pictures = []
    for op in sorted({row["op"] for row in results.rows}):
        group = select.limit_case(results, op)
        if group:
            pictures.append((draw_case(results, op, group, out), f"Share of the measured {r.limit_name(group[0], ' peak')} that each variant of {op} reaches"))
    return pictures
