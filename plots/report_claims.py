"""The published claims beside what was measured: one line each, then what to know, then the particulars folded."""
import collections

import rows as r
from markdown import details, pictures_of, table
from words import count, percent, seconds, seconds_between, significant

VERDICT_WORDS = {"reproduced": "**reproduced**", "not reproduced": "**not reproduced**", "not testable here": "not testable here"}


def quantity(claim, value):
    if value is None:
        return "-"
    if claim.get("quantity") == "seconds":
        return seconds(value)
    return percent(value) if claim.get("quantity") == "ratio_to_copy" else f"{significant(value)}x"


def size_of(claim):
    """n of the case that the claim is judged at, from its canonical text."""
    words = dict(word.split("=", 1) for word in str(claim.get("case") or "").split() if "=" in word)
    n = words.get("n", "")
    return count(int(n)) if n.isdigit() else "-"


def published(claim):
    """As it was printed, up to five digits."""
    value = claim.get("value")
    return "-" if value is None else f"{value:.5g} s" if claim.get("quantity") == "seconds" else quantity(claim, value)


def ours(claim):
    value, (low, high) = claim.get("ours"), claim.get("ours_interval") or (None, None)
    if value is None:
        return "-"
    if claim.get("quantity") == "seconds":
        return seconds_between(value, low, high)
    between = f" ({significant(low, 4)} to {significant(high, 4)})" if None not in (low, high) else ""
    return quantity(claim, value) + between


def lines_of(results, numbered, machines):
    lines = []
    for number, c in numbered:
        line = [number, c.get("statement"), c.get("hardware") or "unknown hardware", published(c), ours(c), size_of(c),
                VERDICT_WORDS.get(c.get("verdict"), str(c.get("verdict")))]
        if machines > 1:
            line.insert(4, r.machine_of(results, c) if c.get("ours") is not None else "-")
        lines.append(line)
    header = ["#", "published statement", "there", ">published", *(["here"] if machines > 1 else []), ">ours (95% interval)", ">n", "verdict"]
    return table(header, lines)


def ranges(numbers):
    """[1, 2, 3, 7] -> "1-3, 7"."""
    runs = []
    for number in numbers:
        if runs and runs[-1][1] == number - 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ", ".join(f"{a}" if a == b else f"{a}-{b}" for a, b in runs)


def sharing(numbered, get, split=False):
    """Each text once, sentences apart if wanted, with the numbers of the claims that have it."""
    found = collections.defaultdict(list)
    for number, c in numbered:
        text = get(c)
        for sentence in text.split(". ") if text and split else [text]:
            if sentence:
                found[sentence].append(number)
    return [f"{text} ({ranges(numbers)})" for text, numbers in found.items()]


def particulars(numbered):
    lines = [(number, f"`{c.get('id')}`", f"`{c.get('case')}`" if c.get("case") else "-",
              f"`{c.get('variant')}`" + (f" over `{c['baseline']}`" if c.get("baseline") else ""), c.get("mode") or "-") for number, c in numbered]
    return table(["#", "id", "case", "variant", "mode"], lines)


def claims(results, pictures):
    if not results.claims:
        return "No published claim was judged in these runs: `./rungs reproduce` judges them."
    ordered = sorted(results.claims, key=lambda c: c.get("quantity") == "seconds")
    numbered = list(enumerate(ordered, 1))
    machines = len({r.machine_of(results, c) for c in ordered if c.get("ours") is not None})
    parts = [pictures_of(pictures, "claims_")]
    for heading, wanted in (("#### Speed-ups", False), ("#### Times", True)):
        some = [(k, c) for k, c in numbered if (c.get("quantity") == "seconds") == wanted]
        if some:
            parts += [heading, lines_of(results, some, machines)]
    known = sharing(numbered, lambda c: c.get("note"), split=True) + sharing(numbered, lambda c: c.get("reason") if c.get("ours") is None else None)
    if known:
        parts += ["#### What to know about them", "\n".join(f"- {text}" for text in known)]
    how = [f"- {name}: {text}" for name, key in (("source", "source"), ("measured there by", "method"), ("rule", "rule"))
           for text in sharing(numbered, lambda c: c.get(key))]
    parts.append(details("sources, methods, rules, and the case and variants of each claim", "\n".join(how) + "\n\n" + particulars(numbered)))
    return "\n\n".join(part for part in parts if part)
