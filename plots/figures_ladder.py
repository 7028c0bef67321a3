"""The ladder: how many times faster than one baseline each variant is, as points with the published speed-ups beside them, the limit, and what failed."""

import collections

import matplotlib.pyplot as plt

from analysis import rows as r
from analysis import select
from analysis.claim_text import hardware_of, published_programs
from analysis.format import describe, percent, seconds, significant
from plots import style

MOST_LINES = 18
PRINTED = {"marker": "|", "ms": 9, "mew": 2, "color": "#8A8A8A", "ls": ""}
FEWEST_INPUTS = 3  # on which a variant must be right before its dot says so
SIGNS = {
    "right": "right on all inputs tried, N of M",
    "wrong": "wrong on one or more",
    "few": f"tried on fewer than {FEWEST_INPUTS}",
}
KINDS = {
    "published": ("#6B6B6B", "published program, run here"),
    "cuda": (style.OURS, "ours, CUDA"),
    "cpu": ("#B8860B", "ours, CPU"),
    "peer": ("#009E73", "library"),
}


def published_speedups(claims):
    """(case, baseline) -> hardware -> variant spec -> published speed-up, as stated or as the ratio of two published times."""
    found = collections.defaultdict(lambda: collections.defaultdict(dict))
    times = collections.defaultdict(dict)
    numbers = [
        c for c in claims if c.get("rule") in ("about", "shown") and isinstance(c.get("published"), (int, float))
    ]
    for c in numbers:
        if c.get("quantity") == "seconds":
            times[c.get("case"), c.get("source"), c.get("hardware")][c.get("variant")] = c["published"]
    for c in numbers:
        if c.get("quantity") == "speedup" and c.get("mode", "cold") == "cold" and not c.get("baseline_case"):
            case, source, hardware = c.get("case"), c.get("source"), c.get("hardware")
            series = found[case, c.get("baseline")][hardware_of(c)]
            base = times[case, source, hardware].get(c.get("baseline"))
            for spec, time in times[case, source, hardware].items():
                if base:
                    series.setdefault(spec, base / time)
            series[c.get("variant")] = c["published"]
    return found


def kind_of(row, published):
    if row["variant"] in published:
        return "published"
    return "peer" if r.is_library(row) else "cpu" if row["backend"] == "cpu" else "cuda"


def best_case(results, op):
    """(the case's rows of one campaign, baseline's spec or None, hardware -> published speed-ups): the case with most variants on most data, claims before others, the latest campaign."""
    machine, best = select.main_machine(results), None
    series = published_speedups([c for c in results.claims if r.op_of(c) == op])
    for rows in reversed(list(results.campaigns.values())):
        timed = [row for row in rows if row["op"] == op and r.median(row) and not results.why_not_ranked(row)]
        for case, group in select.by_case([row for row in timed if results.machine(row) == machine]).items():
            specs = {row["spec"] for row in group}
            mine = [(base, found) for (where, base), found in series.items() if where == case and base in specs]
            baseline, found = max(mine, key=lambda item: sum(map(len, item[1].values())), default=(None, {}))
            rank = len({row["variant"] for row in group}) * select.weight(group[0]) * (1.5 if baseline else 1), case
            if len(specs) > 1 and (best is None or rank > best[0]):
                best = rank, group, baseline, found
    return best[1:] if best else None


def chosen_rows(rows, baseline, published, claimed):
    """The fastest tuning of each variant, the baseline and the published among them, as many as fit; slowest first. claimed: specs that claims name: of a published variant that one."""
    named = published & {row["variant"] for row in rows if row["spec"] in claimed}
    rows = [row for row in rows if row["variant"] not in named or row["spec"] in claimed]
    fastest = {(row["variant"], r.is_declared(row)): row for row in sorted(rows, key=lambda row: -r.median(row))}
    base = next((row for row in rows if row["spec"] == baseline), None)
    if base:
        fastest[base["variant"], r.is_declared(base)] = base
    rows = sorted(fastest.values(), key=r.median)
    must = [row for row in rows if row["variant"] in published or row is base]
    others = [row for row in rows if row not in must]
    kept = must[:MOST_LINES] + others[: max(MOST_LINES - len(must), 5)]
    return sorted(kept, key=lambda row: -r.median(row))


def failed_there(results, case, shown):
    rows = [row for row in results.rows if row["case"] == case and row["verdict"] in ("fail", "error")]
    there = {row["variant"] for row in select.on_main_machine(results, rows)}
    return sorted(there - {row["variant"] for row in shown})[:6]


def inputs_of(results, op):
    """variant -> (inputs it was tried on, those of them it is wrong on)."""
    tried = collections.defaultdict(lambda: (set(), set()))
    for row in results.rows:
        if row["op"] == op and row["verdict"] in ("pass", "fail", "error"):
            every, wrong = tried[row["variant"]]
            every.add(row["input"])
            if row["verdict"] != "pass":
                wrong.add(row["input"])
    return tried


def name_in(row):
    return r.name_of(row) + (f" ({row['bound']['name']})" if r.is_declared(row) else "")


class Ladder:
    """What one figure shows: rows, slowest first, and what they are compared with."""

    def __init__(self, results, op, rows, baseline, series):
        self.results, self.op, self.series = results, op, series
        claims = [c for c in results.claims if r.op_of(c) == op]
        self.published = published_programs(claims)
        claimed = {c.get(side) for c in claims for side in ("variant", "baseline")}
        self.rows = chosen_rows(rows, baseline, self.published, claimed)
        self.base = next((row for row in self.rows if row["spec"] == baseline), self.rows[0])
        self.best = min([row for row in self.rows if not r.is_declared(row)] or self.rows, key=r.median)
        self.failed, self.inputs = failed_there(results, rows[0]["case"], self.rows), inputs_of(results, op)
        self.all_inputs = set().union(*(every for every, _ in self.inputs.values()))
        share = r.share_of_limit(self.best)
        self.limit = self.gain(self.best) / share if share and share <= 1 and r.device_of(self.best) == "cuda" else None

    def gain(self, row):
        return r.median(self.base) / r.median(row)

    def apart(self):
        """Do the intervals of the best and of the baseline not overlap?"""
        best, base = (r.timing(row, "cold") for row in (self.best, self.base))
        known = all(timed.get(end) for timed in (best, base) for end in ("low", "high"))
        return known and (best["high"] < base["low"] or base["high"] < best["low"])

    def finding(self):
        best, base, gain = r.name_of(self.best), r.name_of(self.base), self.gain(self.best)
        if self.best is self.base:
            return f"nothing within the tolerance is faster than {base}"
        if not self.apart():
            return f"{best} and {base} are not told apart"
        return f"{best} is {significant(max(gain, 1 / gain))}x {'faster' if gain > 1 else 'slower'} than {base}"

    def colour(self, row):
        return KINDS[kind_of(row, self.published)][0]

    def sign(self, row):
        """Of a dot: one of SIGNS."""
        tried, wrong = self.inputs[row["variant"]]
        return "wrong" if wrong else "right" if len(tried) >= FEWEST_INPUTS else "few"

    def printed(self, row):
        """Published speed-ups of this row."""
        return [found[row["spec"]] for found in self.series.values() if row["spec"] in found and row is not self.base]


def sign_of(sign, colour):
    filled = "white" if sign == "wrong" else colour
    return {"marker": "^" if sign == "few" else "o", "ms": 6, "color": colour, "markerfacecolor": filled, "ls": ""}


def draw_row(axes, ladder, row, y):
    colour, gain, timed = ladder.colour(row), ladder.gain(row), r.timing(row, "cold")
    if timed.get("low") and timed.get("high"):
        ends = [r.median(ladder.base) / timed[end] for end in ("high", "low")]
        axes.plot(ends, [y, y], color=colour, lw=3, alpha=0.4, solid_capstyle="butt", zorder=3)
    axes.plot([gain], [y], **sign_of(ladder.sign(row), colour), zorder=4)
    for value in ladder.printed(row):
        axes.plot([value, gain], [y, y], color="#BDBDBD", lw=1.2, zorder=1)
        axes.plot([value], [y], **PRINTED, zorder=2)
    share = r.share_of_limit(row)
    tried = f"{len(ladder.inputs[row['variant']][0])}/{len(ladder.all_inputs)}"
    words = [f"{significant(gain)}x", seconds(r.median(row)), *([percent(share, 2)] if share else []), tried]
    style.beside(axes, y, "   ".join(words), fontsize=8, color="#222222")


def prepare(axes, ladder, lines):
    """Scales, ticks and names."""
    values = [*map(ladder.gain, ladder.rows), *(v for row in ladder.rows for v in ladder.printed(row))]
    values += [ladder.limit] if ladder.limit else []
    low, high = min(values) / 1.6, max(values) * 1.3
    axes.set_xlim(low, high)
    ticks = style.log_ticks(low, high)
    axes.set_xticks(ticks, [f"{tick:,g}x" for tick in ticks])
    axes.minorticks_off()
    names = [*map(name_in, ladder.rows), *map(r.name_of, ladder.failed)]
    axes.set_yticks([-k for k in range(lines)], names, fontsize=8.5)
    colours = [*map(ladder.colour, ladder.rows), *[style.FAILED] * len(ladder.failed)]
    for text, colour in zip(axes.get_yticklabels(), colours):
        text.set_color(colour)
    axes.set_ylim(-lines + 0.4, 1.2)
    axes.grid(axis="y", visible=False)
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel(
        f"times faster than {r.name_of(ladder.base)}\nat the right: time per call (cold, median), share of the limit, inputs tried of those of the op",
        fontsize=8.5,
    )


def legend_of(ladder):
    kinds = [key for key in KINDS if any(kind_of(row, ladder.published) == key for row in ladder.rows)]
    handles = [style.key(words, ms=6, color=colour) for colour, words in map(KINDS.get, kinds)]
    if any(map(ladder.printed, ladder.rows)):
        handles.append(style.key(f"published: {', '.join(ladder.series)}", **PRINTED))
    signs = {ladder.sign(row) for row in ladder.rows}
    return handles + [style.key(label, **sign_of(sign, "#444444")) for sign, label in SIGNS.items() if sign in signs]


def draw_op(ladder, out):
    lines = len(ladder.rows) + len(ladder.failed)
    figure, axes = plt.subplots(figsize=(7.6, 1.66 + 0.21 * lines))
    axes.set_xscale("log")
    for k, row in enumerate(ladder.rows):
        draw_row(axes, ladder, row, -k)
    for k in range(len(ladder.rows), lines):
        words = "failed verification here, not timed"
        style.beside(axes, -k, words, x=0.5, fontsize=8, ha="center", color=style.FAILED, annotation_clip=None)
    if ladder.limit:
        axes.axvline(ladder.limit, color="#222222", lw=1.1, ls=(0, (4, 2)), zorder=1)
        axes.annotate("limit ", (ladder.limit, 0.75), ha="right", va="center", fontsize=8, color="#222222")
    prepare(axes, ladder, lines)
    case = f"{describe(ladder.best)}, {ladder.best['input']}"
    style.head(figure, f"{ladder.finding()}: {case}", legend_of(ladder))
    picture = style.finish(figure, ladder.results, ladder.rows, out, f"ladder_{ladder.op}")
    return picture, f"Ladder of {ladder.op}: each variant over {r.name_of(ladder.base)}, published and measured; {case}"


def draw(results, out):
    pictures = []
    for op in sorted({row["op"] for row in results.rows}):
        if found := best_case(results, op):
            pictures.append(draw_op(Ladder(results, op, *found), out))
    return pictures
