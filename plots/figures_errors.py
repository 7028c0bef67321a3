"""Every published error as a mark within its acceptance band, and ours as a point: does it hold, and under which protocol?"""
import matplotlib.pyplot as plt

from analysis import select
from analysis.claim_text import words_of
from analysis.format import significant
from plots import style
from plots.figures_claims import COLOURS, colours_of, plain


def labels_of(claims):
    """Of each claim its variant and what its case has that another of these has otherwise."""
    cases = [words_of(c.get("case")) for c in claims]
    differ = [name for name in cases[0] if len({case.get(name) for case in cases}) > 1]
    return [f"{plain(c.get('variant'))}\n{', '.join(f'{name}={case.get(name)}' for name in differ)}".rstrip() for c, case in zip(claims, cases)]


def slots_of(claims):
    """y of each claim, from the top; those about one published number and variant stand together."""
    together = {}
    for k, c in enumerate(claims):
        together.setdefault((c.get("variant"), c["value"]), []).append(k)
    y, places = 0.0, {}
    for group in together.values():
        for k in group:
            places[k] = y
            y -= 1.0
        y -= 0.45
    return places


def draw_claim(axes, y, claim, left):
    colour = COLOURS.get(claim.get("verdict"), style.MUTED)
    low, high = claim.get("low") or left, claim.get("high") or claim["value"]
    axes.barh(y, high - low, 0.62, left=low, color="#E4E4E4", zorder=1)
    axes.plot([claim["value"]] * 2, [y - 0.31, y + 0.31], color=style.MUTED, lw=2, zorder=2)
    axes.plot(claim["ours"], y, marker="o", ms=7, color=colour, ls="", zorder=3)
    axes.annotate(significant(claim["ours"]), (max(claim["ours"], high), y), (7, 0), textcoords="offset points", va="center", fontsize=8.5, color=colour, weight="bold")


def draw_op(results, op, claims, out):
    places, labels = slots_of(claims), labels_of(claims)
    figure, axes = plt.subplots(figsize=(7.6, 1.5 + 0.42 * -min(places.values()) + 0.4))
    axes.set_xscale("log")
    values = [v for c in claims for v in (c["value"], c["ours"], c.get("low"), c.get("high")) if v]
    left, right = min(values) / 1.6, max(values) * (max(values) / min(values)) ** 0.22
    for k, c in enumerate(claims):
        draw_claim(axes, places[k], c, left)
    axes.set_xlim(left, right)
    axes.set_ylim(min(places.values()) - 0.7, 0.7)
    axes.set_yticks(list(places.values()), [labels[k] for k in places], fontsize=7.8)
    axes.grid(axis="y", visible=False)
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel("largest error of an output")
    machine = results.machine(claims[0])
    handles = [plt.Line2D([], [], color=style.MUTED, lw=2, marker="|", ls="", markersize=10, label="published"),
               plt.Rectangle((0, 0), 1, 1, color="#E4E4E4", label="acceptance band")]
    handles += [plt.Line2D([], [], marker="o", ms=7, ls="", color=colour, label=f"{machine}: {verdict}") for verdict, colour in colours_of(claims)]
    style.head(figure, f"Published errors of {op}: do they hold?", handles)
    return style.finish(figure, results, claims, out, f"errors_{op}")


def draw(results, out):
    by_op = select.claims_by_op(results, lambda c: c.get("quantity") == "error" and c.get("value"))
    return [(draw_op(results, op, some, out), f"Published and measured errors of {op}, with acceptance bands") for op, some in sorted(by_op.items())]
