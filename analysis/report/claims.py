"""The published claims beside what was measured: one line each, then what to know, then the particulars folded."""
import collections

from analysis import rows as r
from analysis.claim_text import VERDICTS, modes_of, published, quantity, size_of
from analysis.format import details, seconds_between, significant, table, without_empty
from analysis.report.markers import pictures_of
from analysis.report.scenario_intro import intro_of

BOLD = ("reproduced", "exceeded", "not reproduced")


def verdict_counts(claims):
    """29 reproduced, 3 exceeded, ...: those that occur."""
    found = collections.Counter(str(c.get("verdict")) for c in claims)
    return ", ".join(f"{found[verdict]} {verdict}" for verdict in VERDICTS if found[verdict])


def ours(claim):
    value, (low, high) = claim.get("ours"), claim.get("ours_interval") or (None, None)
    if value is None:
        return "-"
    few = claim.get("samples") or LEAST_SAMPLES
    return interval_of(claim, value, low, high) + (f", {few} samples" if few < LEAST_SAMPLES else "")


def interval_of(claim, value, low, high):
    if claim.get("quantity") == "seconds":
        return seconds_between(value, low, high)
    between = f" ({significant(low, 4)} to {significant(high, 4)})" if None not in (low, high) else ""
    return quantity(claim, value) + between


def lines_of(results, numbered, machines):
    lines = []
    for number, c in numbered:
        line = [number, c.get("statement"), c.get("hardware") or "unknown hardware", published(c), ours(c), size_of(c), modes_of(c),
                f"**{c['verdict']}**" if c.get("verdict") in BOLD else str(c.get("verdict"))]
        if machines > 1:
            line.insert(4, results.machine(c) if c.get("ours") is not None else "-")
        lines.append(line)
    header = ["#", "published statement", "there", ">published", *(["here"] if machines > 1 else []), ">ours (95% interval)", ">size", "times", "verdict"]
    return table(*without_empty(header, lines))


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
              f"`{c.get('variant')}`" + (f" over `{c['baseline']}`" if c.get("baseline") else "") + (f" on `{c['baseline_case']}`" if c.get("baseline_case") else "")
              + (f", output `{c['output']}`" if c.get("output") else ""), modes_of(c)) for number, c in numbered]
    return table(["#", "id", "case", "variant", "mode"], lines)


KINDS = (("Speed-ups", ("speedup",)), ("Times", ("seconds",)), ("Errors", ("error",)), ("Counts", ("launches", "bytes_over_minimum")))
LEAST_SAMPLES = 6  # below it no order statistics bound a median with 95%
HOW = ("**reproduced**: our whole 95% interval lies within the acceptance band. **exceeded**: it lies beyond the band on the fast side. "
       "**not reproduced**: it lies outside in any other way. undecided: an end of the band lies inside our interval. \"at least\" and \"at most\" have one end only. \"3 samples\": the observed "
       "range of these samples, which covers less than 95%.")


def of_op(results, op, numbered, pictures, machines):
    """How its scenarios begin, beside the figures; the tables of one op, then what to know about its claims, then the particulars folded."""
    parts = [f"### {op}", *filter(None, map(intro_of, dict.fromkeys(c.get("scenario") for _, c in numbered))), pictures_of(pictures, f"claims_{op}.", f"errors_{op}.")]
    for heading, quantities in KINDS:
        some = [(k, c) for k, c in numbered if c.get("quantity") in quantities]
        if some:
            parts += [f"#### {heading}", lines_of(results, some, machines)]
    known = sharing(numbered, lambda c: c.get("note"), split=True) + sharing(numbered, lambda c: c.get("reason") if c.get("ours") is None else None)
    if known:
        parts += ["#### Notes", "\n".join(f"- {text}" for text in known)]
    how = [f"- {name}: {text}" for name, key in (("source", "source"), ("published method", "method"), ("reproduced", "expected"), ("why this tolerance", "rationale"))
           for text in sharing(numbered, lambda c: c.get(key))]
    parts.append(details("sources, methods, acceptance bands, and the case and variants of each claim", "\n".join(how) + "\n\n" + particulars(numbered)))
    return "\n\n".join(part for part in parts if part)


def claims(results, pictures):
    if not results.claims:
        return "No published claim was judged in these runs: `./rungs reproduce` judges them."
    place = {quantity: k for k, (_, quantities) in enumerate(KINDS) for quantity in quantities}
    ordered = sorted(results.claims, key=lambda c: (r.op_of(c), place.get(c.get("quantity"), len(KINDS))))
    numbered = list(enumerate(ordered, 1))
    machines = len({results.machine(c) for c in ordered if c.get("ours") is not None})
    return HOW + "\n\n" + "\n\n".join(of_op(results, op, [(k, c) for k, c in numbered if r.op_of(c) == op], pictures, machines) for op in dict.fromkeys(map(r.op_of, ordered)))
