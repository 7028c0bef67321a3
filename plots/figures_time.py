"""Where the time of our fastest rungs goes: bytes that any variant must move, bytes that this one moves beside, launches, and the rest, of which why.py says the cause."""

import matplotlib.pyplot as plt

from analysis import rows as r
from analysis import select, why
from analysis.format import describe, seconds
from plots import style

RUNGS = 3  # of a case, at least
LEAST_BYTES = 1e6  # of a call: below, all of it is a launch
PARTS = (
    ("bytes that any variant moves", style.OURS),
    ("more bytes", style.COLOURS[4]),
    ("further launches", style.COLOURS[5]),
    ("the rest: waits, tail, instructions", "#BDBDBD"),
)


def parts_of(row):
    """Seconds of each of PARTS, together the call's."""
    f = why.Figures(row)
    found, left = [], f.seconds
    least = f.share * f.seconds
    for part in (least, (why.moved_bytes(f)[0] - 1) * least, why.launches_seconds(f)):
        found.append(min(max(part, 0), left))
        left -= found[-1]
    return [*found, left]


def is_told(row):
    """Was one call of it counted?"""
    f = why.Figures(row)
    return f.share and f.share <= 1 and f.counts.get("launches") and f.counts.get("bytes_read") is not None


def fastest_rows(results):
    """Of each op our fastest rung, in the largest and in the smallest case that has its counts."""
    ours = [
        row
        for row in select.on_main_machine(results, results.rows)
        if r.median(row) and r.device_of(row) == "cuda" and not r.is_library(row) and not results.why_not_ranked(row)
    ]
    ladders = [group for group in select.by_case(ours).values() if len({row["variant"] for row in group}) >= RUNGS]
    best = [min(group, key=r.median) for group in ladders]
    for op in sorted({row["op"] for row in best}):
        told = sorted(
            (row for row in best if row["op"] == op and is_told(row) and r.work_bytes(row) >= LEAST_BYTES),
            key=r.work_bytes,
        )
        yield from told[-1:] + told[:-1][:1]


def draw(results, out):
    rows = list(fastest_rows(results))
    if not rows:
        return []
    figure, axes = plt.subplots(figsize=(7.6, 1.3 + 0.36 * len(rows)))
    for y, row in enumerate(rows):
        left, whole = 0, r.median(row)
        for part, (_, colour) in zip(parts_of(row), PARTS, strict=True):
            axes.barh(-y, 100 * part / whole, left=left, height=0.36, color=colour)
            left += 100 * part / whole
        cause = (why.sentence(row) or "").split(":")[0]
        style.beside(axes, -y, "   ".join(filter(None, (seconds(whole), cause))), fontsize=8, color="#222222")
        axes.annotate(
            describe(row), (0, -y + 0.36), fontsize=6.5, color=style.MUTED, va="center", annotation_clip=False
        )
    axes.set_yticks([-y for y in range(len(rows))], [r.name_of(row) for row in rows], fontsize=8.5)
    axes.set_xlim(0, 100)
    axes.set_ylim(-len(rows) + 0.5, 0.7)
    axes.grid(axis="y", visible=False)
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel(
        "% of a call (cold, median); at the right its time, and the cause if the counters name one", fontsize=8.5
    )
    style.head(figure, "Where the time went", [style.key(words, marker="s", color=colour) for words, colour in PARTS])
    picture = style.finish(figure, results, rows, out, "time")
    return [(picture, "Where the time of our fastest rungs went")]
