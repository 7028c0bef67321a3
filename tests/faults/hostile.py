"""Hostile variants and libraries: each costs its own row and nothing else. For every fault of the tables: the row says what happened, the
next variant passes, the file is whole, no file and no process is left."""

import collections
import concurrent.futures
import json
import os
import subprocess

from faults import CASE, FULL, HOSTILE, Part, Sandbox, matches

# One fault: where, what, what its row must say ("verdict: reason"), and words if it is known not to be survived yet.
Fault = collections.namedtuple("Fault", "at how says slow known environment", defaults=(False, None, ()))

TIMED_OUT, PASSES, ANY = r"^error: .*timed out", r"^pass:", r"^(pass|error|fail|skip):"
CRASHED = {
    "be_aborted": 6,
    "segv": 11,
    "bus": 7,
    "ill": 4,
    "fpe": 8,
    "kill_self": 9,
    "kill_group": 9,
    "overflow_stack": 11,
    "free_twice": 6,
    "alarm_clock": 14,
    "crash_in_thread": 11,
}
ENDED = {"exit_0": 0, "exit_3": 3, "end_at_once": 0, "replace_program": 0}
# What a deed of deeds.h comes to, wherever it is done.
SAYS = {
    **{how: rf"^error: .*signal {number}\b" for how, number in CRASHED.items()},
    **{how: rf"^error: .*exit code {code}\b" for how, code in ENDED.items()},
    **{how: TIMED_OUT for how in ("hang", "spin", "stop", "hang_deaf")},
    "jump_nowhere": r"^error: .*signal (4|6|11)\b",
    "free_foreign": r"^error: .*signal (6|11)\b",
    "smash_heap": r"^error: .*signal (6|11)\b",
    "cpu_limit": r"^error: .*(signal (9|24)\b|timed out)",
    "eat_memory": r"^error: .*(limit of .* memory|timed out)",  # whichever comes first on a busy machine
    "abort_at_exit": r"^error: .*signal 6\b",
    "hang_at_exit": TIMED_OUT,
    "reply_garbage": r"^error: .*not a JSON object",
    "reply_list": r"^error: .*not a JSON object",
    "reply_nul": r"^error: .*(not a JSON object|timed out)",
    "reply_cut": TIMED_OUT,
    "reply_forged": r"^(fail|error): .",
    "reply_deep": r"^error: .*not a JSON object",
    "reply_huge": r"^error: .*(more than 64 MiB|timed out)",
    "print_gigabyte": r"^error: .*(printed more than|timed out)",
    "close_all": r"^error: .",
    "close_replies": r"^error: .",
    "leave_child": r"^(pass|error):",  # with no process left, whatever the row says of it
    "leave_daemon": r"^(pass|error):",
    "leave_many": r"^(pass|error):",
    "few_files": r"^(pass|error):",
    "small_files": r"^(pass|error):",
    "little_memory": r"^(pass|error):",
    **{
        how: PASSES
        for how in (
            "nothing",
            "print_much",
            "write_everywhere",
            "change_folder",
            "remove_folder",
            "block_signals",
            "change_mask",
            "round_up",
            "lose_environment",
        )
    },
}
EVERYWHERE = ("be_aborted", "segv", "exit_0", "hang", "leave_daemon", "kill_group", "reply_garbage")
# With --full only: what takes seconds, and what differs little from another.
SLOW = (
    "print_gigabyte",
    "reply_huge",
    "bus",
    "fpe",
    "exit_3",
    "kill_self",
    "spin",
    "reply_list",
    "free_foreign",
    "change_mask",
    "cpu_limit",
)
SOON = {
    "be_aborted": ("supports", "scratch", "configuration", "prepare", "again", "release"),
    "hang": ("supports", "prepare", "release"),
    "exit_0": ("supports", "release"),
    "leave_daemon": ("supports", "release"),
    "kill_group": ("supports",),
}


def variant_faults():
    for how, says in SAYS.items():
        yield Fault("run", how, says, slow=how in SLOW)
    for at in ("supports", "scratch", "configuration", "prepare", "again", "release"):
        for how in EVERYWHERE:
            yield Fault(at, how, SAYS[how], slow=at not in SOON.get(how, ()))
    yield from (
        Fault("supports", "lie", r"^skip: ."),
        Fault("supports", "refuse", r"^skip: ."),
        Fault("scratch", "lie", r"^(error|skip): ."),
        Fault("configuration", "lie", r"^(pass|error):"),
        Fault("configuration", "refuse", r"^error: ."),
        Fault("configuration", "overflow", r"^error: ."),
        Fault("prepare", "lie", r"^error: ."),
        Fault("prepare", "refuse", r"^error: ."),
        Fault("prepare", "stop", TIMED_OUT, slow=True),
        Fault("run", "lie", r"^error: ."),
        Fault("run", "refuse", r"^(skip|error): ."),
        Fault("again", "lie", r"^error: ."),
        Fault("again", "stop", TIMED_OUT, slow=True),
        Fault("release", "lie", r"^error: .*signal 6\b"),
        Fault("release", "exit_3", SAYS["exit_3"], slow=True),
        Fault("release", "eat_memory", SAYS["eat_memory"], slow=True),
    )
    for how in ("be_aborted", "exit_0", "leave_daemon"):  # as its module is loaded, which no other variant's is
        yield Fault(
            "nowhere", "nothing", ANY, environment=(("RUNGS_HOSTILE_CONSTRUCTOR", how),), slow=how != "be_aborted"
        )


LIBRARY_SLOW = (
    "raise_nothing",
    "raise_long",
    "raise_memory",
    "be_aborted",
    "end_at_once",
    "stop",
    "hang",
    "spin_c",
    "close_all",
    "reply_garbage",
    "print_much",
    "thread_forever",
    "replace_stdout",
    "nan_seconds",
    "hang_at_exit",
)


def library_faults():
    yield from (
        Fault("run", how, says, slow=how in SLOW or how in LIBRARY_SLOW)
        for how, says in {
            "nothing": PASSES,
            "raise_error": r"^error: RuntimeError: hostile",
            "raise_exit": r"^error: .*(exit code 3|SystemExit)",
            "raise_interrupt": r"^error: .*(KeyboardInterrupt|signal 2|exit code)",
            "raise_surrogate": r"^error: .*ValueError",
            "raise_nothing": r"^error: Exception",
            "raise_long": r"^error: ValueError: xxx",
            "raise_memory": r"^error: MemoryError",
            "recurse": r"^error: .*(RecursionError|signal 11)",
            "segv": SAYS["segv"],
            "be_aborted": SAYS["be_aborted"],
            "end_at_once": SAYS["end_at_once"],
            "exit_3": SAYS["exit_3"],
            "kill_self": SAYS["kill_self"],
            "stop": TIMED_OUT,
            "hang": TIMED_OUT,
            "hang_deaf": TIMED_OUT,
            "spin_c": TIMED_OUT,
            "eat_memory": SAYS["eat_memory"],
            "close_replies": r"^error: .",
            "close_all": r"^error: .",
            "reply_garbage": SAYS["reply_garbage"],
            "reply_huge": SAYS["reply_huge"],
            "print_much": PASSES,
            "leave_daemon": SAYS["leave_daemon"],
            "hang_at_exit": TIMED_OUT,
            "abort_at_exit": SAYS["abort_at_exit"],
            "thread_forever": TIMED_OUT,
            "replace_stdout": PASSES,
            "nan_seconds": r"^(pass|error):",
        }.items()
    )
    yield from (
        Fault("supports", "bad_answer", r"^(skip|error): ."),
        Fault("supports", "raise_error", r"^error: RuntimeError"),
        Fault("prepare", "segv", SAYS["segv"]),
        Fault("prepare", "raise_exit", r"^error: .*(exit code 3|SystemExit)"),
        Fault("run", "write_input", r"^(error|fail): ."),
        Fault("again", "be_aborted", SAYS["be_aborted"], slow=True),
        Fault("again", "hang", TIMED_OUT, slow=True),
        Fault("run", "wrong_shape", r"^fail: output y is float64"),
        Fault("run", "reply_forged", r"^(fail|error): ."),
        Fault("absent", "", r"^skip: .*a_module_that_nobody_has"),
        Fault("quits", "", r"^error: .*exit code 0"),
    )


def name_of(kind, fault):
    """What --variants takes."""
    if kind == "peer" and not fault.how:
        return f"peer_{fault.at}"
    return f"{kind}_hostile at={fault.at} how={fault.how}"


def judge_rows(rows, fault, variant):
    """What is wrong with the rows; "" if nothing is."""
    told = {row["variant"].split("/")[1]: row for row in rows}
    hostile, right = told.get(variant.split()[0]), told.get("cpu_right")
    if hostile is None or len(rows) != 2:
        return f"{len(rows)} rows, 2 were expected"
    says = f"{hostile['verdict']}: {hostile['reason'] or ''}"
    if not matches(fault.says, says):
        return f"its row says '{says[:300]}', expected {fault.says}"
    if hostile["verdict"] != "pass" and not hostile["reason"]:
        return f"the row is {hostile['verdict']} without a reason"
    if right is None or right["verdict"] != "pass" or right["errors"]["y"]["max_absolute"] != 0:
        return f"the next variant's row is not right: {right and (right['verdict'], right['reason'])}"
    return ""


def try_fault(kind, fault):
    """(fault, what is wrong)."""
    variant = name_of(kind, fault)
    with Sandbox() as sandbox:
        out = sandbox.folder / "rows.jsonl"
        code, printed, said = sandbox.call(
            HOSTILE,
            "run",
            CASE,
            "--variants",
            f"{variant},cpu_right",
            "--verify-only",
            "--timeout",
            "2s",
            "--memory-limit",
            "256M",
            "--out",
            out,
            environment=fault.environment,
            seconds=40,
        )
        if code not in (0, 1):
            return fault, f"the program ended with {code}: {said[-300:]}"
        try:
            rows = sandbox.rows(out)
        except ValueError as error:
            return fault, f"the rows cannot be read: {error}"
        return fault, judge_rows(rows, fault, variant) or sandbox.left_behind()


def untested(kind, faults):
    """Deeds and places that the program has and no fault of the table uses."""
    listed = json.loads(subprocess.run([HOSTILE, "list", "variants", "--json"], capture_output=True, check=True).stdout)
    tunables = next(item["tunables"] for item in listed if item["id"] == f"double/{kind}_hostile")
    choices = {choice for tunable in tunables for choice in tunable["choices"]}
    return (
        choices - {word for fault in faults for word in (fault.at, fault.how)} - {"nowhere", "leave_and_hang"}
    )  # the latter is of ends.py


def main():
    part = Part("hostile")
    for kind, title, faults in (
        ("cpu", "hostile variant", list(variant_faults())),
        ("peer", "hostile library", list(library_faults())),
    ):
        missed = untested(kind, faults)
        if missed:
            raise SystemExit(f"BAD  {title}: no fault of the table uses {', '.join(sorted(missed))}")
        chosen = [fault for fault in faults if FULL or not fault.slow]
        print(f"{title}: {len(chosen)} of {len(faults)} faults", flush=True)
        with concurrent.futures.ThreadPoolExecutor(2 * (os.cpu_count() or 1) + 2) as pool:
            for fault, wrong in pool.map(lambda fault: try_fault(kind, fault), chosen):
                what = " ".join(
                    word for word in (fault.at, fault.how, *(value for _, value in fault.environment)) if word
                )
                part.tell(title, what, wrong, known=fault.known)
    part.end()


if __name__ == "__main__":
    main()
