"""Time until the call returns beside time until the work is done: what a timer shows that is stopped without waiting. And the GPU's own time."""
import matplotlib.pyplot as plt

import choose
import rows as r
import style
from words import seconds, significant

EARLY, DONE, ALONE = "enqueue", "complete", "hot"  # ALONE: with the caches of the other two, the host's time to launch taken out
TITLES = {DONE: "until the work is done (complete)", ALONE: "of the GPU alone, back to back (hot)"}
CAPTIONS = {DONE: "Time until the call returns, until the work is done, and of the GPU alone, {}: a timer stopped without waiting shows the first",
            ALONE: "Time until the call returns, and of the GPU alone, {}: a timer stopped without waiting shows the first"}


def alone(row):
    """None where the host's time is in it: the library has no events, or the call waits for the device."""
    timed = r.timing(row, ALONE)
    return timed["median"] if timed and timed.get("clock") == "cuda events" else None


def pick(results, op):
    """Of the cases that a claim reads an enqueue time from, the one with most variants that have both times; and what stands for the second,
    since older rows lack `complete`."""
    wanted = {c.get("case") for c in results.claims if c.get("mode") == EARLY}
    rows = [row for row in choose.on_main_machine(results, results.rows) if row["op"] == op and row["case"] in wanted and r.median(row, EARLY)]
    late = DONE if any(r.median(row, DONE) for row in rows) else ALONE
    cases = {}
    for row in rows:
        if r.median(row, late):
            cases.setdefault(row["case"], {})[row["variant"]] = row
    return (sorted(max(cases.values(), key=len).values(), key=lambda row: r.median(row, late)) if cases else None), late


def draw_row(axes, y, row, late):
    early, done, third = r.median(row, EARLY), r.median(row, late), alone(row) if late == DONE else None
    times = [t for t in (early, done, third) if t]
    axes.plot([min(times), max(times)], [y, y], color="#BBBBBB", lw=2.2, zorder=1)
    axes.plot(early, y, marker="o", color=style.FAILED, ls="", zorder=3)
    axes.plot(done, y, marker="o", color=style.OURS, ls="", zorder=3)
    if third:
        axes.plot(third, y, marker="D", mfc="white", mec=style.MUTED, ms=4.5, ls="", zorder=4)
    text = f"{seconds(early)} | {seconds(done)}  ({significant(done / early)}x)" + (f"  GPU {seconds(third)}" if third else "")
    axes.annotate(text, (max(times), y), (8, 0), textcoords="offset points", va="center", fontsize=8)


def draw_op(results, op, rows, late, out):
    figure, axes = plt.subplots(figsize=(7.6, 1.5 + 0.42 * len(rows)))
    axes.set_xscale("log")
    for y, row in enumerate(rows):
        draw_row(axes, y, row, late)
    axes.set_yticks(range(len(rows)), [r.name_of(row) for row in rows])
    low, high = axes.get_xlim()
    axes.set_xlim(low, high * (high / low) ** (0.7 if late == DONE else 0.45))
    ticks = [10.0**k for k in range(-7, 3) if low <= 10.0**k <= high]
    axes.set_xticks(ticks, [seconds(t, 1) for t in ticks])
    axes.minorticks_off()
    axes.set_ylim(-0.7, len(rows) - 0.3)
    axes.grid(axis="y", visible=False)
    axes.set_xlabel("time of a call (median)")
    handles = [plt.Line2D([], [], marker="o", ls="", color=colour, label=label)
               for colour, label in ((style.FAILED, "until the call returns (enqueue)"), (style.OURS, TITLES[late]))]
    if late == DONE:
        handles.append(plt.Line2D([], [], marker="D", ls="", mfc="white", mec=style.MUTED, ms=4.5, label=TITLES[ALONE]))
    style.head(figure, f"Enqueued is not done: {choose.describe(rows[0])}", handles)
    return style.finish(figure, results, rows, out, f"enqueue_{op}")


def draw(results, out):
    pictures = []
    for op in sorted({row["op"] for row in results.rows}):
        rows, late = pick(results, op)
        if rows:
            pictures.append((draw_op(results, op, rows, late, out), CAPTIONS[late].format(op)))
    return pictures
