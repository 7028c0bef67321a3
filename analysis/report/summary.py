"""The first lines of the report, for somebody who has never seen it."""
import collections

from analysis import rows as r
from analysis import select
from analysis.format import describe, many, percent, seconds, significant
from analysis.claim_text import quantity
from analysis.report.claims import ours, verdict_counts
from analysis.report.ladder import with_interval


def count_line(results):
    rows = results.rows
    count = collections.Counter(row["verdict"] for row in rows)
    timed = sum(bool(r.median(row)) for row in rows)
    return (f"{many(len(rows), 'row')} (one variant on one case each) on {', '.join(dict.fromkeys(results.machine(row) for row in rows))}: {count['pass']} passed, "
            f"{count['fail']} failed verification, {count['error']} ended in an error, {count['skip']} skipped. "
            + (f"{timed} were timed, each verified before and again, on new data, after timing." if timed else "None was timed."))


def claims_line(results):
    if not results.claims:
        return None
    first = next((c for c in results.claims if c.get("quantity") == "speedup"), results.claims[0])
    told = f" The first of them: {first.get('statement')}, on {first.get('hardware')}."
    told += f" Here: {ours(first)}, {first.get('verdict')}." if first.get("ours") is not None else f" Here: {first.get('verdict')}."
    others = [f"{quantity(c, c['ours'])} for `{r.name_of(str(c.get('variant')))}` over `{r.name_of(str(c.get('baseline')))}`" for c in results.claims
              if c is not first and c.get("value") == first.get("value") and c.get("quantity") == first.get("quantity") and c.get("ours") is not None
              and (c.get("variant"), c.get("baseline")) != (first.get("variant"), first.get("baseline"))]
    published = len({(c.get("source"), c.get("quantity"), c.get("value") or (c.get("low"), c.get("high"))) for c in results.claims})
    return (f"{many(published, 'published number')}, {many(len(results.claims), 'test')}: {verdict_counts(results.claims)}."
            + told + (f" With other kernels: {', '.join(others)}." if others else ""))


def strict_times(results, device):
    """case -> the fastest row there that keeps the op's own bound; on the main machine."""
    best = {}
    for row in select.on_main_machine(results, select.timed_rows(results)):
        if r.device_of(row) == device and not r.is_declared(row) and (row["case"] not in best or r.median(row) < r.median(best[row["case"]])):
            best[row["case"]] = row
    return best


def claimed_first(results, cases):
    """The case that claims speak of and that most rows are about."""
    claimed = {c.get("case") for c in results.claims}
    held = collections.Counter(row["case"] for row in results.rows if r.median(row))
    return max(cases, key=lambda case: (case in claimed, held[case], case), default=None)


def fastest_line(results):
    best = strict_times(results, "cuda")
    case = claimed_first(results, best)
    if not case:
        return None
    row = best[case]
    share, gain, base = results.fraction(row), results.speedup(row), results.baseline_spec(row)
    return (f"Fastest on the GPU within the op's own error bound, {describe(row)}: `{r.spec_name(row)}`, {with_interval(row, 'cold')} (cold, median and its 95% interval)"
            + (f", {percent(share)} of the {'limit' if r.own_limit(row) else f'speed of a {r.ceiling_name(row)}'}" if share else "") + (f", {significant(gain)}x faster than `{r.name_of(base)}`." if gain and base != row["spec"] else "."))


def processors_line(results):
    gpu, cpu = strict_times(results, "cuda"), strict_times(results, "cpu")
    case = claimed_first(results, set(gpu) & set(cpu))
    if not case:
        return None
    a, b = gpu[case], cpu[case]
    environment = results.environment(b)
    given = str((environment.get("variables") or {}).get("OMP_NUM_THREADS") or "")
    cores = given if given.isdigit() else (environment.get("cpu") or {}).get("cores")
    return (f"GPU against CPU, {describe(a)}: `{r.name_of(a)}` {seconds(r.median(a))}, the best on {cores or 'all'} CPU cores, `{r.name_of(b)}`, {seconds(r.median(b))}: "
            f"{significant(r.median(b) / r.median(a))}x. Transfers excluded.")


def failures_line(results):
    timed = {(results.machine(row), row["case"], row["spec"]) for row in results.rows if row["verdict"] == "pass" and r.median(row)}
    wrong, looser = collections.Counter(), collections.Counter()
    for row in results.rows:
        if row["verdict"] in ("fail", "error"):
            (looser if (results.machine(row), row["case"], row["spec"]) in timed else wrong)[r.name_of(row)] += 1
    def told(bad):
        return ", ".join(f"`{name}` ({many(n, 'case')})" for name, n in bad.most_common())
    parts = (["Failed verification or ended in an error on at least one input (not timed there): " + told(wrong) + "."] if wrong else []) + (
        ["Outside the op's own tolerance; timed under their own, looser tolerance: " + told(looser) + "."] if looser else [])
    return " ".join(parts) or None


def gpu_line(results):
    on_gpu = [row for row in select.timed_rows(results) if r.device_of(row) == "cuda"]
    emulated = [row for row in results.rows if r.is_emulated(row)]
    if on_gpu:
        return f"{many(len(emulated), 'row is', 'rows are')} of emulated kernels: verified, not timed." if emulated else None
    return ("**No GPU was used: nothing here is a time of a CUDA kernel.** "
            + (f"{sum(row['verdict'] == 'pass' for row in emulated)} of {many(len(emulated), 'row')} of CUDA kernels were verified in an emulator on the CPU; none is timed." if emulated else "No CUDA kernel ran."))


def summary(results):
    lines = [part(results) for part in (count_line, gpu_line, claims_line, fastest_line, processors_line, failures_line)]
    return "\n".join(f"- {line}" for line in lines if line)
