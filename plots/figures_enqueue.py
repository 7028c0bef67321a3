"""Time until the call returns beside time until the work is done: what a timer shows that is stopped without waiting."""
import matplotlib.pyplot as plt

import choose
import rows as r
import style
from words import seconds, significant


def pick(results, op):
    """Of the cases that a claim reads an enqueue time from, the one with most variants that have both times."""
    wanted = {c.get("case") for c in results.claims if c.get("mode") == "enqueue"}
    rows = [row for row in choose.on_main_machine(results, results.rows) if row["op"] == op and row["case"] in wanted and r.median(row, "enqueue") and r.median(row, "hot")]
    cases = {}
    for row in rows:
        cases.setdefault(row["case"], {})[row["variant"]] = row
    return sorted(max(cases.values(), key=len).values(), key=lambda row: r.median(row, "hot")) if cases else None


def draw_op(results, op, rows, out):
    figure, axes = plt.subplots(figsize=(7.6, 1.5 + 0.42 * len(rows)))
    axes.set_xscale("log")
    for y, row in enumerate(rows):
        early, done = r.median(row, "enqueue"), r.median(row, "hot")
        axes.plot([early, done], [y, y], color="#BBBBBB", lw=2.2, zorder=1)
        axes.plot(early, y, marker="o", color=style.FAILED, ls="", zorder=3)
        axes.plot(done, y, marker="o", color=style.OURS, ls="", zorder=3)
        axes.annotate(f"{seconds(early)} | {seconds(done)}  ({significant(done / early)}x)", (max(early, done), y), (8, 0), textcoords="offset points", va="center", fontsize=8)
    axes.set_yticks(range(len(rows)), [r.name_of(row) for row in rows])
    low, high = axes.get_xlim()
    axes.set_xlim(low, high * (high / low) ** 0.45)
    ticks = [10.0**k for k in range(-7, 3) if low <= 10.0**k <= high]
    axes.set_xticks(ticks, [seconds(t, 1) for t in ticks])
    axes.minorticks_off()
    axes.set_ylim(-0.7, len(rows) - 0.3)
    axes.grid(axis="y", visible=False)
    axes.set_xlabel("time of a call (median)")
    handles = [plt.Line2D([], [], marker="o", ls="", color=colour, label=label)
               for colour, label in ((style.FAILED, "until the call returns (enqueue)"), (style.OURS, "until the work is done, back to back (hot)"))]
    style.head(figure, f"Enqueued is not done: {choose.describe(rows[0])}", handles)
    return style.finish(figure, results, rows, out, f"enqueue_{op}")


def draw(results, out):
    pictures = []
    for op in sorted({row["op"] for row in results.rows}):
        rows = pick(results, op)
        if rows:
            pictures.append((draw_op(results, op, rows, out), f"Time until the call returns and until the work is done, {op}: a timer stopped without waiting shows the first"))
    return pictures
