"""Who is fastest where: of each case the best published program, the best library and our best variant, and the input that is worst for a variant."""

import collections

from analysis import rows as r
from analysis import select
from analysis.format import count, describe, many, percent, seconds, significant, table, without_empty
from analysis.report.rivals import MODE, fastest, is_library, pairs_of, standings, times_faster

MOST_BEHIND = 6
SIZES, SIZE_STEP = ("batch", "n", "rows", "cols"), 4  # sizes within that factor of one another make no second line


def claimed_cases(results):
    return {c.get(key) for c in results.claims for key in ("case", "baseline_case")}


def headline(results, op, found=None):
    """The case that a page shows first: of those that claims are about the one with most variants on most data, else of all."""
    found = standings(results, op) if found is None else found
    claimed = claimed_cases(results)

    def rank(case):
        some = found[case]
        comparable = (some.ours is not None) + bool(some.rivals)
        return (
            comparable,
            len({row["variant"] for row in some.rows}) * select.weight(some.row) * (1.5 if case in claimed else 1),
            case,
        )

    return max(found, key=rank, default=None)


def worst_input(results, row):
    """ "fails on nan (3 cases)", or the input with the largest error of the variant over its tolerance."""
    mine = [
        other for other in results.rows if other["spec"] == row["spec"] and r.is_declared(other) == r.is_declared(row)
    ]
    wrong = collections.Counter(other["input"] for other in mine if other["verdict"] in ("fail", "error"))
    if wrong:
        return (
            "**fails** on "
            + ", ".join(
                f"{name} ({count})" for name, count in sorted(wrong.items(), key=lambda item: (-item[1], item[0]))[:3]
            )
            + (", ..." if len(wrong) > 3 else "")
        )
    known = [
        (r.worst_ratio(other), other["input"])
        for other in mine
        if other["verdict"] == "pass" and r.worst_ratio(other) is not None
    ]
    vague = sorted({name for other in mine for name in r.unjudged(other)})
    text = (
        f"{max(known)[1]}: {significant(max(known)[0], 2)} of the tolerance"
        if known and max(known)[0] > 0
        else "exact on all"
        if known
        else "-"
    )
    return text + (f" (not judgeable: {', '.join(vague)})" if vague else "")


def case_words(row):
    """ "mean, n = 1e8, window = 3000, f64, ramp": without the op, which the page is about."""
    return f"{describe(row)}, {row['input']}".removeprefix(row["op"]).lstrip(" ,")


def case_words_without(row, swept):
    """The same without the parameters that are swept."""
    return f"{describe(row, *swept)}, {row['input']}".removeprefix(row["op"]).lstrip(" ,")


def bound_words(row):
    return f" (`{row['bound']['name']}`)" if r.is_declared(row) else ""


def cell(*rows):
    return (
        "; ".join(f"`{r.name_of(row)}`{bound_words(row)} {seconds(r.median(row, MODE))}" for row in rows if row) or "-"
    )


def our_cell(some):
    return cell(some.ours) + (f" ({seconds(r.median(some.later, MODE))} in a later run)" if some.later else "")


def over(mine, *theirs):
    return "; ".join(str(times_faster(row, mine)) for row in theirs if row and mine) or "-"


def shown_first(results, found):
    """Cases in the order of a page: those with most to compare, of them those with most variants on most data; one of a claim counts half as much again."""
    claimed = claimed_cases(results)
    return sorted(
        found,
        key=lambda case: (
            -len(found[case].rivals) - (found[case].ours is not None),
            -len(found[case].rows) * select.weight(found[case].row) * (1.5 if case in claimed else 1),
            case,
        ),
    )


def tells_nothing_new(row, before):
    """Does a case take as long as one before it, as far as sizes tell? Same parameters but for sizes within a factor of SIZE_STEP; other data, or another reference."""

    def shape(case):
        params = {name: value for name, value in (case.get("params") or {}).items() if name != "reference"}
        sizes = {name: value for name, value in params.items() if name in SIZES and isinstance(value, (int, float))}
        return {name: value for name, value in params.items() if name not in sizes}, sizes, case.get("dtype")

    words, sizes, dtype = shape(row)
    alike = [
        there
        for same, there, other in map(shape, before)
        if (same, other, there.keys()) == (words, dtype, sizes.keys())
    ]
    return any(
        all(max(sizes[name], there[name]) < SIZE_STEP * min(sizes[name], there[name]) for name in sizes)
        for there in alike
    )


def chosen(results, found, most):
    """The cases of a short table: none that says what one before it says."""
    cases = []
    for case in shown_first(results, found):
        if (
            len(cases) < most
            and (found[case].ours or found[case].rivals)
            and not tells_nothing_new(found[case].row, [found[other].row for other in cases])
        ):
            cases.append(case)
    return cases


def case_table(results, found, most=None):
    """Cases x (published best, library best, ours, share of the limit, worst input); of rivals the fastest, and the fastest within the op's own tolerance. most: that many, as unlike as can be; None: all."""
    order = (
        chosen(results, found, most)
        if most
        else [case for case in shown_first(results, found) if found[case].ours or found[case].rivals]
    )
    lines = []
    for case in order:
        some = found[case]
        share = results.fraction(some.ours, MODE) if some.ours else None
        published, libraries = some.theirs("published"), some.theirs("library")
        lines.append(
            [
                case_words(some.row),
                cell(*published),
                cell(*libraries),
                our_cell(some),
                over(some.ours, *published),
                over(some.ours, *libraries),
                percent(share) + (" (!)" if share and share > 1 else ""),
                worst_input(results, some.ours) if some.ours else "-",
            ]
        )
    header = [
        "case",
        "published best",
        "library best",
        "ours best",
        ">over published",
        ">over library",
        ">of the limit",
        "worst input of ours",
    ]
    return table(*without_empty(header, lines)) if lines else ""


def sweep_groups(found):
    """(parameters, cases in order): cases that differ in a size or two only, where a library was timed; those that compare most come first."""
    with_library = [some.row for some in found.values() if pairs_of(some)]
    groups, seen = [], set()
    names = sorted(
        {name for row in with_library for name, value in row["params"].items() if isinstance(value, (int, float))}
    )
    candidates = (
        [(name,) for name in names]
        + ([select.SHAPE] if set(select.SHAPE) <= set(names) else [])
        + ([("rows", "cols")] if {"rows", "cols"} <= set(names) else [])
    )
    for swept in candidates:
        for rows in select.groups([row for row in with_library if select.value_of(row, swept)], *swept).values():
            if len(rows) >= 2:
                groups.append(
                    (
                        swept,
                        sorted((row["case"] for row in rows), key=lambda case: select.value_of(found[case].row, swept)),
                    )
                )
    groups.sort(
        key=lambda group: (
            -sum(len(peers_of(found, [case])) for case in group[1]),
            -sum(select.weight(found[case].row) for case in group[1]),
            len(group[0]),
        )
    )
    chosen = []
    for swept, cases in groups:
        if not set(cases) <= seen:
            chosen.append((swept, cases))
            seen |= set(cases)
    alone = [row["case"] for row in with_library if row["case"] not in seen]
    return chosen, alone


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
    header = [
        "library",
        *(
            f">{' x '.join(swept)} = {value_words(found[case].row, swept)}"
            if k == 0
            else f">{value_words(found[case].row, swept)}"
            for k, case in enumerate(cases)
        ),
    ]
    return table(
        header,
        [[name, *(str(pairs_of(found[case]).get(name, "-")) for case in cases)] for name in peers_of(found, cases)],
    )


def against_libraries(found):
    """[(case, Ratio)]: ours beside the library that comes closest to it, or is ahead of it, whatever its tolerance."""
    return [
        (case, min(pairs.values(), key=lambda ratio: ratio.value))
        for case, pairs in ((case, pairs_of(some, published=False)) for case, some in found.items())
        if pairs
    ]


def against_cpu_libraries(found):
    """The same on the same cores: our fastest variant for the CPU beside the fastest library there, of the latest campaign that has both."""
    lines = []
    for case, some in found.items():
        for other in some.others:
            on_cpu = [row for row in other.rows if r.device_of(row) == "cpu"]
            ratio = times_faster(
                fastest([row for row in on_cpu if is_library(row) and row["variant"] not in some.programs]),
                fastest([row for row in on_cpu if row["backend"] == "cpu" and not r.is_declared(row)]),
            )
            if ratio:
                lines.append((case, ratio))
                break
    return lines


def lost_to(ratio):
    return f"{case_words(ratio.mine)} (`{r.name_of(ratio.theirs)}`{bound_words(ratio.theirs)}, {times_faster(ratio.mine, ratio.theirs)} faster than `{r.name_of(ratio.mine)}`)".replace(
        "*", ""
    )


def level_with(ratio):
    return f"{case_words(ratio.mine)} (`{r.name_of(ratio.theirs)}`{bound_words(ratio.theirs)}, {ratio})".replace(
        "*", ""
    )


def some_of(lines, most):
    return "; ".join(lines[:most]) + (f"; and {len(lines) - most} more" if len(lines) > most else "")


def standing_text(ratios, what, most):
    """One or more sentences: in how many cases ours is ahead, where the intervals overlap, and where it is behind."""
    ordered = sorted(ratios, key=lambda item: (item[1].value, item[0]))
    ahead, level, lost = ([ratio for _, ratio in ordered if ratio.side == side] for side in (1, 0, -1))
    where = (
        f"{len(ahead)} of {len(ratios)} cases"
        if len(ahead) < len(ratios)
        else f"all {len(ratios)} cases"
        if len(ratios) > 1
        else "the case"
    )
    between = (
        " to ".join(f"{significant(value)}x" for value in dict.fromkeys((ahead[0].value, ahead[-1].value)))
        if ahead
        else ""
    )
    text = (
        f"ours is the fastest in {where} that a {what} was timed in"
        + (f", by {between}, intervals apart" if ahead else "")
        + "."
    )
    if level:
        text += f" *Not told apart*, intervals overlapping, at {some_of(list(map(level_with, level)), most)}."
    if lost:
        text += f" **Behind** at {some_of(list(map(lost_to, lost)), most)}."
    return text


def cpu_text(found, most=MOST_BEHIND):
    """Ours beside libraries on the same cores; nothing where none was timed."""
    ratios = against_cpu_libraries(found)
    return " On the same cores " + standing_text(ratios, "CPU library", most) if ratios else ""


def behind_text(found, most=MOST_BEHIND):
    ratios = against_libraries(found)
    text = standing_text(ratios, "library", most) if ratios else "no library was timed beside a variant of ours."
    return text[0].upper() + text[1:]


def wrong_inputs(results, op):
    """[(variant, Counter of inputs, its backend)] of variants with a failed or crashed row, within the op's own tolerance; most failures first."""
    found = collections.defaultdict(collections.Counter)
    backend = {}
    for row in results.rows:
        if row["op"] == op and row["verdict"] in ("fail", "error"):
            found[r.name_of(row)][row["input"]] += 1
            backend[r.name_of(row)] = row["backend"]
    return sorted(
        ((name, inputs, backend[name]) for name, inputs in found.items()),
        key=lambda item: (-sum(item[1].values()), item[0]),
    )
