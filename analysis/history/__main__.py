"""rungs report --history: each case over commits, with the commits at which its time changed -> a page and its figures.

Exit codes: 0 written, 2 unusable results, 3 nothing was measured at two commits, 4 no place to write.
"""
import math
import os
import pathlib
import sys
from statistics import median

from analysis.arguments import Parser
from analysis.format import change, details, machine_text, many, seconds, table
from analysis.history import changes, shared_steps
from analysis.history.series import History, files
from analysis.output import ends, run, spare, write_whole
from plots import figures_history


MOST_FIGURES = 60  # of cases without a change


@ends
def main(words=None):
    parser = Parser(prog="rungs report")
    parser.add_argument("results", nargs="+", help="files of rows, or folders of them")
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--figures", type=pathlib.Path, required=True)
    args = parser.parse_args(words)
    spare(args.out, files(args.results))
    history = History(args.results)
    told = [s for s in history.series if len(s.points) >= 2]
    if not told:
        print("no case was measured at two commits on one kind of machine", file=sys.stderr)
        return 3
    together = shared_steps.find_changes(told, history.order)
    figures = figures_of(told)
    args.out.parent.mkdir(parents=True, exist_ok=True)
    write_whole(args.out, page(history, told, together, figures, args))  # first: figures take longer
    for group in figures:
        figures_history.draw(history, group, args.figures)
    for warning in history.warnings:
        print(warning, file=sys.stderr)
    return 0


def figures_of(told):
    """The series of each case on a machine, those with the largest change first; of those without one only so many."""
    groups = {}
    for series in told:
        groups.setdefault((series.machine, series.row["case"]), []).append(series)
    ordered = sorted(groups.values(), key=lambda group: -max(map(figures_history.biggest, group)))
    changed = sum(any(series.bounds for series in group) for group in ordered)
    return ordered[:max(changed, MOST_FIGURES)]


def page(history, told, together, figures, args):
    parts = ["# History", summary(history, told), told_of_machines(together), table_of_changes(told, figures_history.steps)]
    cases = len({(series.machine, series.row["case"]) for series in told})
    for where in dict.fromkeys(group[0].machine for group in figures):
        parts.append(f"## {machine_text(where)}")
        for group in figures:
            if group[0].machine == where:
                path, text, left = figures_history.described(history, group, args.figures)
                link = os.path.relpath(path, args.out.resolve().parent).replace(os.sep, "/")
                more = f"\n\n{many(left, 'variant')} without a larger change not drawn." if left else ""
                parts.append(f"`{group[0].row['case']}`\n\n![{text}]({link}){more}")
    if cases > len(figures):
        parts.append(f"{many(cases - len(figures), 'case')} without a change not drawn.")
    return "\n\n".join(part for part in parts if part) + "\n"


def told_of_machines(together):
    """Steps that the series of a machine take together are none of a variant's."""
    lines = []
    for one in together:
        for start, ratio in figures_history.steps_between(one.factors, one.bounds):
            lines.append((f"**{change(ratio)}**", one.order[start], one.order[start - 1], machine_text(one.machine)))
    if not lines:
        return ""
    return ("Steps that the series of a machine take together: the machine, its settings, or what all variants share. Changes of single variants, below, are "
            "relative to them.\n\n" + table(["all series", "at commit", "after", "machine"], lines))


def summary(history, told):
    short = sum(len(s.points) < changes.LEAST_POINTS for s in told)
    text = (f"{many(len(told), 'series', 'series')} (machine, case, variant) over {many(len(history.order), 'commit')}, from {history.order[0]} to {history.order[-1]}. "
            "A dot is a commit: the median of its processes; the bar is their range (of one process: the 95% interval of its median). Lines are levels; "
            f"a level that differs from the one before by {100 * changes.MIN_EFFECT:g}% or more and lasts {changes.LEAST_SEGMENT} commits is marked where it begins.")
    return text + (f" In {many(short, 'series', 'series')} of fewer than {changes.LEAST_POINTS} commits nothing is marked." if short else "")


def table_of_changes(told, steps_of):
    lines = []
    for series in told:
        for index, ratio in steps_of(series):
            lines.append((abs(math.log(ratio)), line(series, index, ratio)))
    if not lines:
        return "No change was found in a single variant."
    rows = [row for _, row in sorted(lines, key=lambda item: -item[0])]
    header = ["change", "at commit", "after", ">before", ">since", ">SM clock", "variant", "mode", "case", "machine"]
    return f"{many(len(rows), 'change')}, the largest first:\n\n" + (table(header, rows) if len(rows) <= 30 else
                                                                     table(header, rows[:30]) + "\n\n" + details("the others", table(header, rows[30:])))


def line(series, index, ratio):
    """One row of the table; the clocks are those of the levels, for a kernel that follows its clock did not change."""
    edges = [0, *series.bounds, len(series.points)]
    k = edges.index(index)
    before, since = series.points[edges[k - 1]:index], series.points[index:edges[k + 1]]
    clocks = [[p.mhz for p in points if p.mhz] for points in (before, since)]
    clock = change(median(clocks[1]) / median(clocks[0])) if all(clocks) else "-"
    return (f"**{change(ratio)}**", series.points[index].commit, series.points[index - 1].commit, seconds(median(p.seconds for p in before)),
            seconds(median(p.seconds for p in since)), clock, f"`{series.row['spec']}`", series.mode, f"`{series.row['case']}`", machine_text(series.machine))


if __name__ == "__main__":
    sys.exit(run(main))
