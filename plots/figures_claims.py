"""Every claim that was measured as a dumbbell: from what was published, at 1, to what was measured here, with the acceptance band shaded."""

import matplotlib.pyplot as plt

from analysis import rows as r
from analysis.claim_text import (
    EXACT,
    MEASURED,
    OUTCOMES,
    is_counted,
    is_shown,
    modes_of,
    published,
    published_value,
    quantity,
    size_of,
)
from plots import style

COLOURS = {"holds": "#009E73", "direction": "#B8860B", "far": "#CC79A7", "fails": style.FAILED, "shown": "#8A8A8A"}
MARKERS = {"original": "s", "reimplementation": "o", "successor": "^", "ours": "D"}
NAMES = {**OUTCOMES, "shown": "other hardware, shown only"}
GROUPS = (
    ("Speed-ups and rates, right: faster than published", ("speedup", "bytes_per_second", "elements_per_second")),
    ("Times, left: faster than published", ("seconds",)),
    ("Errors and counts, left: smaller than published", EXACT),
)
PITCH = 0.175  # inches from one claim to the next
LEAST, MOST = 1e-3, 1e3  # ratios beyond stand at the edge: 0, too


def plain(spec):
    """cuda_naive from rolling/cuda_naive threads=128; of tunables only where memory came from, unless it is cudaMalloc."""
    name, *tunables = r.name_of(str(spec)).split(" ")
    memory = next((word[7:] for word in tunables if word.startswith("memory=") and word != "memory=cuda"), None)
    return f"{name}, {memory}" if memory else name


def label(claim):
    baseline, mode = claim.get("baseline"), modes_of(claim)
    over = f" / {plain(baseline)}" if baseline and baseline != claim.get("variant") else ""
    text = f"{r.op_of(claim)}: {plain(claim.get('variant'))}{over}, {size_of(claim)}"
    text += "" if mode in ("cold", "-") else f", {mode}"
    return text if len(text) <= 78 else text[:75] + "..."


def outcome_of(claim):
    """What it is drawn as: a number of other hardware has no outcome."""
    return "shown" if is_shown(claim) else claim.get("outcome")


def inside(value):
    return min(max(value, LEAST), MOST)


def draw_claim(axes, y, claim):
    base, found, outcome = published_value(claim), claim["here"], outcome_of(claim)
    colour = COLOURS.get(outcome, style.MUTED)
    low, high = (
        (inside(limit / base) if limit else edge)
        for limit, edge in ((claim.get("band_low"), LEAST), (claim.get("band_high"), MOST))
    )
    if outcome != "shown":
        axes.barh(y, high - low, 0.8, left=low, color="#E9E9E9", zorder=1, lw=0)
    here = inside(found / base)
    axes.plot([1, here], [y, y], color=colour, lw=1.3, zorder=2)
    axes.plot([1], [y], marker="|", ms=8, mew=1.6, color=style.MUTED, ls="", zorder=3)
    ends = [inside(end / base) for end in (claim.get("low"), claim.get("high")) if end]
    if len(ends) == 2:
        axes.plot(ends, [y, y], color=colour, lw=3.2, alpha=0.45, zorder=3, solid_capstyle="butt")
    mark, filled = MARKERS.get(claim.get("program"), "o"), "white" if outcome == "fails" else colour
    axes.plot([here], [y], marker=mark, ms=4.6, color=colour, markerfacecolor=filled, ls="", zorder=4)
    style.beside(axes, y, f"{published(claim)} → {quantity(claim, found)}", x=1.01, fontsize=7.2, color=colour)


def ends_of(claims):
    """Of a panel's axis: everything that is drawn, intervals too."""
    ends = ("here", "low", "high", "band_low", "band_high")
    seen = [c[end] / published_value(c) for c in claims for end in ends if end == "here" or c.get(end)] + [1]
    return inside(min(seen)) / 1.4, inside(max(seen)) * 1.4


def draw(results, out):
    claims = [c for c in results.claims if c.get("here") is not None and published_value(c)]
    claims.sort(key=lambda c: (r.op_of(c), -(c["here"] / published_value(c))))
    groups = [(title, [c for c in claims if c.get("quantity") in names]) for title, names in GROUPS]
    groups = [(title, some) for title, some in groups if some]
    if not groups:
        return []
    slots = [len(some) + 2.2 for _, some in groups]
    figure, grid = plt.subplots(
        len(groups), 1, figsize=(9.2, 1.0 + PITCH * sum(slots)), squeeze=False, gridspec_kw={"height_ratios": slots}
    )
    for axes, (title, some) in zip(grid[:, 0], groups):
        axes.set_xscale("log")
        for k, claim in enumerate(some):
            draw_claim(axes, -k, claim)
        low, high = ends_of(some)
        axes.set_xlim(low, high)
        ticks = style.log_ticks(low, high)
        axes.set_xticks(ticks, [f"{x:g}x" for x in ticks], fontsize=7.5)
        axes.minorticks_off()
        axes.set_ylim(-len(some) + 0.4, 0.6)
        axes.set_yticks([-k for k in range(len(some))], [label(c) for c in some], fontsize=7.2)
        axes.tick_params(axis="y", length=0)
        axes.grid(axis="y", visible=False)
        axes.axvline(1, color=style.MUTED, lw=0.8, zorder=0)
        axes.set_title(title, fontsize=8.5)
    handles = [
        style.key("published", color=style.MUTED, marker="|", ms=8, mew=1.6),
        plt.Rectangle((0, 0), 1, 1, color="#E9E9E9", label="acceptance band"),
    ]
    handles += [
        style.key(NAMES[key], color=colour, ms=4.6, markerfacecolor="white" if key == "fails" else colour)
        for key, colour in COLOURS.items()
        if any(outcome_of(c) == key for c in claims)
    ]
    programs = {c.get("program") for c in claims}
    if len(programs) > 1:
        handles += [
            style.key(name, color="#444444", marker=mark, ms=4.6) for name, mark in MARKERS.items() if name in programs
        ]
    judged = [c for c in claims if is_counted(c)]
    held = sum(outcome_of(c) == "holds" for c in judged)
    measured = sum(is_counted(c) and c.get("outcome") in MEASURED for c in results.claims)
    missing = f"; {measured - len(judged)} more gave no number to draw" if measured > len(judged) else ""
    style.head(figure, f"{held} of {len(judged)} counted tests of published numbers hold{missing}", handles)
    picture = style.finish(figure, results, claims, out, "claims")
    text = "Published claims against what was measured here, as ratios, with acceptance bands"
    return [(picture, f"{text}: {held} of {len(judged)} counted tests hold{missing}")]
