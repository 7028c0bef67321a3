"""One side of a comparison: every row of every process, none of them dropped for a later one; and what decides whether two times may be compared:
machine, CPUs, threads, and the variables that set them."""

import functools
import pathlib
import re
import typing
from fnmatch import fnmatchcase

from analysis import rows as r
from analysis.compare.together import HOST_MODES
from analysis.lines import BadResults, read_lines

CHANGED = "+changes"
# variables.RUNGS_AB of older rows
NOTE = re.compile(r"(base|new), process (\d+) of \d+, seed (\d+)(?:, stage (\d) of (\d))?")


class Session(typing.NamedTuple):
    """Processes in one random order. id: of one call of `rungs ab`, whatever its seed; in older rows the seed. Equal where the order is the same."""

    id: str
    stage: int
    stages: int


class Side:
    """BASE or NEW: environments by run, and rows[key][run]: a run is one process for each of its rows."""

    def __init__(self, path):
        self.path = str(path)
        self.environments = {}
        self.rows = {}
        self.warnings = []
        for line in read_lines(pathlib.Path(path), self.warnings):
            if line["kind"] == "environment":
                self.environments[line.get("run")] = line
            elif line["kind"] == "row":  # the same row twice in a run: the later one
                self.rows.setdefault(key_of(r.with_defaults(line)), {})[line.get("run")] = line

    def one_build(self):
        """Itself; processes of different builds are not repetitions of one another. Changes beside one commit only make a warning: the
        rows themselves, written into the checkout, make it a changed one while they are taken."""
        runs = set(self.runs())
        labels = {}
        for run, e in self.environments.items():
            if run in runs:
                labels.setdefault(self.session(run) and self.session(run).id or run, []).append(build_of(e))
        builds = sorted({first for first, *_ in labels.values()})
        moved = sorted({label for some in labels.values() for label in some} - set(builds))
        if moved:  # one program: only what it calls itself changed with the checkout
            self.warnings.append(
                f"{self.path}: the checkout's commit changed while rungs ab ran; its programs did not: {', '.join([*builds, *moved])}"
            )
        if len(builds) > 1 and len({build.removesuffix(CHANGED) for build in builds}) == 1:
            self.warnings.append(
                f"{self.path}: some runs with and some without changes to the commit: {', '.join(builds)}; if they touched what is "
                "measured, keep the rows of each in its own file (another --out)"
            )
        elif len(builds) > 1:
            raise BadResults(
                f"{self.path}: rows of different builds: {', '.join(builds)}; keep the rows of each build in its own file (another --out)"
            )
        return self

    def one_side(self):
        """Itself; BASE and NEW of one call of `rungs ab` in one file are neither."""
        sides = {}
        for run in self.runs():
            session, _, side = self.turn(run)
            if session:
                sides.setdefault(session.id, set()).add(side)
        if any(len(found) > 1 for found in sides.values()):
            raise BadResults(
                f"{self.path}: rows of both sides of one rungs ab; keep BASE and NEW in files of their own"
            )
        return self

    def session(self, run):
        """The Session that `rungs ab` stamped on the run's lines; None: it was part of none."""
        return self.turn(run)[0]

    def place(self, run):
        """In that order, from 1; None: in none."""
        return self.turn(run)[1]

    def turn(self, run):
        """(Session, place, "base" or "new"); None each where it was part of none."""
        environment = self.environments.get(run) or {}
        if stamp := environment.get("ab"):
            session = Session(str(stamp.get("session")), stamp.get("stage", 1), stamp.get("stages", 1))
            return session, stamp.get("process"), stamp.get("side")
        if found := NOTE.fullmatch((environment.get("variables") or {}).get("RUNGS_AB") or ""):
            return Session(f"seed {found[3]}", int(found[4] or 1), int(found[5] or 1)), int(found[2]), found[1]
        return None, None, None

    def asked(self, run):
        """What the run was asked to do, as far as it decides which rows it makes: a run resumed was asked what the one before it was."""
        words = [str(word) for word in (self.environments.get(run) or {}).get("argv") or []]
        return tuple(r.asked_of(words[1:]))

    @functools.cached_property
    def attempts(self):
        """asked() -> how many runs were, of which each could hold every row that one of them holds. One that resumes is no attempt of its
        own; one that was cut off is."""
        found = {}
        for run in {*self.environments, *self.runs()}:
            resumes = "--resume" in ((self.environments.get(run) or {}).get("argv") or [])
            found[self.asked(run)] = found.get(self.asked(run), 0) + (not resumes)
        return found

    def runs(self):
        return sorted({run for rows in self.rows.values() for run in rows}, key=str)

    def every_row(self):
        return [row for rows in self.rows.values() for row in rows.values()]

    def dates(self):
        return sorted(str(self.environments[run].get("date")) for run in self.runs() if run in self.environments)

    def commits(self):
        return sorted({build_of(e) for e in self.environments.values()})


def build_of(environment):
    return str(environment.get("commit") or "unknown")[:12] + (CHANGED if environment.get("dirty") else "")


def key_of(row):
    """What must agree for two rows to be the same measurement; how it was verified is part of it."""
    return row["case"], row["spec"], r.is_emulated(row), r.is_declared(row)


def timed(row, mode):
    found = (row.get("timing") or {}).get(mode)
    return found if found and found.get("samples") else None


NOT_RECORDED = "not recorded"  # by a program that is older than the fact
THREADS = "threads used"
THREAD_VARIABLES = "OMP_* GOMP_* KMP_* *_NUM_THREADS *_MAX_THREADS NUMBA_THREADING_LAYER MKL_DYNAMIC".split()


def facts_of(environment, row, mode):
    """Name -> value; None: unknown, whole or in part. What a process does not say of its CPUs `rungs ab` does, which started it."""
    machine = r.kind_of_machine(environment, row)
    if machine is None or r.device_of(row) != "cpu" and mode not in HOST_MODES:
        return machine
    known = {**(environment.get("ab") or {}), **(environment.get("cpu") or {})}
    quota = known.get("cpu_quota", NOT_RECORDED)
    variables = sorted((environment.get("variables") or {}).items())
    chosen = [f"{name}={value}" for name, value in variables if any(fnmatchcase(name, g) for g in THREAD_VARIABLES)]
    facts = {"CPUs": known.get("cpus", NOT_RECORDED), "CPU quota": "none" if quota is None else quota}
    facts["thread variables"] = ", ".join(chosen) or "none"
    used = {THREADS: row.get("threads", NOT_RECORDED)} if r.device_of(row) == "cpu" else {}
    return {**machine, **facts, **used}


def other_machine(facts):
    """Why the times may not be compared, None if they may: every process of both sides must have run in the same environment. What an
    older program did not record yet differs from nothing."""
    everything = facts[0] + facts[1]
    if any(machine is None for machine in everything):
        return "a run without an environment line: its machine is unknown"
    for name in everything[0]:
        if name == THREADS:
            continue
        recorded = [value for value in (machine.get(name) for machine in everything) if value is not NOT_RECORDED]
        others = [value for value in recorded if value != recorded[0]]
        if others:
            words = ("unknown" if v is None else str(v) for v in (recorded[0], others[0]))
            return f"{name.replace('_', ' ')} {' and '.join(words)}"
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
