"""Every published speed-up as a bar, ours below it, grouped by the published number: does it hold, and with which kernels?"""
import matplotlib.pyplot as plt

from analysis import rows as r
from analysis import select
from analysis.claim_text import hardware_of, modes_of, published, size_of
from analysis.format import significant
from plots import style

COLOURS = {"reproduced": "#009E73", "exceeded": "#0072B2", "undecided": "#E69F00", "not reproduced": style.FAILED}


def colours_of(claims):
    """(verdict, colour) of the verdicts that occur, for a legend."""
    return [(verdict, colour) for verdict, colour in COLOURS.items() if any(c.get("verdict") == verdict for c in claims)]


def groups_of(claims):
    """(hardware, what was published) -> claims, in the order of the file."""
    found = {}
    for c in claims:
        found.setdefault((hardware_of(c), published(c)), []).append(c)
    return found


def plain(spec):
    """cuda_naive from rolling/cuda_naive threads=128; of tunables only where memory came from, unless it is cudaMalloc."""
    name, *tunables = r.name_of(str(spec)).split(" ")
    memory = next((word[7:] for word in tunables if word.startswith("memory=") and word != "memory=cuda"), None)
    return f"{name}, {memory}" if memory else name


def label(c):
    mode = "" if modes_of(c) == "cold" else f", {modes_of(c)}"
    return f"{plain(c.get('variant'))}\nover {plain(c.get('baseline'))}, {size_of(c)}{mode}"


def draw_op(results, op, claims, out):
    groups = groups_of(claims)
    slots = len(groups) * 1.0 + len(claims) * 1.25
    figure, axes = plt.subplots(figsize=(7.6, 1.5 + 0.3 * slots))
    axes.set_xscale("log")
    values = [v for c in claims for v in (c["value"], c["ours"], c.get("low"), c.get("high")) if v]
    low, high = min(1, *values) / 1.25, max(values) * max(1.9, (max(values) / min(1, *values)) ** 0.16)
    y, ticks, word = 0.0, [], max(1.5, (high / low) ** 0.1)  # word: the factor that a number covers on the axis
    for (hardware, text), some in groups.items():
        begin, value = (some[0]["low"], some[0]["high"]) if some[0].get("rule") == "range" else (1, some[0]["value"])
        axes.barh(y, value - begin, 0.72, left=begin, color=style.PUBLISHED)
        axes.annotate(text, (max(value, 1), y), (4, 0), textcoords="offset points", va="center", fontsize=8.5, color=style.MUTED)
        ticks.append((y, f"published: {hardware}"))
        y -= 1.1
        for c in some:
            colour = COLOURS.get(c.get("verdict"), style.MUTED)
            axes.barh(y, c["ours"] - 1, 0.8, left=1, color=colour)
            end, limits = max(c["ours"], 1), [limit for limit in (c.get("low"), c.get("high")) if limit]
            for limit in sorted(limits):  # the number stands clear of the marks
                end = limit if end <= limit < word * end else end
            axes.annotate(f"{significant(c['ours'])}x", (end, y), (4, 0), textcoords="offset points", va="center", fontsize=8.5, color=colour, weight="bold")
            for limit in limits:
                axes.plot([limit] * 2, [y - 0.48, y + 0.48], color="#222222", lw=1.3)
            ticks.append((y, label(c)))
            y -= 1.25
        y -= 0.5
    axes.set_xlim(low, high)
    marks = [x for x in ((1, 2, 3, 5, 10, 20, 50, 100) if high < 100 else (1, 10, 100, 1000, 10000, 100000)) if low <= x <= high]
    axes.set_xticks(marks, [f"{x}x" for x in marks])
    axes.minorticks_off()
    axes.axvline(1, color="#222222", lw=1)
    axes.set_ylim(y + 0.9, 0.9)
    axes.grid(axis="y", visible=False)
    axes.tick_params(axis="y", length=0)
    axes.set_yticks([t for t, _ in ticks], [text for _, text in ticks], fontsize=7.8)
    axes.set_xlabel("times faster (medians; cold unless a mode is named)")
    machine = results.machine(claims[0])
    handles = [plt.Rectangle((0, 0), 1, 1, color=style.PUBLISHED, label="published")]
    handles += [plt.Rectangle((0, 0), 1, 1, color=colour, label=f"{machine}: {verdict}") for verdict, colour in colours_of(claims)]
    handles.append(plt.Line2D([], [], color="#222222", lw=1.3, marker="|", ls="", markersize=10, label="acceptance band"))
    style.head(figure, f"Published speed-ups of {op}: do they hold?", handles)
    return style.finish(figure, results, claims, out, f"claims_{op}")


def draw(results, out):
    by_op = select.claims_by_op(results, lambda c: c.get("quantity") == "speedup" and (c.get("value") or c.get("low")))
    return [(draw_op(results, op, some, out), f"Published and measured speed-ups of {op}, with acceptance bands") for op, some in sorted(by_op.items())]
