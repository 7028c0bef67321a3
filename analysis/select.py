"""Which rows count: the latest of each case and variant, and those that a figure or table is about."""

import collections
import math
import pathlib
import statistics

from analysis import joined
from analysis import rows as r
from analysis.lines import NoRows, read_lines

SHAPE = ("batch", "n")  # swept together: many short rows to few long ones
LEAST_POINTS = 3  # values of a parameter that make a sweep
MANY_INPUTS = 4


def load(paths):
    """Later runs win, but what was emulated never wins over what ran. A last line that a crash cut off is left out,
    with a warning. A file of claims alone (rungs judge) judges anew all scenarios that it has."""
    lines, judged, warnings = [], {}, []
    for path in paths:
        read = list(read_lines(pathlib.Path(path), warnings))
        if read and all(line["kind"] == "claim" for line in read):
            judged |= r.grouped(read, lambda claim: claim.get("scenario"))
        else:
            lines += read
    for claim in [line for some in (lines, *judged.values()) for line in some if line["kind"] == "claim"]:
        joined.claim(claim)
    dates = {line.get("run"): line.get("date") or "" for line in lines if line["kind"] == "environment"}
    lines.sort(key=lambda line: dates.get(line.get("run"), ""))  # stable: within a run, the order of the file
    of = {"environment": [], "ceilings": [], "row": [], "claim": [], **r.grouped(lines, lambda line: line["kind"])}
    environments, ceilings = {line.get("run"): line for line in of["environment"]}, {}
    for line in of["ceilings"]:
        by_name = {c["name"]: c for c in line.get("ceilings") or [] if c.get("name") and c.get("value")}
        ceilings.setdefault(line.get("run"), {})[line.get("device") or "unknown device"] = by_name
    if not of["row"]:
        names = ", ".join(map(str, paths)) or "no file at all"
        raise NoRows(f"{names}: no rows; run 'rungs reproduce' first")
    machines = {run: r.machine_name(environment) for run, environment in environments.items()}
    for row in of["row"]:
        row["whose"] = r.whose(row, environments.get(row.get("run")) or {})
    r.set_cards(environments, of["row"])
    campaigns = r.grouped(of["row"], lambda row: r.campaign_of(environments, row))
    return r.Results(
        environments,
        ceilings,
        latest_rows(of["row"], environments, machines),
        claims_of(of["claim"], judged, machines, dates),
        warnings,
        {key: latest_rows(lines, environments, machines) for key, lines in campaigns.items()},
    )


def latest_rows(lines, environments, machines):
    """Of each machine, case and variant the latest row, with the times of all its processes: rows of one campaign."""
    latest, processes = {}, collections.defaultdict(list)
    for row in map(r.with_defaults, lines):
        machine = machines.get(row.get("run"), r.UNKNOWN_MACHINE)
        key = machine, row.get("case"), row.get("spec"), r.is_emulated(row), r.is_declared(row)
        earlier = latest.get(key)
        if row["verdict"] == "pass" and row.get("timing"):
            processes[key].append(row)
        if not only_verifies(row, earlier) and not times_less(row, earlier, environments):
            latest[key] = row
    rows = {key: pooled(row, processes[key], environments) for key, row in latest.items()}
    real = {key[:3] for key, row in rows.items() if not r.is_emulated(row) and row["verdict"] != "skip"}
    return [row for key, row in rows.items() if not r.is_emulated(row) or key[:3] not in real]


def pooled(row, processes, environments):
    """The row with the medians over processes of its campaign, and their range as the interval; as it is where there is one."""
    known, campaign = (environments.get(row.get("run")) or {}).get("id"), r.campaign_of(environments, row)
    mine = [other for other in processes if known and r.campaign_of(environments, other) == campaign]
    if row["verdict"] != "pass" or len(mine) < 2:
        return row
    timing = dict(row.get("timing") or {})
    marks = {"timed_on_one_input": True} if any(map(r.is_on_one_input, mine)) else {}
    for mode in timing:
        timed = ((other.get("run"), r.timing(other, mode)) for other in mine)
        # A file that is given twice is one process.
        times = {(run, t["median"], tuple(t.get("samples") or [])): t for run, t in timed if t}
        if len(times) > 1:
            timing[mode] = pooled_times(timing[mode], list(times.values()))
    bits = {"bits": pooled_bits(mine)} if any(other.get("bits") for other in mine) else {}
    metered = [other["energy"] for other in mine if (other.get("energy") or {}).get("joules") is not None]
    energy = {"energy": metered[-1]} if metered else {}  # one of the processes is metered
    return {**row, "timing": timing, **marks, **bits, **energy}


def pooled_bits(rows):
    """Equal calls of all processes add up; where those of one differ, that is told."""
    told = {(row.get("run"), row["bits"]["seconds"]): row["bits"] for row in rows if row.get("bits")}.values()
    same = [one for one in told if one.get("outcome") == "same"]
    for one in told:
        if one.get("outcome") == "differ":
            return one
    calls = sum(one["calls"] for one in same)
    return {**same[0], "calls": calls, "excluded": 3 / calls} if same else next(iter(told))


def pooled_times(latest, times):
    medians = [t["median"] for t in times]
    middle = statistics.median(medians)
    scale = latest["median"] / middle if latest and latest.get("median") else 1
    found = {
        **(latest or times[-1]),
        "median": middle,
        "low": min(medians),
        "high": max(medians),
        "processes": len(times),
        "count": sum(t.get("count") or 0 for t in times),
        "samples": [x for t in times for x in t.get("samples") or []],
    }
    for key in ("bytes_per_second", "elements_per_second"):
        if found.get(key):
            found[key] *= scale
    if found.get("limit"):
        found["limit"] = {**found["limit"], "share": found["limit"]["seconds"] / middle}
    return found


def only_verifies(row, earlier):
    """A row without times does not replace a timed row of the same case, unless it failed."""
    return bool(earlier and earlier.get("timing") and row["verdict"] == "pass" and not row.get("timing"))


def times_less(row, earlier, environments):
    """Two scenarios of one build may time a case in more modes and in fewer: the row with more of them stays."""
    if not earlier or row["verdict"] != "pass" or earlier["verdict"] != "pass":
        return False

    def modes_and_build(line):
        e = environments.get(line.get("run")) or {}
        return {mode for mode, timed in (line.get("timing") or {}).items() if timed}, e.get("commit"), e.get("build")

    (mine, *build), (theirs, *other) = modes_and_build(row), modes_and_build(earlier)
    return build == other and mine < theirs


def claims_of(lines, judged, machines, dates):
    """The latest judgement of each claim, but for scenarios in `judged`, whose claims are those there. A scenario's stay together, in its order,
    though their rows be of several runs."""
    lines = [claim for claim in lines if claim.get("scenario") not in judged]
    latest = {(machines.get(claim.get("run"), r.UNKNOWN_MACHINE), claim.get("id")): claim for claim in lines}
    claims = list(latest.values()) + [claim for some in judged.values() for claim in some]
    newest = {}
    for claim in claims:
        newest[claim.get("scenario")] = max(newest.get(claim.get("scenario"), ""), dates.get(claim.get("run"), ""))
    return sorted(claims, key=lambda c: (newest[c.get("scenario")], str(c.get("scenario"))))


def timed_rows(results, mode="cold"):
    return [row for row in results.rows if r.median(row, mode)]


def machines(results):
    """Those with timed rows, GPUs first, of them those with most."""
    count = collections.Counter()
    for row in timed_rows(results):
        gpu = (results.environment(row).get("gpu") or {}).get("name")
        count[results.machine(row)] += 1 + (10**6 if gpu else 0)
    return [name for name, _ in count.most_common()]


def main_machine(results):
    """Figures show one machine."""
    return next(iter(machines(results)), None)


def on_main_machine(results, rows):
    machine = main_machine(results)
    return [row for row in rows if results.machine(row) == machine]


def rows_of(results, op, dtype=None):
    """Of an op (and dtype) on the main machine."""
    rows = on_main_machine(results, timed_rows(results))
    return [row for row in rows if row["op"] == op and dtype in (None, row.get("dtype"))]


def other_params(row, *left_out):
    """The case without the named parameters, as something that can be compared."""
    params = row.get("params") or {}
    return tuple(sorted((k, str(v)) for k, v in params.items() if k not in left_out))


def groups(rows, *left_out, input_too=True):
    """(op, dtype, input, other parameters) -> rows that differ in the named parameters only."""

    def key(row):
        return row["op"], row.get("dtype"), row.get("input") if input_too else None, other_params(row, *left_out)

    return r.grouped(rows, key)


def by_case(rows):
    """case -> its rows, where any of them was timed."""
    found = r.grouped(rows, lambda row: row["case"])
    return {case: group for case, group in found.items() if any(map(r.median, group))}


def by_input(rows):
    """Groups of one problem that was timed on many inputs: the accuracy tables have their errors."""
    found = groups(rows, input_too=False).values()
    return [group for group in found if len({row["input"] for row in group if r.median(row)}) >= MANY_INPUTS]


def weight(row):
    """How well a case shows throughput: decades of its bytes above what moves in the time of a launch."""
    return max(0.1, math.log10(max(r.work_bytes(row) or 1, 1)) - 5)


def is_mean(row):
    return "mean" in str((row.get("params") or {}).get("agg"))


def value_of(row, swept):
    """Of one parameter, or of several that are swept together; None if the row lacks one."""
    values = tuple(r.number(row, name) for name in swept)
    return None if None in values else values


def sweeps_by(rows, *swept):
    """Groups that differ in these parameters and hold times at enough of their values."""
    found = groups([row for row in rows if value_of(row, swept)], *swept).values()
    return [group for group in found if len({value_of(row, swept) for row in group if r.median(row)}) >= LEAST_POINTS]


def find_sweeps(rows):
    """The parameter with most timed rows in sweeps and its groups; None and none."""
    names = sorted({name for row in rows for name in row.get("params") or {} if r.number(row, name) is not None})
    found = {name: sweeps_by(rows, name) for name in names}
    best = max(names, key=lambda name: sum(bool(r.median(row)) for group in found[name] for row in group), default=None)
    return (best, found[best]) if best and found[best] else (None, [])


def find_shapes(rows, shown):
    """Groups that differ in shape, of the shapes with more than one row, and of those of one row that no table has yet."""

    def is_shape(row):
        batch = r.number(row, "batch") or 0
        return batch > 1 or (batch == 1 and row["case"] not in shown)

    def points(group):
        return {r.number(row, "batch") for row in group if r.median(row)}

    return [group for group in sweeps_by(list(filter(is_shape, rows)), *SHAPE) if len(points(group)) >= LEAST_POINTS]


def longest_sweep(results, op, dtype, parameter, least):
    """The group with most times, of which a sweep is made; mean before the other aggregates where it is over the window; then the larger n; then
    the later. Its rows are of one campaign: lines of several cards or builds would be compared."""

    is_window = parameter == "window"

    def rank(group):
        return is_window and is_mean(group[0]), len(group), is_window and r.number(group[0], "n") or 0

    machine, found = main_machine(results), []
    for rows in reversed(results.campaigns.values()):
        mine = [row for row in rows if row["op"] == op and row["dtype"] == dtype and results.machine(row) == machine]
        found += groups([row for row in mine if r.median(row) and r.number(row, parameter)], parameter).values()
    long = (group for group in found if len({r.number(row, parameter) for row in group}) >= least)
    return max(long, key=rank, default=None)
