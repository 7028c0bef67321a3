"""What a source drew over the size of its columns, drawn again with its points beside ours: speed-up over one variant, and end-to-end throughput."""
import collections

import matplotlib.pyplot as plt

from analysis import published, select
from analysis import rows as r
from analysis.format import count, says_something
from plots import style

LEAST_POINTS = 3
BASELINES = {"redact": ("cuda_api_pipeline", "cuda")}  # what the source's speed-ups are over
MEMORY = {"cuda": ("cudaMalloc, cudaFree", (0, (4, 2)), "white"), "pool": ("stream-ordered pool", "solid", None), "arena": ("arena, allocated before the call", (0, (1, 1.3)), None)}


def printed_lines(printed, key):
    """(variant, memory) -> [(rows, value)] of what was read off figures."""
    lines = collections.defaultdict(list)
    for point in printed.lines:
        if point.get("where") == "figure" and key in point:
            lines[point["variant"], point["memory"]].append((point["rows"], point[key]))
    return {name: sorted(points) for name, points in lines.items()}


def is_plain(row):
    """As the source's data: the op's first family, nothing special."""
    params = row.get("params") or {}
    return (row.get("input"), row.get("dtype")) == ("names", "i32") and not any(says_something(k, v) for k, v in params.items() if k != "rows")


def measured_rows(results, op, variants):
    """Of the variants that the source drew: one that is a hundred times slower would press the others together."""
    rows = [row for row in select.on_main_machine(results, select.timed_rows(results)) if row["op"] == op and r.name_of(row) in variants]
    return [row for row in rows if is_plain(row) and (row.get("tunables") or {}).get("memory") in MEMORY and r.number(row, "rows")]


def measured_lines(rows, value_of):
    lines = collections.defaultdict(list)
    for row in rows:
        value = value_of(row)
        if value:
            lines[r.name_of(row), row["tunables"]["memory"]].append((r.number(row, "rows"), value))
    return {name: sorted(points) for name, points in lines.items() if len(points) >= LEAST_POINTS}


def speedup_of(rows, baseline):
    base = {r.number(row, "rows"): r.median(row) for row in rows if (r.name_of(row), row["tunables"]["memory"]) == baseline}
    return lambda row: base.get(r.number(row, "rows"), 0) / r.median(row)


def rate_of(row):
    return r.work_bytes(row) / r.median(row) / 1e9 if r.work_bytes(row) else None


def draw_lines(axes, lines, colours):
    for (variant, memory), points in lines.items():
        _, dashes, face = MEMORY[memory]
        colour, marker = colours[variant]
        axes.plot(*zip(*points), color=colour, marker=marker, linestyle=dashes, markerfacecolor=face or colour, markeredgecolor=colour, markersize=4.5, linewidth=1.4)


def prepare(axes, ticks, low, high):
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("rows")
    shown = [tick for tick in (600000, 1000000, 2000000, 5000000, 10000000, 20000000, 50000000) if low <= tick <= high]
    axes.set_xticks(shown, [f"{tick / 1e6:g} M" for tick in shown])
    axes.set_xlim(low / 1.15, high * 1.15)
    axes.set_yticks(*ticks)
    axes.minorticks_off()


def marks(lines, lines_too=()):
    values = [value for side in lines for points in side.values() for _, value in points] + list(lines_too)
    low, high = min(values) / 1.25, max(values) * (1.8 if lines_too else 1.3)  # a limit has words above it
    ticks = [step * 10.0**k for k in range(-3, 6) for step in (1, 2, 5) if low <= step * 10.0**k <= high]
    return low, high, (ticks, [f"{tick:,g}" for tick in ticks])


def legend_of(both, colours):
    """Variants, then memory: two rows, where it takes two (see style.head), which are filled column by column."""
    variants = [plt.Line2D([], [], color=colours[name][0], marker=colours[name][1], linestyle="", label=name.removeprefix("cuda_")) for name in colours if any(name == v for v, _ in both)]
    memory = [plt.Line2D([], [], color="#444444", marker="o", markersize=4.5, linestyle=dashes, markerfacecolor=face or "#444444", label=text)
              for key, (text, dashes, face) in MEMORY.items() if any(key == m for _, m in both)]
    if sum(len(handle.get_label()) for handle in variants + memory) < 90:
        return variants + memory
    nothing = [plt.Line2D([], [], linestyle="", label=" ")]
    longer = max(len(variants), len(memory))
    pairs = zip(variants + nothing * (longer - len(variants)), memory + nothing * (longer - len(memory)))
    return [handle for pair in pairs for handle in pair]


def draw_pair(results, rows, printed, mine, colours, what, out, name, limits=(None, None)):
    """The source's panel and ours, on one scale; a limit is (value, words): a line across its panel."""
    theirs = printed_lines(printed, what[0])
    low, high, ticks = marks((theirs, mine), [limit[0] for limit in limits if limit])
    figure, grid = plt.subplots(1, 2, figsize=(9.6, 5.0), sharey=True)
    machine = results.machine(rows[0])
    for axes, lines, heading, limit in zip(grid, (theirs, mine), (f"published: {printed.said.get('hardware', '')}", f"measured: {machine}"), limits):
        sizes = [size for points in lines.values() for size, _ in points]
        draw_lines(axes, lines, colours)
        prepare(axes, ticks, min(sizes), max(sizes))
        axes.set_title(heading, fontsize=9)
        if limit:
            axes.axhline(limit[0], color="#222222", lw=1, ls=(0, (6, 2)))
            axes.annotate(limit[1], (0.01, limit[0]), xycoords=("axes fraction", "data"), xytext=(0, 3), textcoords="offset points", fontsize=7.5, color="#222222")
    grid[0].set_ylim(low, high)
    grid[0].set_ylabel(what[1])
    style.head(figure, what[2], legend_of(list(theirs) + list(mine), colours))
    return style.finish(figure, results, rows, out, name)


def peak_of(printed):
    """The card's peak, where the source's table has it."""
    words = printed.said.get("peak", "").split(" ")
    return (float(words[0]), f"peak of the published GPU, {words[0]} GB/s") if words[0] else None


def draw_op(results, op, printed, out):
    names = sorted({variant for variant, _ in printed_lines(printed, "gb_per_s")})
    rows = measured_rows(results, op, names)
    rates = measured_lines(rows, rate_of)
    if not rates:
        return []
    colours = {name: (style.COLOURS[k], style.MARKERS[k]) for k, name in enumerate(names)}
    variant, memory = baseline = BASELINES[op]
    pictures = []
    gains = {name: points for name, points in measured_lines(rows, speedup_of(rows, baseline)).items() if name != baseline}
    if gains:
        over = f"times faster than {variant.removeprefix('cuda_')} with {'cudaMalloc' if memory == 'cuda' else memory}"
        title = f"{op}: speed-up over {variant.removeprefix('cuda_')} against rows"
        kept = [p for p in printed.lines if (p["variant"], p.get("memory")) != baseline]
        picture = draw_pair(results, rows, published.Points(printed.said, kept), gains, colours, ("speedup", over, title), out, f"curves_{op}_speedup")
        pictures.append((picture, f"Speed-up of {op} over {variant} against rows, published and measured"))
    ceiling = next((results.ceiling(row) for row in rows if results.ceiling(row)), None)
    limits = peak_of(printed), (ceiling / 1e9, f"copy, measured: {count(round(ceiling / 1e9))} GB/s") if ceiling else None
    what = "gb_per_s", "GB/s: (input + output bytes) / time of a call", f"{op}: end-to-end throughput against rows, allocations included"
    pictures.append((draw_pair(results, rows, printed, rates, colours, what, out, f"curves_{op}_throughput", limits), f"Throughput of {op} against rows, published and measured"))
    return pictures


def draw(results, out):
    pictures = []
    for op in BASELINES:
        printed = published.points(op)
        if printed:
            pictures += draw_op(results, op, printed, out)
    return pictures
