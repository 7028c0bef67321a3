"""What the report says in sentences: its abstract, and of each source what still holds."""

from analysis import rows as r
from analysis import select
from analysis.format import ends, many, percent, times
from analysis.report import rivals, standing
from analysis.report.claims import kinds_of, short_counts, source_link, summary, today_of

NO_CLAIM = "No published claim was judged in these runs: `./rungs reproduce` judges them."
MOST_WRONG = 3  # variants named


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


def fastest(results, found):
    """How far from the limit where most data moves, and how far ahead of libraries on the main case of each op."""
    largest, gains = [], []
    for op, some in found.items():
        case = standing.headline(results, some)
        ratio = case and rivals.times_faster(some[case].library, some[case].ours)
        gains += [ratio.value] if ratio else []
        row = standing.largest(results, op)
        largest += [row] if row else []
    # An op of small cases alone may be fastest on the CPU.
    on_gpu = [row for row in largest if r.device_of(row) == "cuda"]
    shares = [share for share in (r.share_of_limit(row, rivals.MODE) for row in on_gpu or largest) if share]
    if not shares:
        return "Nothing was timed in these runs." if not select.timed_rows(results) else ""
    text = f"On {select.main_machine(results)} the fastest variant of each algorithm reaches {ends(shares, percent)} of the limit where most data moves"
    if gains:
        text += (
            f"; on its main case it is {ends(gains, times)} as fast as the fastest library within the same tolerance"
        )
    return text + "."


def wrong(results):
    ran = [row for row in results.rows if row["verdict"] in ("pass", "fail", "error")]
    if not ran:
        return "Nothing ran, so nothing was verified."
    names = r.grouped((row for row in ran if row["verdict"] != "pass"), lambda row: f"`{row['variant']}`")
    worst = sorted(names, key=lambda name: (-len(names[name]), name))
    failed = sum(map(len, names.values()))
    text = f"{many(failed, 'row')} of {len(ran)} failed verification or ended in an error, and have no time"
    more = f" and {len(worst) - MOST_WRONG} more" if len(worst) > MOST_WRONG else ""
    return text + (f": {', '.join(worst[:MOST_WRONG])}{more}." if worst else ".")


def abstract(results, found):
    """found: op -> standings on the main machine."""
    claims = f"{summary(results.claims)}." if results.claims else NO_CLAIM
    return "\n\n".join(filter(None, (no_gpu(results), claims, fastest(results, found), wrong(results))))


def sources(results, ops, links):
    """Of each op: its sources, what came of their statements, and what the scenario says of it today."""
    lines = []
    for op in ops:
        mine = [c for c in results.claims if r.op_of(c) == op]
        if not kinds_of(mine):  # none could be tested
            continue
        said = " ".join(filter(None, map(today_of, dict.fromkeys(c.get("scenario") for c in mine))))
        titles = {(c.get("source") or "-").split(", ")[0]: source_link(c) for c in reversed(mine)}
        lines.append(
            f"**[{op}]({links[op]})** ({', '.join(reversed(titles.values()))}): {short_counts(mine)}. {said}".rstrip()
        )
    return "\n\n".join(lines) or NO_CLAIM
