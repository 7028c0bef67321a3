"""The published claims beside what was measured. Two axes: whose program was run, and the outcome."""

import collections
import pathlib
import re

from analysis import rows as r
from analysis.claim_text import (
    EXACT,
    MEASURED,
    OUTCOMES,
    PROGRAMS,
    RATES,
    WORSE,
    is_counted,
    is_finding,
    is_shown,
    modes_of,
    published,
    quantity,
    shown_words,
    size_of,
    totals,
    uncounted,
)
from analysis.format import details, many, pictures_of, seconds_between, significant, table, without_empty

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "scenarios"
FOLLOWS = re.compile(
    r"(?:^|(?<=[.!?]) )[^.!?]*:$"
)  # "What to know when reading the verdicts:", which is not printed there
QUANTITIES = ("speedup", "seconds", "bytes_per_second", "elements_per_second", *EXACT)
HOW = (
    "Columns are programs: **original**, the published program itself; **reimplementation**, its algorithm written here; **successor**, what became of it, as it is today (cuDF); **ours**, another variant, "
    "which is in no total. Outcomes: **holds**, the number measured here lies within the acceptance band; **another size**, outside the band, in the published direction, within 5x of the published number; **far**, the same, "
    "beyond 5x; **does not hold**, the other direction, or a law or an equality outside its band. *shown*: a number of other hardware, not judged. Brackets: range over processes; \u2020: provisional, fewer than five of "
    "them, or on both sides of an end of the band."
)
SHORT = {
    "holds": "holds",
    "direction": "another size",
    "far": "far",
    "fails": "**does not hold**",
    "not_testable": "not testable here",
    "not_run": "not run",
}


def ordered(claims):
    return sorted(claims, key=lambda c: (r.op_of(c), [*QUANTITIES, c.get("quantity")].index(c.get("quantity"))))


def statement_of(claim):
    """Without what says how it is tested, which follows a comma, a colon or a bracket. A finding is its own."""
    text = claim.get("statement") or "-"
    return text if is_finding(claim) else re.split(r", |: | \(", text, maxsplit=1)[0]


def identity(claim):
    """What was published: claims that test one statement share it."""
    words = published(claim), is_finding(claim), statement_of(claim)
    return r.op_of(claim), claim.get("source"), claim.get("quantity"), *words


def numbered(results):
    """Each claim with the number of its statement."""
    numbers = {}
    return [(numbers.setdefault(identity(c), len(numbers) + 1), c) for c in ordered(results.claims)]


def kind_counts(name, claims):
    """ "speed-ups 15 of 53 in size (25 same direction, another size; 8 same direction, far from the size; 5 do not hold)"."""
    found = totals(claims)
    words = {**OUTCOMES, "fails": "do not hold"} if found["fails"] > 1 else OUTCOMES
    others = "; ".join(f"{found[key]} {words[key]}" for key in ("direction", "far", "fails") if found[key])
    size = " in size" if "speed-ups" in name else ""
    return f"{name} {found['holds']} of {sum(map(found.get, MEASURED))}{size}{f' ({others})' if others else ''}"


def outcome_counts(claims):
    """ "holding: accuracy and counts 35 of 35; speed-ups 12 of 50 in size (...); 9 not testable here; not counted: 5 of other hardware": what occurs."""
    measured = [c for c in claims if is_counted(c) and c.get("outcome") in MEASURED]
    exact, timed = ([c for c in measured if (c.get("quantity") in EXACT) == is_exact] for is_exact in (True, False))
    others = "speed-ups" if all(c.get("quantity") == "speedup" for c in timed) else "speed-ups and times"
    kinds = [kind_counts(name, some) for name, some in (("accuracy and counts", exact), (others, timed)) if some]
    found = totals(claims)
    left = [f"{found[key]} {OUTCOMES[key]}" for key in ("not_testable", "not_run") if found[key]]
    counted = "; ".join([f"holding: {'; '.join(kinds)}"] * bool(kinds) + left)
    shown, worse, findings, mine = uncounted(claims)
    texts = (
        (shown, f"{shown} of other hardware" + (f" ({worse} {WORSE})" if worse else "")),
        (findings, many(findings, "finding") + " of ours"),
        (mine, f"{mine} of variants of ours"),
    )
    others = [text for count, text in texts if count]
    return "; not counted: ".join(filter(None, (counted, ", ".join(others)))) or "none"


def summary(claims):
    """ "99 published statements, 152 tests, holding: accuracy and counts 35 of 35; ..."."""
    return f"{many(len({identity(c) for c in claims if not is_finding(c)}), 'published statement')}, {many(len(claims), 'test')}, {outcome_counts(claims)}"


def here(claim):
    value, low, high = claim.get("here"), claim.get("low"), claim.get("high")
    if value is None:
        return "-"
    if claim.get("quantity") == "seconds":
        return seconds_between(value, low, high, 3)
    scale = RATES.get(claim.get("quantity"), (1, ""))[0]
    return quantity(claim, value) + (
        f" ({significant(low / scale)} to {significant(high / scale)})" if None not in (low, high) else ""
    )


PROVISIONAL = "\u2020"


def outcome_words(claim):
    text = shown_words(claim) if is_shown(claim) else SHORT.get(claim.get("outcome"), str(claim.get("outcome")))
    return text + (PROVISIONAL if claim.get("provisional") and claim.get("here") is not None else "")


def clipped(text, most):
    text = str(text or "-")
    return text if len(text) <= most else text[: most - 3].rstrip() + "..."


def where_of(claim):
    """Its size, and its mode unless it is cold: "1e9, first"."""
    return ", ".join(word for word in (size_of(claim), modes_of(claim)) if word not in ("-", "cold"))


def tested(claims, program, everywhere):
    """What came of the claims of one program: "4.88x another size (1e9); not run (1e7, 1e8)". everywhere: the statement has one place, which stands beside it. Two variants at one place are named."""
    places, mine = collections.defaultdict(list), [c for c in claims if (c.get("program") or "ours") == program]
    several = collections.Counter(map(where_of, mine))
    for c in mine:
        name = f"`{r.name_of(str(c.get('variant'))).split(' ')[0]}`" if several[where_of(c)] > 1 else ""
        places[("" if c.get("here") is None else here(c) + " ") + outcome_words(c)].append(
            ", ".join(filter(None, ["" if everywhere else where_of(c), name]))
        )
    outcomes = (f"{text} ({'; '.join(dict.fromkeys(where))})" if any(where) else text for text, where in places.items())
    return "; ".join(outcomes) or "-"


def source_words(claim):
    """Where it was published, as a link, and on what."""
    title, section = claim.get("source") or "-", f", {claim['section']}" if claim.get("section") else ""
    link = f"[{title}]({claim['url']})" if claim.get("url") else title
    return link + section, claim.get("hardware") or "-"


def claims_table(pairs, most=110, sources=False):
    """A line for what was published: number, op (where it begins), statement, size and mode, published, then what came of it with each program. most: letters of a statement; sources: also where it was published, on
    what hardware."""
    lines, before = [], None
    for number, some in sorted(r.grouped(pairs, lambda pair: pair[0]).items()):
        claims = [c for _, c in some]
        op, before = (r.op_of(claims[0]) if r.op_of(claims[0]) != before else ""), r.op_of(claims[0])
        places = list(dict.fromkeys(map(where_of, claims)))
        lines.append(
            [
                number,
                op,
                ("finding: " if is_finding(claims[0]) else "") + clipped(statement_of(claims[0]), most),
                places[0] or "-" if len(places) == 1 else "several",
                published(claims[0]),
                *(tested(claims, program, len(places) == 1) for program in PROGRAMS),
                *(source_words(claims[0]) if sources else ()),
            ]
        )
    header = ["#", "op", "published statement", ">size", ">published", *PROGRAMS]
    return table(header + ["source", "hardware"] * sources, lines)


def cross_table(claims):
    """Programs x outcomes: how many."""
    counted = [c for c in claims if not is_finding(c) and not is_shown(c)]
    count = collections.Counter((c.get("program"), c.get("outcome")) for c in counted)
    used = [key for key in OUTCOMES if any(count[program, key] for program in PROGRAMS)]
    lines = [[program, *(count[program, key] or "-" for key in used)] for program in PROGRAMS]
    return table(["program", *(f">{OUTCOMES[key]}" for key in used)], [line for line in lines if set(line[1:]) - {"-"}])


def ranges(numbers):
    """[1, 2, 3, 3, 7] -> "1-3, 7"."""
    runs = []
    for number in sorted(set(numbers)):
        if runs and runs[-1][1] == number - 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ", ".join(f"{a}" if a == b else f"{a}-{b}" for a, b in runs)


def sharing(pairs, get, split=False):
    """Each text once, sentences apart if wanted, with the numbers of the claims that have it."""
    found = collections.defaultdict(list)
    for number, c in pairs:
        text = get(c)
        for sentence in text.split(". ") if text and split else [text]:
            if sentence:
                found[sentence].append(number)
    return [f"{text} ({ranges(numbers)})" for text, numbers in found.items()]


def particulars(pairs):
    sides = (" over ", "baseline"), (" on ", "baseline_case"), (", output ", "output")
    lines = [
        (
            number,
            f"`{c.get('id')}`",
            f"`{c.get('case')}`" if c.get("case") else "-",
            f"`{c.get('variant')}`" + "".join(f"{word}`{c[key]}`" for word, key in sides if c.get(key)),
            modes_of(c),
            c.get("processes") or "-",
        )
        for number, c in pairs
    ]
    return table(*without_empty(["#", "id", "case", "variant", "mode", ">processes"], lines))


def reason_of(claim):
    """Why a claim has the outcome that it has, where that is not plain from the table."""
    return None if claim.get("outcome") == "holds" or is_shown(claim) else claim.get("why")


def of_op(pairs, pictures):
    """The part of an op's page: how its scenarios begin, the table, what to know, then the particulars folded."""
    if not pairs:
        return "No published claim of this op was judged in these runs."
    parts = [
        *filter(None, map(intro_of, dict.fromkeys(c.get("scenario") for _, c in pairs))),
        pictures_of(pictures, "claims"),
        claims_table(pairs, 300, sources=True),
    ]
    known = sharing(pairs, lambda c: c.get("note"), split=True) + sharing(pairs, reason_of)
    if known:
        parts += ["**Notes**", "\n".join(f"- {text}" for text in known)]
    names = {"published method": "method", "acceptance": "expected", "why this tolerance": "reason"}
    how = [f"- {name}: {text}" for name, key in names.items() for text in sharing(pairs, lambda c: c.get(key))]
    title = "methods, acceptance bands, and the case and variants of each claim"
    parts.append(details(title, "\n".join(how) + "\n\n" + particulars(pairs)))
    return "\n\n".join(part for part in parts if part)


# ---- How a scenario's `about` begins: what the report prints beside its claims.


def about_lines(text):
    """The lines of the folded block under `about:`, empty ones too; none if there is no such block."""
    found = re.search(r"^about: *[>|][+-]?\n((?:[ \t]+.*\n|[ \t]*\n)*)", text, re.M)
    return [line.strip() for line in found.group(1).splitlines()] if found else []


def first_paragraph(text):
    lines = about_lines(text)
    end = lines.index("") if "" in lines else len(lines)
    return FOLLOWS.sub("", " ".join(lines[:end]))


def intro_of(scenario):
    """By the scenario's name in a row or claim; nothing for scenarios that are not of this checkout."""
    path = FOLDER / f"{scenario}.yaml"
    if not scenario or path.resolve().parent.parent != FOLDER or not path.is_file():
        return ""
    return first_paragraph(path.read_text(encoding="utf-8"))
