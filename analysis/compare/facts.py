"""What decides whether two times may be compared: machine, CPUs, threads, and the variables that set them."""

from fnmatch import fnmatchcase

from analysis import rows as r
from analysis.compare.together import HOST_MODES

NOT_RECORDED = "not recorded"  # by a program that is older than the fact
THREADS = "threads used"
THREAD_VARIABLES = (
    "OMP_*",
    "GOMP_*",
    "KMP_*",
    "*_NUM_THREADS",
    "*_MAX_THREADS",
    "NUMBA_THREADING_LAYER",
    "MKL_DYNAMIC",
)


def facts_of(environment, row, mode):
    """Name -> value; None: unknown, whole or in part. What a process does not say of its CPUs `rungs ab` does, which started it."""
    machine = r.kind_of_machine(environment, row)
    if machine is None or r.device_of(row) != "cpu" and mode not in HOST_MODES:
        return machine
    told = {**(environment.get("ab") or {}), **(environment.get("cpu") or {})}
    quota = told.get("cpu_quota", NOT_RECORDED)
    variables = environment.get("variables") or {}
    chosen = ", ".join(
        f"{name}={value}"
        for name, value in sorted(variables.items())
        if any(fnmatchcase(name, glob) for glob in THREAD_VARIABLES)
    )
    used = {THREADS: row.get("threads", NOT_RECORDED)} if r.device_of(row) == "cpu" else {}
    return {
        **machine,
        "CPUs": told.get("cpus", NOT_RECORDED),
        "CPU quota": "none" if quota is None else quota,
        "thread variables": chosen or "none",
        **used,
    }


def other_machine(facts):
    """Why the times may not be compared, None if they may: every process of both sides must have run under the same circumstances. What an
    older program did not record yet differs from nothing."""
    everything = facts[0] + facts[1]
    if any(machine is None for machine in everything):
        return "a run without an environment line: its machine is unknown"
    for name in everything[0]:
        if name == THREADS:
            continue
        told = [value for value in (machine.get(name) for machine in everything) if value is not NOT_RECORDED]
        others = [value for value in told if value != told[0]]
        if others:
            return f"{name.replace('_', ' ')} " + " and ".join(
                "unknown" if v is None else str(v) for v in (told[0], others[0])
            )
    return other_threads(facts)


def other_threads(facts):
    """Their number may vary from process to process, and be unknown in some. Two sides that have none in common ran differently."""
    base, new = ({machine.get(THREADS) for machine in side} - {None, NOT_RECORDED} for side in facts)
    return f"{THREADS} {min(base)} and {min(new)}" if base and new and not base & new else None


def unknown_facts(facts):
    """(names that neither side knows, those that one side knows and the program of the other did not record, with that side)"""
    values = {
        name.replace("_", " "): [{machine.get(name) for machine in side} for side in facts] for name in facts[0][0]
    }
    nowhere = tuple(
        name
        for name, (base, new) in values.items()
        if base | new <= {None, NOT_RECORDED} and (name != THREADS or NOT_RECORDED in base | new)
    )
    one = tuple(
        f"{name} of {side}"
        for name, sides in values.items()
        for side, own, other in (("BASE", *sides), ("NEW", *reversed(sides)))
        if NOT_RECORDED in own and not other <= {None, NOT_RECORDED}
    )
    return nowhere, one
