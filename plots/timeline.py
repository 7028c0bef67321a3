"""A timeline of calls, as `rungs run ... --timeline FILE` writes them, as a picture.

usage: python -m plots.timeline TRACE.json OUT.svg|OUT.png [--only TEXT]

One panel per call: the ranges of the host by depth, then each stream of the device with its kernels, copies and fills. Every kernel
has a number and a colour, the same in all panels; how often it ran and how long in all is said below the panel, as it is of the ranges
"allocate" and "release"."""
import argparse
import json
import pathlib
import sys

import matplotlib.pyplot as plt

from analysis.format import describe_text
from analysis.output import run
from plots import style

KIND_COLOURS = {"copy": "#E69F00", "fill": "#8C8C8C"}
STEP_COLOUR = "#DCE6F0"
MEMORY_COLOURS = {"allocate": "#F3C5A5", "release": "#CDB9DD"}  # steps that are many and too short for their names
ROW_HEIGHT, BAR, LINE_HEIGHT = 0.34, 0.78, 0.19  # inches a row; share of a row; inches a line of the key
ABOVE, BETWEEN, BELOW = 0.35, 0.58, 0.2  # inches: the title, the axis, the next panel


def load(path):
    """[{"title", "events": [{"name", "kind", "stream", "begin", "end", "bytes"}]}] in the file's order, times in microseconds."""
    with open(path, encoding="utf-8") as file:
        trace = json.load(file)
    calls = {}
    for event in trace["traceEvents"]:
        call = calls.setdefault(event["pid"], {"title": "", "events": []})
        if event["ph"] == "M":
            if event["name"] == "process_name":
                call["title"] = event["args"]["name"]
        elif event["ph"] == "X":
            call["events"].append({"name": event["name"], "kind": event["cat"], "stream": event["tid"], "begin": event["ts"],
                                   "end": event["ts"] + event["dur"], "bytes": event.get("args", {}).get("bytes")})
    return list(calls.values())


def with_depths(ranges):
    """[(depth, range)]: a range lies one deeper than the one that it lies in."""
    found, open_ones = [], []
    for one in sorted(ranges, key=lambda e: (e["begin"], -e["end"])):
        while open_ones and open_ones[-1]["end"] <= one["begin"]:
            open_ones.pop()
        found.append((len(open_ones), one))
        open_ones.append(one)
    return found


def rows_of(call):
    """[(label, [event])], from the top down."""
    ranges = with_depths([e for e in call["events"] if e["kind"] == "range"])
    device = [e for e in call["events"] if e["kind"] != "range"]
    rows = [("steps (host)" if depth == 0 else "", [e for d, e in ranges if d == depth]) for depth in range(max((d for d, _ in ranges), default=-1) + 1)]
    streams = sorted({e["stream"] for e in device})
    for stream in streams:
        name = "device" if len(streams) == 1 else f"stream {stream}"
        rows.append((name, [e for e in device if e["stream"] == stream and e["kind"] == "kernel"]))
        others = [e for e in device if e["stream"] == stream and e["kind"] != "kernel"]
        if others:
            rows.append(("copies, fills" if len(streams) == 1 else f"{name}: copies", others))
    return rows


def short(name):
    """Without namespaces and template arguments."""
    head = name.split("<")[0]
    return head.split("::")[-1] or name


def numbers_of(calls):
    """{kernel: its number}, in the order of first launches."""
    numbers = {}
    for call in calls:
        for event in sorted(call["events"], key=lambda e: e["begin"]):
            if event["kind"] == "kernel":
                numbers.setdefault(short(event["name"]), len(numbers) + 1)
    return numbers


def colour_of(name, kind, numbers):
    if kind == "range":
        return MEMORY_COLOURS.get(name, STEP_COLOUR)
    return KIND_COLOURS.get(kind) or style.COLOURS[(numbers[name] - 1) % len(style.COLOURS)]


def microseconds(value):
    return f"{value:,.0f} us" if value >= 100 else f"{value:.1f} us" if value >= 1 else f"{value:.2f} us"


def key_of(call):
    """What the panel's colours stand for: (name, kind, how often, microseconds), the longest first."""
    totals = {}
    for event in call["events"]:
        if event["kind"] == "range" and event["name"] not in MEMORY_COLOURS:
            continue
        name = short(event["name"]) if event["kind"] == "kernel" else event["name"]
        entry = totals.setdefault((name, event["kind"]), [0, 0.0])
        entry[0] += 1
        entry[1] += event["end"] - event["begin"]
    return sorted(((name, kind, count, total) for (name, kind), (count, total) in totals.items()), key=lambda entry: -entry[3])


def write_inside(axes, x, y, width, texts, colour):
    """The first of the texts that fits into its bar."""
    renderer = axes.figure.canvas.get_renderer()
    pixels = axes.transData.transform((width, 0))[0] - axes.transData.transform((0, 0))[0]
    for text in texts:
        label = axes.text(x, y, text, ha="center", va="center", fontsize=7.5, color=colour, clip_on=True)
        if label.get_window_extent(renderer).width < pixels - 3:
            return
        label.remove()


def texts_of(event, numbers):
    name = event["name"] if event["kind"] == "range" else short(event["name"])
    return [name, name[:7] + ".."] if event["kind"] == "range" else [f"{numbers[name]} {name}", str(numbers[name])] if event["kind"] == "kernel" else [name]


def title_of(call):
    """"cuda_two_pass memory=cuda: redact, rows = 600000, i32, input names": what is as always is left out."""
    variant, found, case = call["title"].partition(": ")
    return f"{variant.split('/', 1)[-1]}: {describe_text(case)}" if found and case else call["title"]


def draw_call(axes, call, numbers):
    rows = rows_of(call)
    last = max((event["end"] for event in call["events"]), default=1.0)
    axes.set_xlim(-0.005 * last, 1.005 * last)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.set_yticks(range(len(rows)), [label for label, _ in rows])
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="y", visible=False)
    for y, (_, events) in enumerate(rows):
        for event in events:
            is_range = event["kind"] == "range"
            colour = colour_of(event["name"] if is_range else short(event["name"]), event["kind"], numbers)
            width = event["end"] - event["begin"]
            axes.barh(y, width, left=event["begin"], height=BAR, color=colour, edgecolor="#7F9DB9" if is_range else "white", linewidth=0.5)
            write_inside(axes, event["begin"] + width / 2, y, width, texts_of(event, numbers), "#222222" if is_range else "white")
    axes.set_title(f"{title_of(call)}: {microseconds(last)}", fontsize=9.5)
    axes.set_xlabel("microseconds since the call's first event")


def key_lines(call):
    return (len(key_of(call)) + 1) // 2


def draw_key(axes, call, numbers):
    axes.axis("off")
    lines = key_lines(call)
    for i, (name, kind, count, total) in enumerate(key_of(call)):
        x, y = 0.52 * (i % 2), 1 - (i // 2 + 0.5) / lines
        axes.plot([x + 0.006], [y], marker="s", markersize=7, color=colour_of(name, kind, numbers), transform=axes.transAxes, clip_on=False)
        number = f"{numbers[name]}  " if kind == "kernel" else ""
        where = " (host)" if kind == "range" else ""
        axes.text(x + 0.02, y, f"{number}{name}{where}: {count} x, {microseconds(total)} in all", va="center", fontsize=8, transform=axes.transAxes)


def draw(calls, path):
    panels = [ROW_HEIGHT * max(len(rows_of(call)), 2) for call in calls]
    keys = [LINE_HEIGHT * key_lines(call) for call in calls]
    total = sum(panels) + sum(keys) + len(calls) * (ABOVE + BETWEEN + BELOW)
    figure = plt.figure(figsize=(11, total))
    numbers = numbers_of(calls)
    top = total
    for call, panel, key in zip(calls, panels, keys):
        top -= ABOVE + panel
        draw_call(figure.add_axes([0.11, top / total, 0.87, panel / total]), call, numbers)
        top -= BETWEEN + key
        draw_key(figure.add_axes([0.11, top / total, 0.87, max(key, 0.01) / total]), call, numbers)
        top -= BELOW
    return style.save(figure, pathlib.Path(path))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("trace")
    parser.add_argument("out")
    parser.add_argument("--only", default="", help="only calls whose title holds this text")
    arguments = parser.parse_args()
    try:
        calls = [call for call in load(arguments.trace) if arguments.only in call["title"] and call["events"]]
    except (OSError, ValueError, KeyError, TypeError) as error:
        print(f"{arguments.trace}: no timeline: {error}", file=sys.stderr)
        return 2
    if not calls:
        print(f"{arguments.trace}: no call to draw", file=sys.stderr)
        return 3
    draw(calls, arguments.out)
    return 0


if __name__ == "__main__":
    sys.exit(run(main))
