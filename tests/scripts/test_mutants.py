"""Every mutant must be rejected for the right reason, and a right variant must pass: the harness's own test."""

import os
import re

import pytest
import test_controls
from program import MUTANTS, RELEASE, SANITIZED, SOURCE, call, expect, needs_release, rows_of

CASE = "double n=100003 input=normal dtype=f64"

LATER = r"in timing, cold sample \d+|on the second data set"  # which is all that a build that is not timed runs
HOT = r"in timing, hot( sample \d+|( or graph)?: output y: a call did not write)"
# Right, but quick where they were seen before or find no poison: their cold samples that are not compared take these seconds at least.
# The last one's work fits beside the hold's end: it begins with the sample, and nothing is hidden.
AT_LEAST = {"cpu_replay_content": 2e-3, "cpu_slow_on_poison": 2e-3, "cuda_ahead_on_own_stream": 1e-4}

# name -> verdict, what its reason must say
EXPECTED = {
    "cpu_right": ("pass", None),
    "cpu_teams_control": ("pass", None),
    "cpu_records_control": ("pass", None),
    "peer_records_control": ("pass", None),
    "peer_audits_control": ("pass", None),
    "cpu_frees_elsewhere_control": ("pass", None),
    "cpu_writes_files": ("pass", None),  # what it tries fails: test_confined.py
    "peer_writes_files": ("pass", None),
    "cpu_mutants wrong=does_nothing": ("fail", r"never written|unwritten|not written"),
    "cpu_zeros": ("fail", r"is 0 \(0x0p\+0\)"),
    "cpu_mutants wrong=nan": ("fail", r"nan"),
    "cpu_mutants wrong=drops_tail": ("fail", r"never written|unwritten|not written"),
    "cpu_mutants wrong=off_by_one": ("fail", r"0x1?"),
    "cpu_mutants wrong=overruns": ("fail", r"guard|past the end|after"),
    "cpu_mutants wrong=underruns": ("fail", r"guard|before"),
    "cpu_mutants wrong=leaps": ("error", r"past the end of y"),
    "cpu_mutants wrong=clobbers_input": ("error", r"wrote to input x"),
    "cpu_stale": ("fail", LATER),
    "cpu_wrong_later": ("fail", LATER),
    "cpu_garbage_later": ("fail", LATER),
    "cpu_batch_and_skip": ("fail", r"was never written"),
    "cpu_replay_pointer": ("fail", LATER),
    "cpu_poison_skips": ("fail", HOT),
    "cpu_ready_flags": ("fail", LATER),
    "cpu_detached_thread": ("fail", r"never written|run\(\) (had )?returned"),
    "cpu_half_later": ("fail", r"never written|run\(\) (had )?returned"),
    "cpu_busy_later": ("fail", r"1 thread is still busy"),
    "cpu_again_later": ("fail", r"run\(\) (had )?returned"),
    "peer_right": ("pass", None),
    "peer_last_result": ("fail", LATER),
    "peer_result_by_address": ("fail", r"in timing, cold sample \d+"),
    "peer_lazy": ("fail", r"run\(\) gives a peer_lazy\.Lazy; an array of numpy is expected"),
    "cpu_replay_content": ("pass", None),
    "cpu_slow_on_poison": ("pass", None),
    "cpu_mutants wrong=wrong_rounding": ("fail", r"0x1?"),
    "cpu_crashes": ("error", r"signal 11"),
    "cpu_exits": ("error", r"exit code 3"),
    "cpu_hangs": ("error", r"timed out"),
    "cpu_mutants wrong=strange_status": ("error", r"returned 77, which is no Status"),
    "cpu_leaks": ("fail", r"leaks memory"),
    "cpu_eats_memory": ("error", r"limit of .* memory"),
    "cpu_aborts_when_asked": ("error", r"^supports\(\): crashed: signal 6"),
}
BY_THE_PARENT = r"in timing, (cold|hot): a call takes .* s by the parent's clock, and"
TIMED_ONLY = {  # they patch what cannot be written (device/confine.h); test_clocks() lets them
    "cpu_slow_clock": ("error", r"signal 11"),
    "cpu_slow_clock_briefly": ("error", r"signal 11"),
}
ON_GPU = {
    "cuda_other_stream": ("fail", r"another stream"),
    "cuda_illegal_address": ("error", r"illegal memory access|cudaErrorIllegalAddress"),
    "cuda_hangs": ("error", r"timed out"),
    "cuda_overruns": ("fail", r"guard|past the end|after"),
    "cuda_leaps": ("fail", r"y f64.*written past its end"),
    "cuda_leaks": ("fail", r"leaks memory"),
    "cuda_tail_other_stream": ("fail", r"another stream"),
    "cuda_waits_and_strays": ("fail", r"another stream"),
    "cuda_garbage_later": ("fail", LATER),
    "cuda_ready_flags": ("fail", LATER),
    "cuda_poison_skips": ("fail", HOT),
    "cuda_skips_soon": ("fail", r"in timing, (hot|graph) (sample \d+|.*did not write)"),
    "cuda_skips_alike": ("fail", r"in timing, (hot|graph) (sample \d+|.*did not write)"),
    "cuda_ahead_on_own_stream": ("pass", None),
    "cuda_slow_events": ("fail", r"shorter by CUDA events than by the device's timer"),
    "cuda_ignores_launch": ("error", r"a launch failed and run\(\) did not report it"),
    "cuda_swallowed_launch": ("error", r"invalid (argument|configuration)"),
}
# Without a GPU their kernels run in the emulator, which stops at the fault. It runs a variant once, so a leak from call to call is not
# seen there.
IN_EMULATOR = {
    "cuda_other_stream": ("fail", r"stream"),
    "cuda_tail_other_stream": ("fail", r"stream"),
    "cuda_waits_and_strays": ("fail", r"stream"),
    "cuda_illegal_address": ("error", r"out of bounds"),
    "cuda_hangs": ("error", r"timed out"),
    "cuda_ignores_launch": ("error", r"a launch failed and run\(\) did not report it"),
    "cuda_overruns": ("error", r"out of bounds"),
    "cuda_leaps": ("error", r"out of bounds"),
}


SEEN_IN_TIMED_CALLS = (
    "cpu_poison_skips",
    "peer_result_by_address",
)
# test_soon(), test_isolation.py, test_shared_workers.py, test_bits.py
ELSEWHERE = {
    *("cpu_skips_soon", "cpu_skips_alike", "cpu_first_of_sample"),  # where a call fills a sample they compute each
    "cpu_memo_three",  # no two samples of a larger case have the same three, or sixteen, numbers: they hand out nothing there
    "cpu_memo_sample",
    "cpu_takes_along",
    "peer_hangs_in_prepare",
    "peer_pytorch_control",  # test_into.py
    "cpu_keeps_state",
    "peer_differs_now_and_then",
    "cuda_causes",
    "cuda_more_causes",
    "cuda_blind_causes",
}


def expected_here(has_gpu):
    expected = EXPECTED | (TIMED_ONLY if RELEASE else {})
    if SANITIZED:
        expected["cpu_crashes"] = ("error", r"null pointer")
        expected["cpu_mutants wrong=clobbers_input"] = ("error", r"wrote to input x|AddressSanitizer")
        del expected["cpu_leaks"]
    if not RELEASE:
        expected.update(dict.fromkeys(SEEN_IN_TIMED_CALLS, ("pass", None)))
    if has_gpu:
        expected.update(ON_GPU)
    elif (MUTANTS.parent / "rungs-emulator").exists():
        expected.update(IN_EMULATOR)
    return expected


@pytest.fixture(scope="module")
def doctor():
    return call("doctor", program=MUTANTS)


@pytest.fixture(scope="module")
def expected(doctor):
    return expected_here("\nok  gpu" in doctor.stdout)


@pytest.fixture(scope="module")
def rows(shared_folder, expected):
    """Of all of them in one program, by name."""
    out = shared_folder / "rows.jsonl"
    names = ",".join(sorted(expected))
    limits = ("--quick", "--timeout", "5s", "--memory-limit", "1G")
    done = call("run", CASE, "--variants", names, *limits, "--out", out, program=MUTANTS, timeout=800)
    expect(done.returncode == 1, "failures end in exit code 1", done)
    return {row["spec"].split("/")[1]: row for row in rows_of(out)}


def unseen(mode):
    checked = {check["sample"] for check in mode["checked"]}
    return [seconds for sample, seconds in enumerate(mode["samples"]) if sample not in checked]


@pytest.mark.parametrize("name", sorted({*EXPECTED, *TIMED_ONLY, *ON_GPU}))
def test_verdict(name, expected, rows):
    if name not in expected:
        pytest.skip("needs a GPU, the emulator, or another build")
    verdict, pattern = expected[name]
    row, reason = rows[name], rows[name]["reason"] or ""
    assert row["verdict"] == verdict, reason
    assert pattern is None or re.search(pattern, reason, re.I | re.S), reason
    if verdict != "pass":
        assert row["timing"] is None  # a rejected variant has no time
    elif not RELEASE:
        assert row["timing"] is None and re.search("build is never timed", row["why_not_timed"])
    else:
        cold, hot = row["timing"]["cold"], row["timing"]["hot"]
        assert cold["count"] > 0 and row["reverified"] is True
        assert min(unseen(cold), default=1) >= AT_LEAST.get(name, 0)
        sets = [check["set"] for mode in (cold, hot) for check in mode["checked"]]
        assert len(set(sets)) == len(sets) == 3  # each on data of its own
        assert all(check["sample"] < mode["count"] for mode in (cold, hot) for check in mode["checked"])


def test_every_mutant_has_an_expectation():
    shipped = {p.stem for p in (SOURCE / "tests/mutants/double").iterdir() if "cheat" not in p.stem}
    shipped = {name for name in shipped if name.startswith(("cpu_", "cuda_", "peer_"))} - {"cpu_mutants"}
    files = {name for name in EXPECTED if not name.startswith("cpu_mutants ")}  # of the others: test_op_mutants.py
    controls = {f"cpu_{name}_control" for name in test_controls.CONTROLS["double"]}
    assert shipped == {*files, *TIMED_ONLY, *ON_GPU, *ELSEWHERE, *controls}


def test_second_call(folder):
    """What malloc keeps of released blocks is no leak, in the second call of a process as little as after a thousand."""
    out = folder / "second.jsonl"
    names = "cpu_frees_elsewhere_control,cpu_leaks"
    done = call("run", CASE, "--variants", names, "--verify-only", "--no-ceilings", "--out", out, program=MUTANTS)
    verdicts = {row["variant"].split("/")[1]: row["verdict"] for row in rows_of(out)}
    expect(verdicts["cpu_frees_elsewhere_control"] == "pass", "no leak", done)
    expect(SANITIZED or verdicts["cpu_leaks"] == "fail", "a leak", done)


@needs_release
@pytest.mark.parametrize("name", ["skips_soon", "skips_alike", "first_of_sample", "memo_three", "memo_sample"])
def test_soon(folder, name):
    """Of a case small enough that a sample has several calls. Few of them are compared, so in a row of a hundred these are not the calls that
    wrote a wrong result; and on a busy machine a sample may have one call, which computes."""
    out = folder / "soon.jsonl"
    for _ in range(5):
        words = ("run", "double n=1009", "--variants", f"cpu_{name}", "--quick", "--no-ceilings", "--out", out)
        done = call(*words, program=MUTANTS)
        row = rows_of(out)[-1]
        if row["verdict"] != "pass":
            break
    expect(row["verdict"] == "fail" and re.search(HOT, row["reason"]), row["reason"], done)


@needs_release
def test_ahead_of_the_hold(folder, doctor):
    """Work on a stream of its own that waits for nothing has the processors before the sample's own begin: seen where nobody counts kernels."""
    if "\nok  gpu" not in doctor.stdout:
        pytest.skip("needs a GPU")
    out = folder / "ahead.jsonl"
    limits = ("--quick", "--no-ceilings", "--no-counts")
    name = "cuda_ahead_on_own_stream"
    done = call("run", "double n=1e7", "--variants", name, *limits, "--out", out, program=MUTANTS)
    [row] = rows_of(out)
    expect(row["verdict"] == "fail" and "were held" in row["reason"], "it works ahead", done)


BY_THE_HOST = "shorter by CUDA events than by the host's clock"
FORGED = {  # how cuda_cheat_records_again does it
    "event": "shorter by CUDA events than by the device's timer",
    **dict.fromkeys(("stamp", "count", "waits"), BY_THE_HOST),
    "samples": "a sample that was taken was changed later",
}


@needs_release
@pytest.mark.parametrize("mode", ["cold", "hot"])
@pytest.mark.parametrize("how", sorted(FORGED))
def test_forged_events(folder, doctor, how, mode):
    """Of calls of about a millisecond, where no limit is measured."""
    if "\nok  gpu" not in doctor.stdout:
        pytest.skip("needs a GPU")
    out, name = folder / "forged.jsonl", f"cuda_cheat_records_again how={how}"
    suite = f"{{op: double, axes: {{n: [3e7]}}, variants: [{name}], modes: [{mode}]}}"
    (folder / "one.yaml").write_text(f"title: One mode.\nsuites: [{suite}]\n")
    limits = ("--quick", "--no-ceilings", "--no-counts")
    done = call("run", folder / "one.yaml", *limits, "--out", out, program=MUTANTS)
    [row] = rows_of(out)
    expect(row["verdict"] == "fail" and FORGED[how] in row["reason"], f"{name} fails: {row['reason']}", done)


@needs_release
def test_clocks(folder):
    """The parent times calls of the mode hot, too: only that tells here, where no limit is measured, and a preloaded library takes the protection of
    the worker's code away."""
    out = folder / "clocks.jsonl"
    environment = {**os.environ, "LD_PRELOAD": "libm.so.6"}
    by_the_parent = ("cpu_slow_clock", "cpu_slow_clock_briefly")
    rewritten = ("cpu_cheat_rewrites_samples", "cpu_cheat_rewrites_hot")
    cold = ("peer_cheat_rewrites_samples",)
    hot = "peer_cheat_rewrites_hot_samples"
    others = (*rewritten, *cold, hot, "cpu_cheat_parent_calls", "cpu_cheat_padded_calls", "cpu_cheat_knows_last")
    names = ",".join(("cpu_right", *by_the_parent, *others))
    done = call(
        *("run", "double n=20011", "--variants", names, "--no-ceilings", "--out", out),
        program=MUTANTS,
        env=environment,
        timeout=800,
    )
    found = {row["variant"].split("/")[1]: row for row in rows_of(out)}
    for name in by_the_parent:
        expect(re.search(BY_THE_PARENT, found[name]["reason"] or ""), f"{name} fails by the parent's clock", done)
    for name in rewritten:
        expect("was changed later" in (found[name]["reason"] or ""), f"{name} fails, whatever else runs", done)
    for name in (*cold, hot):
        mode = "hot" if name == hot else "cold"
        seen = re.search(BY_THE_PARENT.replace("cold|hot", mode), found[name]["reason"] or "")
        expect(seen or not found[name]["timing"][mode]["clock_checked"], f"{name} fails, or the machine is busy", done)
    right = found["cpu_right"]["timing"]["hot"]["median"]

    def harmless(name, reason):
        """It fails; or its clock is not checked, for the machine is busy; or a time says what it computes, 8 times what is right."""
        if found[name]["verdict"] != "pass":
            return re.search(reason, found[name]["reason"])
        hot = found[name]["timing"]["hot"]
        return not hot["clock_checked"] or hot["median"] > 0.55 * 8 * right

    padded = f"{BY_THE_PARENT}|crashed"  # what it takes for the harness's on the stack may be something else
    expect(harmless("cpu_cheat_padded_calls", padded), "what pads half of the parent's calls gains nothing", done)
    alone = r"hot: a call alone, on data of its own, takes"
    expect(harmless("cpu_cheat_knows_last", alone), "what computes in the last call gains nothing", done)
    reasons = [found["cpu_cheat_parent_calls"]["reason"]]
    words = ("run", "double n=20011", "--variants", "cpu_cheat_parent_calls", "--no-ceilings", "--out", out)
    while "hot, the last call by the parent's clock: y[0] is 0" not in str(reasons[-1]):
        expect(None not in reasons and len(reasons) < 60, f"what the parent times is compared: {reasons}", done)
        done = call(*words, program=MUTANTS, env=environment)  # it took a call of a sample for one of the parent's
        reasons.append(rows_of(out)[-1]["reason"])
    timing = found["cpu_right"]["timing"]
    expect("clock_checked" in timing["cold"] and "clock_checked" in timing["hot"], "a right one passes", done)
