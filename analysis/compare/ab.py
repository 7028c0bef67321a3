"""rungs ab: two builds, process by process in one random order, then compared. Started by harness/cli/builds.c, which has read the command line."""

import fcntl
import json
import os
import pathlib
import re
import runpy
import sys
import time
import types

from analysis import joined
from analysis.compare import __main__ as comparing
from analysis.compare import again, builds, detect
from analysis.compare.builds import GOOD, NOTHING, Failed, say
from analysis.foreign import terminal
from analysis.format import many
from analysis.lines import BadResults
from analysis.output import CHECK, MACHINE, USAGE, End, ends, run

SIDES = ("base", "new")
HARNESS = pathlib.Path(__file__).parents[2]


@ends
def main():
    between = sys.argv.index("--")
    builds.catch_signals()
    given = builds.given_by(sys.argv[1:between])
    try:
        return ab(given, comparing.arguments_of(sys.argv[between + 1 :]))
    except builds.Interrupted:
        return MACHINE
    except Failed as error:
        if error.code != CHECK:
            raise
        say(f"rungs: {terminal(error, lines=True)}")  # what is printed with this code is a table
        return CHECK


def ab(given, arguments):
    """-> exit code. arguments: of the comparison."""
    only = {name: values[0] for name, values in given.items()}
    repetitions, seed, limit = int(only["repetitions"]), int(only["seed"]), float(only["second-stage"])
    commits = commits_of(only) if "base" in given else ()
    programs = [built(only, side, commit) for side, commit in zip(SIDES, commits)] or given["program"]
    scenarios = builds.scenarios_of(only["project"], given["word"])
    os.makedirs(only["folder"], exist_ok=True)
    sides = [
        started(side, "base" in given, program, out, scenarios, given)
        for side, program, out in zip(SIDES, programs, (arguments.base, arguments.new))
    ]
    if "base" not in given and all(side.is_rungs for side in sides):
        if only["foreseen"]:
            say(only["foreseen"].removesuffix("\n"))
        if "nothing" in given:
            return NOTHING
    if "lock" in given:
        builds.wait_for_lock(only["lock"])
    check(sides)
    if "base" in given:
        there = builds.scenarios_in(pathlib.Path(programs[0]).parents[3], only["project"], given["word"])
        verify_removed(sides[0], there)
    order = Order(sides, json.loads(only["facts"]), seed, stages=2 if limit else 1)
    seconds = order.run(repetitions, stage=1)
    if limit:
        order.run_again(seconds, limit if limit > 0 else 2 * repetitions * seconds, arguments)
    print(f"rows: {arguments.base} {arguments.new}")
    return comparing.tell(arguments)


# ---- Builds.


def commits_of(only):
    """That both names mean now, before the first build, which takes minutes. Says what may not be meant."""
    git = runpy.run_path(str(HARNESS / "cmake/checkout.py"))
    refs, project = (only["base"], only["new"]), only["project"]
    commits = [git["commit"](project, ref) for ref in refs]
    if None in commits:
        raise End(f"'{terminal(refs[commits.index(None)])}' is not a commit of this repository")
    first, *more = (refs[1] == "HEAD" and git["changes"](project) or "").split("\n")
    if first:
        say(
            f"rungs ab: warning: NEW is HEAD; uncommitted changes ({terminal(first)}{', ...' if more else ''}) are in neither build. Commit them, or build both sides and name the programs"
        )
    if commits[0] == commits[1]:
        say("rungs ab: warning: BASE and NEW are the same commit; any difference is this machine's noise")
    python = f"{project}/build/python/bin/python"
    if os.access(python, os.X_OK):
        os.environ.setdefault("RUNGS_PYTHON", python)  # a worktree has none of its own
    return commits


in_use = []  # programs of commits, open and locked: cmake/build_ref.sh removes no such build


def built(only, side, commit):
    """The program of a commit, built in a worktree of its own below the build folder, where it is kept for the next time."""
    say(f"rungs ab: building {commit[:12]}")
    places = (only["project"], only["name"], commit, f"{only['build']}/ab/builds", only["build"])
    code, said = builds.run([str(HARNESS / "cmake/build_ref.sh"), *places])
    said = said.removesuffix("\n")
    if (
        code == CHECK
    ):  # by a NEW that does not compile a check failed; a BASE that does not leaves nothing to compare with
        raise Failed(f"{side.upper()}: {said}", CHECK if side == "new" else MACHINE)
    if code:
        raise Failed(said, USAGE if code == USAGE else MACHINE)
    try:
        in_use.append(open(said, "rb"))
        fcntl.flock(in_use[-1], fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError as error:
        raise Failed(f"{said} has been removed by another process: try again") from error
    return said


def started(side, is_commit, *how):
    try:
        return builds.Build(side, *how)
    except End as error:
        if not is_commit or error.code != USAGE:  # what we have built is a rungs
            raise
        raise Failed(f"{side.upper()} does not start: {error}", CHECK if side == "new" else MACHINE) from error


def check(sides):
    """Before an hour of measuring: are both what their files hold rows of, and what does each not know? What both leave out is an error."""
    left_out = [dict(re.findall(r"^left out: (.*)\n? *(.*)", side.check(), re.M)) for side in sides]
    for own, other, side, other_side in ((*left_out, *SIDES), (*left_out[::-1], *SIDES[::-1])):
        for what, why in own.items():
            if what in other:
                raise End(f"neither build runs {what}: {why}")
            say(
                f"rungs ab: {side} does not know this and leaves it out; only {other_side} runs it: {terminal(what)}\n    {terminal(why)}"
            )


# ---- Rows that scenarios of BASE have and those of this checkout have no longer: measured by neither, they would be gone without a word.


def planned(base, scenarios):
    """What BASE would run of them, or None: it does not say."""
    code, said = builds.run(base.words("--dry-run", "--json", scenarios=scenarios), quiet=True)
    try:
        rows = json.loads(said or "[]") if code in (GOOD, NOTHING) else None
    except ValueError:
        return None
    return rows if isinstance(rows, list) else None


def key(row):
    return row.get("case"), joined.spec(row.get("spec") or "")


def removed(before, now):
    """Of each row that this machine can run and that is gone, or is not timed in each of its modes any more: its modes that are lost, none where it is
    gone. A case may stand in several scenarios."""
    known = {key(row) for row in now}
    timed = {(key(row), mode) for row in now for mode in row.get("modes", ())}
    rows = {}
    for row in before:
        lost = [mode for mode in row.get("modes", ()) if key(row) in known and (key(row), mode) not in timed]
        if not row.get("skip") and row.get("backend") != "emulator" and (lost or key(row) not in known):
            rows.setdefault(key(row), []).extend(lost)
    return rows


def verify_removed(base, scenarios):
    """BASE verifies such rows once, and times them once in modes that are lost, so that the comparison finds them missing in NEW."""
    before, now = (planned(base, scenarios), planned(base, None)) if scenarios else ([], [])
    if before is None or now is None:
        say("rungs ab: warning: base does not list its rows; one that is taken out of a scenario is not noticed")
        return
    rows = removed(before, now)
    if not rows:
        return
    gone, untimed = ([one for one, lost in rows.items() if bool(lost) == has_lost] for has_lost in (False, True))
    for found, what, end in (
        (gone, "no longer in the scenarios", "base verifies them, new lacks them"),
        (untimed, "no longer timed in all of their modes", "base times them once"),
    ):
        for case, spec in found[:1]:
            first = terminal(f"{spec} | {case}" + (f": {rows[case, spec][0]}" if found is untimed else ""))
            say(
                f"rungs ab: {many(len(found), 'row')} of base {'is' if len(found) == 1 else 'are'} {what} ({first}{', ...' * (len(found) > 1)}); {end}"
            )
    _, _, lines = base.aside("--quick" if untimed else "--verify-only", scenarios=scenarios)
    kept = [line for line in map(json.loads, lines) if line["kind"] == "environment" or wanted(line, rows)]
    builds.append(base.out, map(builds.as_line, kept))
    base.held.hold()


def wanted(line, rows):
    """Is it one of these rows? Then it keeps its times in the modes that are lost: the others were not measured in turn with NEW's."""
    lost = rows.get(key(line)) if line["kind"] == "row" else None
    if lost and line.get("timing"):
        line["timing"] = {mode: line["timing"][mode] for mode in lost if mode in line["timing"]}
    return lost is not None


# ---- The order of processes.


def random_at(seed, index):
    """As in harness/base/rng.h: a seed gives the same order as ever."""
    word = (1 << 64) - 1
    z = (seed * 0xD1342543DE82EF95 + (index + 1) * 0x9E3779B97F4A7C15) & word
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & word
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & word
    return z ^ (z >> 31)


def drawn(count, seed):
    """Fisher and Yates: every order of `count` zeros and as many ones is as likely as any other."""
    order = [0] * count + [1] * count
    for i in range(2 * count - 1, 0, -1):
        k = random_at(seed, i) % (i + 1)
        order[i], order[k] = order[k], order[i]
    return order


class Order:
    """Processes of two builds in one random order, so that whatever drifts meanwhile - clocks, temperature, other users - falls on both alike. stages:
    planned before the first begins; their lines say so, and the comparison splits its level by them."""

    def __init__(self, sides, facts, seed, stages):
        self.sides, self.facts, self.seed, self.stages = sides, facts, seed, stages

    def run(self, repetitions, stage, until=None):
        """So many processes of each side, none that starts later than `until` -> seconds of one, on average."""
        total, began, seconds = 2 * repetitions, time.monotonic(), 0
        which = f", stage {stage} of {self.stages}" if self.stages > 1 else ""
        order = drawn(repetitions, self.seed + (stage - 1) * 0x100000)
        for i, side in enumerate(order):
            if until and time.monotonic() > until:
                say(f"rungs ab: no time left for {total - i} more processes; see --second-stage")
                break
            left = builds.time_left(began, i, total)
            say(f"rungs ab: {SIDES[side]}, process {i + 1} of {total}, seed {self.seed}{which}{left}")
            place = {"seed": self.seed, "side": SIDES[side], "process": i + 1, "of": total}
            stamp = {**self.facts, **place, "stage": stage, "stages": self.stages}
            self.sides[side].process(stamp, counts=side not in order[i + 1 :])  # its last: for what the builds changed
            seconds = (time.monotonic() - began) / (i + 1)
        return seconds

    def run_again(self, process_seconds, limit, arguments):
        """The second stage: ambiguous rows that seem slower get more processes at once, if there is time."""
        for side in self.sides:
            if not side.start_seconds:
                side.start()
        start = sum(side.start_seconds for side in self.sides) / 2
        times = types.SimpleNamespace(start=start, process=process_seconds, limit=limit)
        try:
            comparisons, _ = comparing.compare(arguments)
        except (BadResults, OSError):
            return  # the comparison that follows tells why
        promising, chosen = again.choose(comparisons, times)
        if promising and not chosen:
            say(f"rungs ab: no second stage: {again.too_long(comparisons, promising, times)}")
        if not chosen:
            return
        rows, seconds, variants = chosen
        say(
            f"rungs ab: second stage: {rows} ambiguous rows seem slower; {detect.MORE} more processes of each build, "
            f"about {seconds // 60} min {seconds % 60:02} s"
        )
        for side in self.sides:
            side.options["variants"] = variants
        self.run(detect.MORE, stage=2, until=time.monotonic() + limit)


if __name__ == "__main__":
    sys.exit(run(main))
