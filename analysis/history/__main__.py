"""rungs report --history: each case over commits, with the commits at which its time changed -> a page and its figures.

Exit codes: 0 written, 2 unusable results, 3 nothing was measured at two commits, 4 no place to write.
"""

import os
import pathlib
import re
import sys
from statistics import median

from analysis.arguments import Parser
from analysis.foreign import markdown, terminal
from analysis.format import cell, change, details, machine_text, many, seconds, table
from analysis.history import changes
from analysis.output import ends, run, write_whole
from analysis.rows import grouped
from plots import figures_history

MOST_FIGURES = 60  # of cases without a change
MOST_LINES, MOST_NAMES, MOST_LETTERS = 30, 4, 72  # of a commit's table; of variants or cases in a cell; of a subject
ROOT = pathlib.Path(__file__).resolve().parents[2]


@ends
def main(words=None):
    parser = Parser(prog="rungs report")
    parser.add_argument("results", nargs="+", help="files of rows, or folders of them")
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--figures", type=pathlib.Path, required=True)
    parser.add_argument("--repository", type=pathlib.Path, default=ROOT, help="of the commits")
    args = parser.parse_args(words)
    history, all_series, together = changes.marked(args.results, args.repository)
    if not all_series:
        print("no case was measured at two commits on one kind of machine", file=sys.stderr)
        return 3
    figures = figures_of(all_series)
    write_whole(args.out, page(history, all_series, together, figures, args), folders=True, begins="# History\n")
    for group in figures:
        figures_history.draw(history, group, args.figures)
    for warning in history.warnings:
        print(terminal(warning), file=sys.stderr)
    return 0


def figures_of(all_series):
    """The series of each case on a machine, those with the largest change first; of those without one only so many."""
    groups = grouped(all_series, lambda series: (series.machine, series.row["case"]))
    ordered = sorted(groups.values(), key=lambda group: -max(series.biggest() for series in group))
    changed = sum(any(series.bounds for series in group) for group in ordered)
    return ordered[: max(changed, MOST_FIGURES)]


def page(history, all_series, together, figures, args):
    parts = ["# History", summary(history, all_series), *changes_by_commit(history, all_series, together)]
    cases = len({(series.machine, series.row["case"]) for series in all_series})
    for where in dict.fromkeys(group[0].machine for group in figures):
        parts.append(f"## {markdown(machine_text(where))}")
        for group in figures:
            if group[0].machine == where:
                path, text, left = figures_history.described(history, group, args.figures)
                link = os.path.relpath(path, args.out.resolve().parent).replace(os.sep, "/")
                more = f"\n\n{many(left, 'variant')} without a larger change not drawn." if left else ""
                parts.append(f"`{markdown(group[0].row['case'])}`\n\n![{markdown(text)}]({link}){more}")
    if cases > len(figures):
        parts.append(f"{many(cases - len(figures), 'case')} without a change not drawn.")
    return "\n\n".join(part for part in parts if part) + "\n"


def changes_by_commit(history, all_series, together):
    """A line for each commit with a change, the newest first; then what changed at each."""
    machines, variants = {}, {}
    for one in together:
        for start, ratio in one.steps():
            machines.setdefault(one.order[start], []).append((ratio, one.machine))
    for series in all_series:
        for index, ratio in series.steps():
            variants.setdefault(series.points[index].commit, []).append((ratio, series, index))
    lines, parts = [], []
    for name in reversed(history.order):
        subject = subject_of(history, name)
        for ratio, machine in machines.get(name, ()):
            lines.append((name, f"**{change(ratio)}**", f"all series of {markdown(machine_text(machine))}", subject))
        if found := sorted(variants.get(name, ()), key=lambda item: -max(item[0], 1 / item[0])):
            changes = f"**{ratios_text([ratio for ratio, *_ in found])}**"
            lines.append((name, changes, cases_text([series.row for _, series, _ in found]), subject))
            listed = table_of([line(series, index, ratio) for ratio, series, index in found])
            parts += [f"### {name}{'' if subject == '-' else ' ' + cell(subject)}", listed]
    if lines:
        yield f"{many(len(machines.keys() | variants.keys()), 'commit')} with a change, the newest first:\n\n" + table(
            ["commit", "change", "of", "subject"], lines
        )
    if machines:
        yield "All series of a machine: the machine, its settings, or what all variants share. Changes of single variants are relative to them."
    if not variants:
        yield "No change was found in a single variant."
    yield from parts


def subject_of(history, name):
    known = history.commits.get(name)
    subject = known.subject if known else ""
    subject = subject if len(subject) <= MOST_LETTERS else subject[: MOST_LETTERS - 1] + "…"
    return re.sub(r"([\\`*_\[\]#~])", r"\\\1", subject) or "-"


def ratios_text(ratios):
    """+7.0%; +6.8% to +7.2%; slower and faster ones apart."""
    sides = [sorted(ratio for ratio in ratios if (ratio > 1) == slower) for slower in (True, False)]
    return ", ".join(" to ".join(dict.fromkeys((change(side[0]), change(side[-1])))) for side in sides if side)


def cases_text(rows):
    """`rolling/cuda_shared` on `CASE`, `CASE`: variants that changed on the same cases stand together."""
    cases, variants = {}, {}
    for row in rows:
        cases.setdefault(markdown(row["spec"]), {})[markdown(row["case"])] = None
    for spec, names in cases.items():
        variants.setdefault(tuple(sorted(names)), []).append(spec)
    words = [(some(f"`{s}`" for s in specs), some(f"`{case}`" for case in names)) for names, specs in variants.items()]
    return some((f"{specs} on {names}" for specs, names in words), "; ")


def some(names, between=", "):
    names = list(names)
    more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    return between.join(names[:MOST_NAMES]) + more


def table_of(rows):
    header = ["change", "after", ">before", ">since", ">SM clock", "variant", "mode", "case", "machine"]
    more = "\n\n" + details("the others", table(header, rows[MOST_LINES:])) if len(rows) > MOST_LINES else ""
    return table(header, rows[:MOST_LINES]) + more


def summary(history, all_series):
    short = sum(len(s.points) < changes.LEAST_POINTS for s in all_series)
    text = (
        f"{many(len(all_series), 'series', 'series')} (machine, case, variant) over {many(len(history.order), 'commit')}, from {history.order[0]} to {history.order[-1]}. "
        "A dot is a commit: the median of its processes; the bar is their range (of one process: the 95% interval of its median). Lines are levels; "
        f"a level that differs from the one before by {100 * changes.MIN_EFFECT:g}% or more and lasts {changes.LEAST_SEGMENT} commits is marked where it begins."
    )
    unknown = [name for name in history.order if name not in history.commits]
    if unknown:
        text += f" The project's git does not know {some(unknown)}: placed by the date of the first run."
    if short:
        text += f" In {many(short, 'series', 'series')} of fewer than {changes.LEAST_POINTS} commits nothing is marked."
    return text


def line(series, index, ratio):
    """One row of the table; the clocks are those of the levels, for a kernel that follows its clock did not change."""
    edges = [0, *series.bounds, len(series.points)]
    k = edges.index(index)
    before, since = series.points[edges[k - 1] : index], series.points[index : edges[k + 1]]
    clocks = [[p.mhz for p in points if p.mhz] for points in (before, since)]
    clock = change(median(clocks[1]) / median(clocks[0])) if all(clocks) else "-"
    return (
        f"**{change(ratio)}**",
        series.points[index - 1].commit,
        seconds(median(p.seconds for p in before)),
        seconds(median(p.seconds for p in since)),
        clock,
        f"`{markdown(series.row['spec'])}`",
        series.mode,
        f"`{markdown(series.row['case'])}`",
        markdown(machine_text(series.machine)),
    )


if __name__ == "__main__":
    sys.exit(run(main))
