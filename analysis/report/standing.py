"""Who is fastest where: of each case the best published program, the best library and our best variant, and the input that is worst for a variant."""
import collections
import dataclasses

from analysis import rows as r
from analysis import select
from analysis.claim_text import PUBLISHED_PROGRAMS
from analysis.format import count, describe, many, percent, seconds, significant, table, without_empty

MOST_BEHIND = 6
MODE = "cold"
SIZES, SIZE_STEP = ("batch", "n", "rows", "cols"), 4  # sizes within that factor of one another make no second line


@dataclasses.dataclass
class Standing:
    """Of one case the fastest rows; None where nothing of the kind was timed."""
    rows: list
    published: dict | None
    library: dict | None
    ours: dict | None

    @property
    def row(self):
        return self.rows[0]

    @property
    def rivals(self):
        return [row for row in (self.published, self.library) if row]


def published_variants(results):
    """Variants that claims are about as a published program, or its reimplementation, and what their speed-ups are over."""
    specs = {spec for c in results.claims if c.get("program") in PUBLISHED_PROGRAMS for spec in (c.get("variant"), c.get("baseline")) if spec}
    return {spec.split(" ")[0] for spec in specs}


def is_library(row):
    return row["backend"] == "peer"


def fastest(rows):
    return min((row for row in rows if r.median(row, MODE)), key=lambda row: r.median(row, MODE), default=None)


def standings(results, op):
    """case -> Standing, on the main machine; of rows within the op's own tolerance."""
    published, cases = published_variants(results), collections.defaultdict(list)
    for row in select.rows_of(results, op):
        if r.median(row, MODE) and not r.is_emulated(row):
            cases[row["case"]].append(row)
    found = {}
    for case, rows in cases.items():
        strict = [row for row in rows if not r.is_declared(row)]
        found[case] = Standing(rows, fastest([row for row in strict if row["variant"] in published]), fastest([row for row in strict if is_library(row) and row["variant"] not in published]),
                               fastest([row for row in strict if not is_library(row) and row["variant"] not in published]))
    return found


def claimed_cases(results):
    return {c.get(key) for c in results.claims for key in ("case", "baseline_case")}


def headline(results, op, found=None):
    """The case that a page shows first: of those that claims are about the one with most variants on most data, else of all."""
    found = standings(results, op) if found is None else found
    claimed = claimed_cases(results)

    def rank(case):
        some = found[case]
        comparable = (some.ours is not None) + bool(some.rivals)
        return comparable, len({row["variant"] for row in some.rows}) * select.weight(some.row) * (1.5 if case in claimed else 1), case
    return max(found, key=rank, default=None)


def worst_input(results, row):
    """"fails on nan (3 cases)", or the input with the largest error of the variant over its tolerance."""
    mine = [other for other in results.rows if other["spec"] == row["spec"] and r.is_declared(other) == r.is_declared(row)]
    wrong = collections.Counter(other["input"] for other in mine if other["verdict"] in ("fail", "error"))
    if wrong:
        return "**fails** on " + ", ".join(f"{name} ({count})" for name, count in sorted(wrong.items(), key=lambda item: (-item[1], item[0]))[:3]) + (", ..." if len(wrong) > 3 else "")
    known = [(r.worst_ratio(other), other["input"]) for other in mine if other["verdict"] == "pass" and r.worst_ratio(other) is not None]
    vague = sorted({name for other in mine for name in r.unjudged(other)})
    text = f"{max(known)[1]}: {significant(max(known)[0], 2)} of the tolerance" if known and max(known)[0] > 0 else "exact on all" if known else "-"
    return text + (f" (not judgeable: {', '.join(vague)})" if vague else "")


def case_words(row):
    """"mean, n = 1e8, window = 3000, f64, ramp": without the op, which the page is about."""
    return f"{describe(row)}, {row['input']}".removeprefix(row["op"]).lstrip(" ,")


def case_words_without(row, swept):
    """The same without the parameters that are swept."""
    return f"{describe(row, *swept)}, {row['input']}".removeprefix(row["op"]).lstrip(" ,")


def cell(row):
    return f"`{r.name_of(row)}` {seconds(r.median(row, MODE))}" if row else "-"


def times_faster(theirs, mine):
    return r.median(theirs, MODE) / r.median(mine, MODE) if theirs and mine else None


def over(theirs, mine):
    ratio = times_faster(theirs, mine)
    return "-" if ratio is None else f"{'**' if ratio < 1 else ''}{significant(ratio)}x{'**' if ratio < 1 else ''}"


def shown_first(results, found):
    """Cases in the order of a page: those with most to compare, of them those with most variants on most data; one of a claim counts half as much again."""
    claimed = claimed_cases(results)
    return sorted(found, key=lambda case: (-len(found[case].rivals) - (found[case].ours is not None), -len(found[case].rows) * select.weight(found[case].row) * (1.5 if case in claimed else 1), case))


def tells_nothing_new(row, before):
    """Does a case take as long as one before it, as far as sizes tell? Same parameters but for sizes within a factor of SIZE_STEP; other data, or another reference."""
    def shape(case):
        params = {name: value for name, value in (case.get("params") or {}).items() if name != "reference"}
        sizes = {name: value for name, value in params.items() if name in SIZES and isinstance(value, (int, float))}
        return {name: value for name, value in params.items() if name not in sizes}, sizes, case.get("dtype")

    words, sizes, dtype = shape(row)
    alike = [there for same, there, other in map(shape, before) if (same, other, there.keys()) == (words, dtype, sizes.keys())]
    return any(all(max(sizes[name], there[name]) < SIZE_STEP * min(sizes[name], there[name]) for name in sizes) for there in alike)


def chosen(results, found, most):
    """The cases of a short table: none that says what one before it says."""
    cases = []
    for case in shown_first(results, found):
        if len(cases) < most and (found[case].ours or found[case].rivals) and not tells_nothing_new(found[case].row, [found[other].row for other in cases]):
            cases.append(case)
    return cases


def case_table(results, found, most=None):
    """Cases x (published best, library best, ours, share of the limit, worst input). most: that many, as unlike as can be; None: all."""
    order = chosen(results, found, most) if most else [case for case in shown_first(results, found) if found[case].ours or found[case].rivals]
    lines = []
    for case in order:
        some = found[case]
        share = results.fraction(some.ours, MODE) if some.ours else None
        lines.append([case_words(some.row), cell(some.published), cell(some.library), cell(some.ours), over(some.published, some.ours), over(some.library, some.ours),
                      percent(share) + (" (!)" if share and share > 1 else ""), worst_input(results, some.ours) if some.ours else "-"])
    header = ["case", "published best", "library best", "ours best", ">over published", ">over library", ">of the limit", "worst input of ours"]
    return table(*without_empty(header, lines)) if lines else ""


def sweep_groups(found):
    """(parameters, cases in order): cases that differ in a size or two only, where a library was timed; those that compare most come first."""
    with_library = [next(row for row in some.rows if is_library(row)) for some in found.values() if some.ours and any(map(is_library, some.rows))]
    groups, seen = [], set()
    names = sorted({name for row in with_library for name, value in row["params"].items() if isinstance(value, (int, float))})
    candidates = [(name,) for name in names] + ([select.SHAPE] if set(select.SHAPE) <= set(names) else []) + ([("rows", "cols")] if {"rows", "cols"} <= set(names) else [])
    for swept in candidates:
        for rows in select.groups([row for row in with_library if select.value_of(row, swept)], *swept).values():
            if len(rows) >= 2:
                groups.append((swept, sorted((row["case"] for row in rows), key=lambda case: select.value_of(found[case].row, swept))))
    groups.sort(key=lambda group: (-sum(len(peers_of(found, [case])) for case in group[1]), -sum(select.weight(found[case].row) for case in group[1]), len(group[0])))
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
    return sorted({r.name_of(row) for case in cases for row in found[case].rows if is_library(row)})


def peer_cell(some, name):
    row = fastest([row for row in some.rows if r.name_of(row) == name])
    return over(row, some.ours) if row else "-"


def value_words(row, swept):
    return " x ".join(count(row["params"][name]) for name in swept)


def peer_table(found, swept, cases, most=None):
    """Libraries x sizes: how many times faster our best variant is there; below 1, in bold, we are behind."""
    cases = fullest(found, cases, most)
    header = ["library", *(f">{' x '.join(swept)} = {value_words(found[case].row, swept)}" if k == 0 else f">{value_words(found[case].row, swept)}" for k, case in enumerate(cases))]
    return table(header, [[name, *(peer_cell(found[case], name) for case in cases)] for name in peers_of(found, cases)])


def behind(found):
    """[(ratio, case, the library's row)] where a library is faster than everything of ours, the worst first."""
    lost = []
    for case, some in found.items():
        best = fastest([row for row in some.rows if is_library(row) and not r.is_declared(row)])
        ratio = times_faster(best, some.ours)
        if ratio is not None and ratio < 1:
            lost.append((ratio, case, best))
    return sorted(lost, key=lambda item: item[:2])


def compared(found):
    return [case for case, some in found.items() if some.ours and any(is_library(row) for row in some.rows)]


def lost_to(library, ours):
    return f"{case_words(ours)} (`{r.name_of(library)}`, {significant(times_faster(ours, library))}x faster than `{r.name_of(ours)}`)"


def cpu_text(found):
    """One sentence: ours beside libraries on the same cores, whatever their tolerance; nothing where none was timed."""
    ratios, lost = [], []
    for some in found.values():
        on_cpu = [row for row in some.rows if r.device_of(row) == "cpu"]
        library, ours = fastest([row for row in on_cpu if is_library(row)]), fastest([row for row in on_cpu if row["backend"] == "cpu" and not r.is_declared(row)])
        if not library or not ours:
            continue
        ratios.append(times_faster(library, ours))
        if ratios[-1] < 1:
            lost.append(lost_to(library, ours))
    if not ratios:
        return ""
    if lost:
        return f" On the same cores ours is the fastest in {len(ratios) - len(lost)} of {many(len(ratios), 'case')} that a CPU library was timed in. **Behind** at {'; '.join(lost[:MOST_BEHIND])}."
    faster = f"{significant(min(ratios))}x" + (f" to {significant(max(ratios))}x" if len(ratios) > 1 else "")
    return f" On the same cores ours is the fastest in {'the case' if len(ratios) == 1 else f'all {len(ratios)} cases'} that a CPU library was timed in, {faster} faster than the fastest of them."


def behind_text(found, most=MOST_BEHIND):
    """One sentence: in how many cases ours is the fastest, and where it is not."""
    cases, lost = compared(found), behind(found)
    if not cases:
        return "No library was timed beside a variant of ours."
    if not lost:
        return f"Ours is the fastest in all {len(cases)} cases that a library was timed in."
    named = [lost_to(row, found[case].ours) for _, case, row in lost[:most]]
    more = f"; and {len(lost) - most} more" if len(lost) > most else ""
    return f"Ours is the fastest in {len(cases) - len(lost)} of {len(cases)} cases that a library was timed in. **Behind** at " + "; ".join(named) + more + "."


def wrong_inputs(results, op):
    """[(variant, Counter of inputs, its backend)] of variants with a failed or crashed row, within the op's own tolerance; most failures first."""
    found = collections.defaultdict(collections.Counter)
    backend = {}
    for row in results.rows:
        if row["op"] == op and row["verdict"] in ("fail", "error"):
            found[r.name_of(row)][row["input"]] += 1
            backend[r.name_of(row)] = row["backend"]
    return sorted(((name, inputs, backend[name]) for name, inputs in found.items()), key=lambda item: (-sum(item[1].values()), item[0]))
