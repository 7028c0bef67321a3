"""The three findings that a report begins with, from rows: which published claims hold, how far the fastest variants are from the limit, which variants fail on which inputs."""

from analysis import rows as r
from analysis import select
from analysis.claim_text import OUTCOMES, published, quantity
from analysis.format import many, percent, seconds
from analysis.report import rivals, standing
from analysis.report.claims import outcome_counts, statement_of, summary

MOST_WRONG = 4  # variants named for an op


def line_of_op(op, claims):
    """ "rolling: 3 hold, 2 do not hold. For example: ..."."""
    mine = [c for c in claims if r.op_of(c) == op]
    text = f"  - {op}: {outcome_counts(mine)}."
    first = [c for c in mine if c.get("here") is not None and c.get("claim_kind") != "finding"]
    first.sort(key=lambda c: (c.get("quantity") != "speedup", c.get("rule") == "shown", c.get("program") != "original"))
    if first:
        c = first[0]
        words = {"original": "the original program", "ours": "a variant of ours"}
        program = words.get(c.get("program") or "ours", f"a {c.get('program')}")
        text += f' For example, "{statement_of(c)}": published {published(c)}, {quantity(c, c["here"])} with {program} here ({OUTCOMES.get(c.get("outcome"))}).'
    return text


def published_finding(results):
    claims = results.claims
    if not claims:
        return "**Published numbers.** No claim was judged in these runs; `./rungs reproduce` judges them."
    head = f"**Which published claims hold.** {summary(claims)}."
    return "\n".join([head, *(line_of_op(op, claims) for op in sorted(set(map(r.op_of, claims))))])


def line_of_fastest(results, op):
    found = rivals.standings(results, op)
    case = standing.headline(results, found)
    some = found.get(case)
    best = some and rivals.fastest([row for row in (some.ours, *some.rivals) if row])
    if not best:
        return None
    share = r.share_of_limit(best, rivals.MODE)
    parts = [f"{percent(share)} of the limit" if share else None]
    for what, theirs in (("published program", some.theirs("published")), ("library", some.theirs("library"))):
        parts += [faster_than(best, what, rival, len(theirs) > 1) for rival in theirs if rival is not best]
    if some.ours and some.ours is not best:
        parts.append(f"{rivals.times_faster(some.ours, best)} faster than our best (`{r.name_of(some.ours)}`)")
    return (
        f"  - {op} ({standing.case_words(best)}): {whose(some, best)} `{r.name_of(best)}`, {seconds(r.median(best, rivals.MODE))}"
        + "".join(f", {part}" for part in parts if part)
        + largest(results, best)
        + "."
    )


def faster_than(best, what, rival, several):
    """several: the fastest has a looser tolerance of its own, so that the fastest within the op's is named too."""
    which = f"the best {what} within the op's tolerance" if several and not r.is_declared(rival) else f"the best {what}"
    own = f", which has its own looser tolerance `{rival['bound']['name']}`" if r.is_declared(rival) else ""
    return f"{rivals.times_faster(rival, best)} faster than {which} (`{r.name_of(rival)}`, {seconds(r.median(rival, rivals.MODE))}{own})"


def largest(results, best):
    """Where more data was timed than in the case of the line: our best there, and how far from the limit."""
    most = max(
        (some.ours for some in rivals.latest(results, best["op"]).values() if some.ours),
        key=lambda row: (r.work_bytes(row) or 0, -r.median(row, rivals.MODE)),
        default=None,
    )
    if most is None or (r.work_bytes(most) or 0) <= 2 * (r.work_bytes(best) or 0):
        return ""
    return f". With most data ({standing.case_words(most)}): `{r.name_of(most)}`, {seconds(r.median(most, rivals.MODE))}, {percent(r.share_of_limit(most, rivals.MODE))}"


def whose(some, best):
    if best is some.ours:
        return "our"
    return "the published" if best in (some.published, some.published_any) else "the library"


def compared_ops(results):
    """Those of which a library or a published program was timed; all if there is none."""
    ops = sorted({row["op"] for row in select.timed_rows(results)})
    return [op for op in ops if any(some.rivals for some in rivals.standings(results, op).values())] or ops


def fastest_finding(results):
    ops = compared_ops(results)
    lines = [line for line in (line_of_fastest(results, op) for op in ops) if line]
    if not lines:
        return "**The fastest variants.** Nothing was timed in these runs."
    head = f"**The fastest variants and their share of the limit** (cold cache, {select.main_machine(results)})."
    return "\n".join([head, *lines])


def wrong_line(results, op):
    wrong = standing.wrong_inputs(results, op)
    right = [row for row in results.rows if row["op"] == op and row["verdict"] in ("pass", "skip")]
    vague = sorted({name for row in right for name in r.unjudged(row)})
    said = [
        f"`{name}` on {', '.join(sorted(inputs, key=lambda key: -inputs[key])[:4])}{', ...' * (len(inputs) > 4)} ({many(sum(inputs.values()), 'row')})"
        for name, inputs in wrong[:MOST_WRONG]
    ]
    if len(wrong) > MOST_WRONG:
        said.append(f"{len(wrong) - MOST_WRONG} more")
    if vague:
        said.append(f"*not judgeable* on some cases, so never counted as a pass: {', '.join(vague)}")
    return f"  - {op}: " + ("; ".join(said) if said else "nothing failed") + "."


def wrong_finding(results):
    head = "**Which variants fail, and on which inputs.** "
    ran = [row for row in results.rows if row["verdict"] in ("pass", "fail", "error")]
    if not ran:
        return head + "Nothing ran, so nothing was verified."
    failed = many(sum(row["verdict"] != "pass" for row in ran), "row")
    head += f"{failed} of {len(ran)} failed verification or ended in an error; they have no time."
    return "\n".join([head, *(wrong_line(results, op) for op in sorted({row["op"] for row in ran}))])


def no_gpu(results):
    """Said first where it is so."""
    if any(r.device_of(row) == "cuda" for row in select.timed_rows(results)):
        return ""
    head = "**No GPU was used: nothing here is a time of a CUDA kernel.** "
    emulated = [row for row in results.rows if r.is_emulated(row) and row["verdict"] != "skip"]
    if not emulated:
        return head + "No CUDA kernel ran."
    passed = f"{sum(row['verdict'] == 'pass' for row in emulated)} of {many(len(emulated), 'row')}"
    return head + f"{passed} of CUDA kernels passed in an emulator on the CPU; none is timed."


def findings(results):
    found = enumerate((published_finding(results), fastest_finding(results), wrong_finding(results)), 1)
    text = "\n".join(f"{k}. {one}" for k, one in found).replace("\n  - ", "\n   - ")
    return "\n\n".join(filter(None, [no_gpu(results), text]))
