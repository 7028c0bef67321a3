"""Who is fastest where: of each case the best published program, the best library and our best variant, and the input that is worst for a variant."""

import collections

from analysis import rows as r
from analysis import select
from analysis.format import count, describe, ends, percent, seconds, significant, table, times, without_empty
from analysis.report import rivals
from analysis.report.rivals import MODE, fastest, pairs_of, times_faster

MOST_BEHIND = 6
SIZES, SIZE_STEP = ("batch", "n", "rows", "cols"), 4  # sizes within that factor of one another make no second line


def claimed_cases(results):
    return {c.get(key) for c in results.claims for key in ("case", "baseline_case")}


def headline(results, found):
    """The case that a page shows first: of those that claims are about the one with most variants on most data, else of all."""
    claimed = claimed_cases(results)

    def rank(case):
        some = found[case]
        variants = len({row["variant"] for row in some.rows})
        weight = variants * select.weight(some.row) * (1.5 if case in claimed else 1)
        return (some.ours is not None) + bool(some.rivals), weight, case

    return max(found, key=rank, default=None)


def worst_input(results, row):
    """ "fails on nan (3 cases)", or the input with the largest error of the variant over its tolerance."""
    mine = [
        other for other in results.rows if other["spec"] == row["spec"] and r.is_declared(other) == r.is_declared(row)
    ]
    wrong = collections.Counter(other["input"] for other in mine if other["verdict"] in ("fail", "error"))
    if wrong:
        most = sorted(wrong.items(), key=lambda item: (-item[1], item[0]))[:3]
        return "**fails** on " + ", ".join(f"{name} ({count})" for name, count in most) + ", ..." * (len(wrong) > 3)
    passed = [(r.worst_ratio(other), other["input"]) for other in mine if other["verdict"] == "pass"]
    worst, name = max((pair for pair in passed if pair[0] is not None), default=(None, ""))
    vague = sorted({name for other in mine for name in r.unjudged(other)})
    text = f"{name}: {significant(worst, 2)} of the tolerance" if worst else "-" if worst is None else "exact on all"
    return text + (f" (not judgeable: {', '.join(vague)})" if vague else "")


def case_words(row, *swept):
    """ "mean, n = 1e8, window = 3000, f64, ramp": without the op, which the page is about, and without the parameters that are swept."""
    return f"{describe(row, *swept)}, {row['input']}".removeprefix(row["op"]).lstrip(" ,")


def bound_words(row):
    return f" (`{row['bound']['name']}`)" if r.is_declared(row) else ""


def name_words(row):
    return f"`{r.name_of(row)}`{bound_words(row)}"


def library_words(row):
    """ "`peer_torch` (`updating`), torch 2.11.0": with the version that was run, where it is known."""
    return name_words(row) + (f", {row['whose']}" if row.get("whose") else "")


def cell(*rows):
    words = (f"{name_words(row)} {seconds(r.median(row, MODE))}" for row in rows if row)
    return "; ".join(words) or "-"


def our_cell(some):
    if not some.later:
        return cell(some.ours)
    same = some.ours and name_words(some.ours) == name_words(some.later)
    return f"{cell(some.ours)} ({seconds(r.median(some.later, MODE)) if same else cell(some.later)} in a later run)"


def over(mine, *theirs):
    return "; ".join(str(times_faster(row, mine)) for row in theirs if row and mine) or "-"


def largest(results, op):
    """Our row of most data."""
    mine = (some.ours for some in rivals.latest(results, op).values() if some.ours)
    return max(mine, key=lambda row: (r.work_bytes(row) or 0, -r.median(row, MODE)), default=None)


def gain(mine, theirs):
    """ "4.92x ±1% (`peer_torch`)": the fastest of all, then the fastest within the op's own tolerance; their times where there is none of ours."""
    if not mine:
        return cell(*theirs)
    return "; ".join(f"{times_faster(row, mine)} ({name_words(row)})" for row in theirs) or "-"


def fastest_table(results, by_machine, most):
    """Of each op the cases with most to compare, on each machine: ours, its share of the limit, and how many times as fast as the best rivals it is.
    by_machine: name -> op -> standings."""
    machines, lines = list(by_machine), []
    for op, first in next(iter(by_machine.values()), {}).items():
        for case in chosen(results, first, most):
            cells = []
            for found in by_machine.values():
                some = found[op].get(case)
                mine = some and some.ours
                cells += [
                    f"{cell(mine)}, {percent(r.share_of_limit(mine, MODE))}" if mine else "-",
                    gain(mine, some.theirs("published") if some else ()),
                    gain(mine, some.theirs("library") if some else ()),
                ]
            if any(some[op][case].rivals for some in by_machine.values() if case in some[op]):
                lines.append([op, case_words(first[case].row), *cells])
    if not lines:
        return "Nothing was timed."
    of = [f" ({name})" if len(machines) > 1 else "" for name in machines]
    header = [
        words
        for name in of
        for words in (f"ours, of the limit{name}", f"over published{name}", f"over libraries{name}")
    ]
    note = f"Cold calls{f' on {machines[0]}' if len(machines) == 1 else ''}. A bracketed tolerance is looser than the op's, whose fastest follows; **bold**: we are behind; *italic*: intervals overlap."
    return f"{note}\n\n{table(['op', 'case', *header], lines)}"


def tally(ratios):
    """ "15 of 16, by 1.49x to 382x": in how many cases ours is the fastest, intervals apart."""
    ahead = [ratio.value for _, ratio in ratios if ratio.side == 1]
    by = f", by {ends(ahead, times)}" if ahead else ""
    return f"{len(ahead)} of {len(ratios)}{by}" if ratios else "-"


def behind(found):
    """Of each op in how many cases ours is the fastest, and where it is not: first those where it is behind."""
    lines = []
    for op, some in found.items():
        ratios, on_cpu = against_libraries(some), against_cpu_libraries(some)
        others = sorted((ratio for _, ratio in ratios + on_cpu if ratio.side < 1), key=lambda ratio: ratio.side)
        if ratios or on_cpu:
            words = [f"**{beside_rival(one, True)}**" if one.side < 0 else beside_rival(one, False) for one in others]
            most = min(max(1, sum(one.side < 0 for one in others)), 3)
            more = f"; and {len(words) - most} more" if len(words) > most else ""
            lines.append([op, tally(ratios), tally(on_cpu), "; ".join(words[:most]) + more or "-"])
    header = ["op", "ahead of all libraries", "of CPU libraries, on the same cores", "overlapping, or **behind**"]
    return table(header, lines) if lines else "No library was timed beside a variant of ours."


def wrong_libraries(results):
    """What is missing among the rivals because its results are not right."""
    wrong = [row for row in results.rows if row["verdict"] == "fail" and r.is_library(row)]
    found = r.grouped(wrong, lambda row: (row.get("whose") or r.name_of(row), row["dtype"]))
    words = [
        f"{name} ({dtype} {', '.join(sorted({row['input'] for row in rows}))})"
        for (name, dtype), rows in sorted(found.items())
    ]
    return f"No rivals where they failed verification: {', '.join(words)}." if words else ""


def shown_first(results, found):
    """Cases in the order of a page: those with most to compare, of them those with most variants on most data; one of a claim counts half as much again."""
    claimed = claimed_cases(results)

    def place(case):
        some = found[case]
        weight = len(some.rows) * select.weight(some.row) * (1.5 if case in claimed else 1)
        return -len(some.rivals) - (some.ours is not None), -weight, case

    return sorted((case for case, some in found.items() if some.ours or some.rivals), key=place)


def tells_nothing_new(row, before):
    """Does a case take as long as one before it, as far as sizes tell? Same parameters but for sizes within a factor of SIZE_STEP; other data, or another reference."""

    def shape(case):
        params = {name: value for name, value in (case.get("params") or {}).items() if name != "reference"}
        sizes = {name: value for name, value in params.items() if name in SIZES and isinstance(value, (int, float))}
        return {name: value for name, value in params.items() if name not in sizes}, sizes, case.get("dtype")

    words, sizes, dtype = shape(row)

    def is_near(there):
        return all(max(sizes[name], there[name]) < SIZE_STEP * min(sizes[name], there[name]) for name in sizes)

    shapes = map(shape, before)
    return any((w, d, there.keys()) == (words, dtype, sizes.keys()) and is_near(there) for w, there, d in shapes)


def chosen(results, found, most):
    """The cases of a short table: none that says what one before it says."""
    cases = []
    for case in shown_first(results, found):
        if len(cases) < most and not tells_nothing_new(found[case].row, [found[other].row for other in cases]):
            cases.append(case)
    return cases


def case_table(results, found, most=None):
    """Cases x (published best, library best, ours, share of the limit, worst input); of rivals the fastest, and the fastest within the op's own tolerance. most: that many, as unlike as can be; None: all."""
    lines = []
    for case in chosen(results, found, most) if most else shown_first(results, found):
        some = found[case]
        published, libraries = some.theirs("published"), some.theirs("library")
        lines.append(
            [
                case_words(some.row),
                cell(*published),
                cell(*libraries),
                our_cell(some),
                over(some.ours, *published),
                over(some.ours, *libraries),
                percent(r.share_of_limit(some.ours, MODE) if some.ours else None),
                worst_input(results, some.ours) if some.ours else "-",
            ]
        )
    header = (
        "case|published best|library best|ours best|>over published|>over library|>of the limit|worst input of ours"
    )
    return table(*without_empty(header.split("|"), lines)) if lines else ""


def sweep_groups(found):
    """(parameters, cases in order): cases that differ in a size or two only, where a library was timed; those that compare most come first."""
    with_library = [some.row for some in found.values() if pairs_of(some)]
    groups, seen, chosen = [], set(), []
    names = {name for row in with_library for name, value in row["params"].items() if isinstance(value, (int, float))}
    shapes = [swept for swept in (select.SHAPE, ("rows", "cols")) if set(swept) <= names]
    for swept in [*((name,) for name in sorted(names)), *shapes]:
        for rows in select.groups([row for row in with_library if select.value_of(row, swept)], *swept).values():
            if len(rows) >= 2:
                rows = sorted(rows, key=lambda row: select.value_of(row, swept))
                groups.append((swept, [row["case"] for row in rows]))

    def place(group):
        libraries = sum(len(peers_of(found, [case])) for case in group[1])
        return -libraries, -sum(select.weight(found[case].row) for case in group[1]), len(group[0])

    for swept, cases in sorted(groups, key=place):
        if not set(cases) <= seen:
            chosen.append((swept, cases))
            seen |= set(cases)
    return chosen


def fullest(found, cases, most):
    """At most so many of them, in their order: those that most libraries were timed in; of as many, those further apart."""
    if not most or len(cases) <= most:
        return cases
    apart = {case: (k * most) % len(cases) for k, case in enumerate(cases)}
    chosen = sorted(cases, key=lambda case: (-len(peers_of(found, [case])), apart[case]))[:most]
    return [case for case in cases if case in chosen]


def peers_of(found, cases):
    return sorted({name for case in cases for name in pairs_of(found[case])})


def value_words(row, swept):
    return " x ".join(count(row["params"][name]) for name in swept)


def peer_table(found, swept, cases, most=None):
    """Libraries x sizes: how many times faster our best variant of the same campaign is there."""
    cases = fullest(found, cases, most)
    values = [value_words(found[case].row, swept) for case in cases]
    header = ["library", f">{' x '.join(swept)} = {values[0]}", *(f">{value}" for value in values[1:])]
    pairs = [pairs_of(found[case]) for case in cases]
    return table(header, [[name, *(str(some.get(name, "-")) for some in pairs)] for name in peers_of(found, cases)])


def against_libraries(found):
    """[(case, Ratio)]: ours beside the library that comes closest to it, or is ahead of it, whatever its tolerance."""
    pairs = {case: pairs_of(some, published=False) for case, some in found.items()}
    return [(case, min(some.values(), key=lambda ratio: ratio.value)) for case, some in pairs.items() if some]


def against_cpu_libraries(found):
    """The same on the same cores: our fastest variant for the CPU beside the fastest library there, of the latest campaign that has both."""
    lines = []
    for case, some in found.items():
        for other in some.others:
            on_cpu = [row for row in other.rows if r.device_of(row) == "cpu"]
            ratio = times_faster(
                fastest([row for row in on_cpu if r.is_library(row) and row["variant"] not in some.programs]),
                fastest([row for row in on_cpu if row["backend"] == "cpu" and not r.is_declared(row)]),
            )
            if ratio:
                lines.append((case, ratio))
                break
    return lines


def beside_rival(ratio, is_lost):
    by = f"{times_faster(ratio.mine, ratio.theirs)} faster than `{r.name_of(ratio.mine)}`" if is_lost else str(ratio)
    return f"{case_words(ratio.mine)} ({library_words(ratio.theirs)}, {by})".replace("*", "")


def some_of(ratios, most, is_lost=False):
    more = f"; and {len(ratios) - most} more" if len(ratios) > most else ""
    return "; ".join(beside_rival(ratio, is_lost) for ratio in ratios[:most]) + more


def standing_text(ratios, what, most):
    """One or more sentences: in how many cases ours is ahead, where the intervals overlap, and where it is behind."""
    ordered = sorted(ratios, key=lambda item: (item[1].value, item[0]))
    ahead, level, lost = ([ratio for _, ratio in ordered if ratio.side == side] for side in (1, 0, -1))
    where = f"{len(ahead)} of {len(ratios)} cases" if level or lost else f"all {len(ratios)} cases"
    text = (
        f"ours is the fastest in {where if len(ratios) > 1 or level or lost else 'the case'} that a {what} was timed in"
    )
    if ahead:
        text += f", by {ends([ratio.value for ratio in ahead], times)}, intervals apart"
    text += "."
    if level:
        text += f" *Not told apart*, intervals overlapping, at {some_of(level, most)}."
    if lost:
        text += f" **Behind** at {some_of(lost, most, is_lost=True)}."
    return text


def cpu_text(found, most=MOST_BEHIND):
    """Ours beside libraries on the same cores; nothing where none was timed."""
    ratios = against_cpu_libraries(found)
    return " On the same cores " + standing_text(ratios, "CPU library", most) if ratios else ""


def behind_text(found, most=MOST_BEHIND):
    ratios = against_libraries(found)
    text = standing_text(ratios, "library", most) if ratios else "no library was timed beside a variant of ours."
    return text[0].upper() + text[1:]
