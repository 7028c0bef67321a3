"""Each sentence of SECURITY.md that promises something is held by tests: named here, with the words by which they are found. A promise without a
line here, a line whose promise is gone, and a test that is gone are failures."""

import re

import pytest
from checkout import SOURCE

SANDBOX = [
    ("tests/scripts/test_sandbox.py", "def test_nothing_is_reached_in_a_sandbox"),
    ("tests/scripts/test_sandbox.py", "def test_the_attacks_reach_it_without"),
]
# the beginning of a promise -> (file, words in it) of what holds it
HELD = {
    "A worker is a process of its own so that a crash, a hang or a leak costs one row": [
        ("tests/faults/hostile.py", "hostile variant"),
        ("tests/scripts/test_mutants.py", '"cpu_hangs"'),
        ("tests/scripts/test_mutants.py", '"cpu_leaks"'),
    ],
    "Rows, scenarios, `.npy`, CSV and Arrow files are data": [
        ("tests/faults/inputs.py", "a row that is not as described"),
        ("tests/scripts/test_rows_read.py", "refused alike"),
        ("tests/fuzz/check.py", '"npy"'),
        ("tests/fuzz/columns.py", "fuzz"),
    ],
    "Text of such files is shown, not obeyed": [
        ("tests/scripts/test_foreign.py", "test_hostile_rows_through_every_verb"),
        ("tests/unit/test_foreign.c", "the_table"),
    ],
    "The first start installs packages": [
        ("tests/scripts/test_start.py", "test_a_missing_package_is_named_and_how_to_get_it")
    ],
    "connect to something": SANDBOX,
    "read what others have in /tmp": SANDBOX,
    "write to /usr": SANDBOX,
    "see other processes": SANDBOX,
    "signal or trace them": SANDBOX,
    "use the privileges of root": SANDBOX,
    "change its inputs unseen": [
        ("tests/scripts/test_mutants.py", '"cpu_mutants wrong=clobbers_input"'),
        ("tests/mutants/double/cpu_cheat_zeroes_inputs.c", "inputs"),
    ],
    "find the expected output": [
        ("tests/mutants/double/cpu_cheat_parent_memory.c", "parent"),
        ("tests/scripts/test_isolation.py", "def test_a_worker_inherits_no_descriptor"),
        ("tests/mutants/double/peer_cheat_finds_output.py", "output"),
    ],
    "return the result of an earlier call": [
        ("tests/scripts/test_mutants.py", '"cpu_replay_pointer"'),
        ("tests/scripts/test_mutants.py", '"cpu_memo_sample"'),
    ],
    "compute only where it is looked at": [
        ("tests/scripts/test_verification.py", "def test_a_cheat_gets_the_verdict"),
        ("tests/mutants/double/cpu_cheat_random_skip.c", "one of ten"),
        ("tests/mutants/double/cpu_cheat_helper_thread.c", "fills y while"),
        ("tests/mutants/double/cpu_cheat_helper_process.c", "CLONE_VM"),
        ("tests/mutants/double/cpu_cheat_fault_handler.c", "SIGSEGV"),
        ("tests/mutants/double/cpu_cheat_timer_signal.c", "timer"),
        ("tests/mutants/double/cpu_cheat_user_fault.c", "userfaultfd"),
        ("tests/unit/test_threads.c", "between_two_calls"),
    ],
    "leave word for the next worker": [
        ("tests/scripts/test_confined.py", "def test_no_worker_leaves_word_for_the_next")
    ],
    "change what its results are compared with": [
        ("tests/scripts/test_verification.py", "def test_a_cheat_gets_the_verdict"),
        ("tests/mutants/double/cpu_cheat_proc_mem.c", "/proc/self/mem"),
        ("tests/mutants/double/peer_cheat_patched_compare.py", "comparisons"),
        ("tests/mutants/double/peer_cheat_zeroes_inputs.py", "inputs"),
    ],
    "change what another row, now or later, is judged by": [
        ("tests/scripts/test_confined.py", "def test_nothing_that_decides_a_row_can_be_written"),
        ("tests/scripts/test_confined.py", "def test_without_landlock_it_is_said_and_nothing_is_kept"),
    ],
    "pass with less than every element": [
        ("tests/scripts/test_mutants.py", '"cpu_mutants wrong=drops_tail"'),
        ("tests/scripts/test_mutants.py", '"cpu_mutants wrong=nan"'),
    ],
    "pass by chance or by a loose tolerance": [
        ("tests/scripts/test_verification.py", "def test_verdicts_of_a_gpu_are_taken_in"),
        ("tests/scripts/test_mutants.py", '"cpu_mutants wrong=wrong_rounding"'),
    ],
    "What it gains is bounded": [
        ("tests/scripts/test_mutants.py", '"cpu_slow_clock"'),
        ("tests/scripts/test_mutants.py", "def test_clocks"),
    ],
    "docs/data/verification.md lists each attempt": [
        ("tests/scripts/test_verification.py", "def test_a_cheat_gets_the_verdict")
    ],
}
NO_PROMISE = r"\*\*Run only|By itself it is no sandbox|All of it has|Code from others|A checkout is code|Read a foreign|`rungs` runs native|The parent process, the build|A variant is not"


def promises(text):
    """Cells of the table, and sentences of the first two parts."""
    text = text.split("## Reporting")[0]
    for line in text.splitlines():
        if line.startswith("| ") and not line.startswith("| what"):
            yield line.split("|")[1].strip()
    for line in re.sub(r"\s+", " ", "\n".join(line for line in text.splitlines() if line.startswith("- "))).split("- "):
        if line.strip() and not re.match(NO_PROMISE, line.strip()):
            yield line.strip()


TEXT = (SOURCE / "SECURITY.md").read_text()


@pytest.mark.parametrize("promise", list(promises(TEXT)), ids=lambda promise: promise[:40])
def test_a_test_is_named_for_each_promise(promise):
    assert any(promise.startswith(begin) for begin in HELD)


@pytest.mark.parametrize("begin", HELD)
def test_what_holds_a_promise_is_there(begin):
    assert begin in re.sub(r"\s+", " ", TEXT), "SECURITY.md does not say so any more"
    for name, words in HELD[begin]:
        assert words in (SOURCE / name).read_text(), f"{name} has no {words}"
