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


def kinds_of(claims):
    """[(name, claims)] of those that were measured and count."""
    measured = [c for c in claims if is_counted(c) and c.get("outcome") in MEASURED]
    exact, timed = ([c for c in measured if (c.get("quantity") in EXACT) == is_exact] for is_exact in (True, False))
    others = "speed-ups" if all(c.get("quantity") == "speedup" for c in timed) else "speed-ups and times"
    return [(name, some) for name, some in (("accuracy and counts", exact), (others, timed)) if some]


def outcome_counts(claims):
    """ "holding: accuracy and counts 35 of 35; speed-ups 12 of 50 in size (...); 9 not testable here; not counted: 5 of other hardware": what occurs."""
    kinds = [kind_counts(name, some) for name, some in kinds_of(claims)]
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


def short_counts(claims):
    """ "hold: accuracy and counts 12 of 12; speed-ups 1 of 9 (6 another size, 1 far, 1 not at all)"."""
    kinds = []
    for name, some in kinds_of(claims):
        found = totals(some)
        others = ((found["direction"], "another size"), (found["far"], "far"), (found["fails"], "not at all"))
        beside = ", ".join(f"{count} {words}" for count, words in others if count)
        kinds.append(f"{name} {found['holds']} of {len(some)}{f' ({beside})' if beside else ''}")
    return f"hold: {'; '.join(kinds)}" if kinds else "no statement was tested"


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


def source_link(claim):
    title = claim.get("source") or "-"
    return f"[{title}]({claim['url']})" if claim.get("url") else title


def source_words(claim):
    """Where it was published, as a link, and on what."""
    return source_link(claim) + (f", {claim['section']}" if claim.get("section") else ""), claim.get("hardware") or "-"


def claims_table(pairs, most):
    """A line for what was published: number, op (where it begins), statement, size and mode, published, then what came of it with each program. most: letters of a statement."""
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
                *source_words(claims[0]),
            ]
        )
    header = ["#", "op", "published statement", ">size", ">published", *PROGRAMS, "source", "hardware"]
    return table(header, lines)


def told(claims):
    """Of the claims of one statement the one that says most: of the source's own program, else of its algorithm, else of its successor; of equals the first."""
    programs = PROGRAMS[:3]
    measured = [c for c in claims if c.get("outcome") in MEASURED and is_counted(c) and c.get("program") in programs]
    return min(measured, key=lambda c: programs.index(c["program"]), default=None)


def clause(text, least=4, most=16):
    """The first part of a note, between full stops, colons and semicolons, that is neither a word nor a paragraph."""
    parts = (part.split() for part in re.split(r"[.:;](?: |$)", text or ""))
    return " ".join(next((words for words in parts if least <= len(words) <= most), ["-"]))


def card_of(claim):
    """ ", NVIDIA P100": the card of its hardware, if one is named."""
    found = re.search(r"NVIDIA (?:RTX )?[\w]+", claim.get("hardware") or "")
    return f", {found[0]}" if found else ""


def statement_table(pairs, most):
    """The first statements of each op, taken in turns: what was published, what was measured, and why."""
    by_op = {}
    for number, some in r.grouped(pairs, lambda pair: pair[0]).items():
        chosen = told([c for _, c in some])
        if chosen:
            by_op.setdefault(r.op_of(chosen), []).append((number, chosen))
    turns = sorted((k, number, c) for some in by_op.values() for k, (number, c) in enumerate(some))[:most]
    lines, before, told_why = [], None, set()
    for _, number, c in sorted(turns, key=lambda turn: turn[1]):
        words = clipped(statement_of(c), 90)
        lines.append(
            [
                r.op_of(c) if r.op_of(c) != before else "",
                f"[{words}]({c['url']})" if c.get("url") else words,
                f"{published(c)}{card_of(c)}",
                here(c),
                f"{outcome_words(c)} ({c['program'][0]})",
                "-" if clause(c.get("note")) in told_why else clause(c.get("note")),
            ]
        )
        before = r.op_of(c)
        told_why.add(clause(c.get("note")))
    return table(["op", "statement", "published, on", ">here", "outcome", "why"], lines) if lines else ""


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
        HOW,
        claims_table(pairs, 300),
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


TODAY = "Today. "  # how the paragraph begins that the report prints of a source


def paragraphs(text):
    """Of `about`."""
    lines = "\n".join(about_lines(text))
    return [part.replace("\n", " ") for part in re.split(r"\n\n+", lines) if part]


def first_paragraph(text):
    return FOLLOWS.sub("", next(iter(paragraphs(text)), ""))


def scenario_text(name):
    """By the scenario's name in a row or claim; nothing for scenarios that are not of this checkout."""
    path = FOLDER / f"{name}.yaml"
    if not name or path.resolve().parent.parent != FOLDER or not path.is_file():
        return ""
    return path.read_text(encoding="utf-8")


def intro_of(scenario):
    return first_paragraph(scenario_text(scenario))


def today_of(scenario):
    found = (text for text in paragraphs(scenario_text(scenario)) if text.startswith(TODAY))
    return next(found, "").removeprefix(TODAY)
