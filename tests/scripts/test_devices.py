"""`run --devices`: on several GPUs at once. CPUs stand in for them (RUNGS_STAND_IN_DEVICES); what two GPUs do is tried where there are two."""

import os
import pathlib
import signal
import subprocess
import time

import pytest
from program import MUTANTS, RUNGS, call, expect, expect_error, needs_gpu, needs_release, rows_of

CASES = [f"double n=10007 seed={seed}" for seed in range(1, 7)]
SLOW = [f"rolling n=1e5 window=1000 agg=max seed={seed}" for seed in range(1, 7)]  # a naive call takes a while
STAND_IN = {**os.environ, "RUNGS_STAND_IN_DEVICES": "2"}


def words(out, *more, variants="cpu_right,cpu_zeros", cases=CASES, devices="all"):
    return ["run", *cases, "--variants", variants, "--verify-only", "--devices", devices, "--out", out, *more]


def run(folder, *more, env=STAND_IN, **what):
    out = folder / "rows.jsonl"
    done = call(*words(out, *more, **what), program=MUTANTS, env=env)
    return done, rows_of(out)


def devices_of(rows):
    """case -> the GPUs that made its rows. Of stand-ins rows name none: their cores tell."""
    found = {}
    for row in rows:
        found.setdefault(row["case"], set()).add(row["gpu"] and row["gpu"]["index"])
    return found


def test_every_row_is_made_once(folder):
    done, rows = run(folder, variants="cpu_right,cpu_zeros,peer_right")
    made = sorted((row["case"].split("seed=")[1], row["variant"]) for row in rows)
    expected = sorted((str(s), f"double/{v}") for s in range(1, 7) for v in ("cpu_right", "cpu_zeros", "peer_right"))
    expect(made == expected, f"each row once: {made}", done)
    assert all((row["verdict"] == "fail") == row["variant"].endswith("zeros") for row in rows)
    lines = [line for line in done.stderr.splitlines() if "/18 " in line]
    assert sorted(int(line.split("/")[0]) for line in lines) == list(range(1, 19)), done.stderr
    expect(len({row["run"] for row in rows}) == 1, "all are of one run", done)
    order = [row["variant"] for row in rows]
    assert order[-6:] == ["double/peer_right"] * 6, "who runs on no GPU comes last"


def test_rows_of_a_case_lie_together(folder):
    _, rows = run(folder)
    cases = [row["case"] for row in rows]
    assert all(cases[i] == cases[i + 1] for i in range(0, 12, 2)), "a case is written once it is whole, from one GPU"


def test_resumed(folder):
    run(folder, cases=CASES[:3])
    done, rows = run(folder, "--resume")
    assert len(rows) == 12 and "6 rows already present" in done.stdout, done


def children_of(pid):
    text = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text()
    return [int(word) for word in text.split()]


def name_of(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace")
    except OSError:
        return ""


def wait_for(find, seconds=30):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if found := find():
            return found
        time.sleep(0.005)
    raise AssertionError("it did not come")


@pytest.mark.parametrize("who", ["gpu", "worker"])
def test_who_is_killed_costs_no_case(folder, who):
    out = folder / "rows.jsonl"
    command = [RUNGS, *map(str, words(out, "--fresh-workers", variants="cpu_naive,cpu_online", cases=SLOW))]
    with subprocess.Popen(command, env=STAND_IN, stderr=subprocess.PIPE, text=True) as program:
        gpus = wait_for(lambda: len(found := children_of(program.pid)) >= 2 and found)
        find = lambda: [pid for pid in children_of(gpus[1]) if "--commands" in name_of(pid)]  # noqa: E731
        wait_for(find)
        cores = [os.sched_getaffinity(pid) for pid in gpus]
        time.sleep(0.1)
        for pid in [gpus[1]] if who == "gpu" else find():
            os.kill(pid, signal.SIGKILL)
        said = program.communicate(timeout=200)[1]
    assert not cores[0] & cores[1] or os.cpu_count() < 2, "references of one GPU's rows disturb no other GPU's"
    rows = rows_of(out)
    made = sorted((row["case"], row["variant"], row["verdict"]) for row in rows)
    assert len(made) == 12 == len(set(made)) and {row["verdict"] for row in rows} == {"pass"}, (made, said)
    assert ("GPU 1 is lost" if who == "gpu" else "GPU 1 lost a worker") in said, said


def test_who_ends_the_program_ends_all(folder):
    out = folder / "rows.jsonl"
    command = [RUNGS, *map(str, words(out, variants="cpu_naive", cases=SLOW))]
    with subprocess.Popen(command, env=STAND_IN, stderr=subprocess.PIPE, text=True) as program:
        gpus = wait_for(lambda: len(found := children_of(program.pid)) >= 2 and found)
        program.send_signal(signal.SIGTERM)
        program.communicate(timeout=30)
    assert program.returncode == 128 + signal.SIGTERM
    wait_for(lambda: not any(name_of(pid) for pid in gpus), 10)


@pytest.mark.parametrize("devices", ["", "1,0", "0,0", "0,", "x", "-1", "0 1", ",".join(map(str, range(17)))])
def test_what_is_no_list(folder, devices):
    done = call(*words(folder / "rows.jsonl", devices=devices), program=MUTANTS)
    expect_error(done, 2, "--devices", "such as 0,1")


def test_a_second_gpu_that_is_not_there(folder):
    env = {**os.environ, "RUNGS_STAND_IN_DEVICES": "1"}
    done, rows = run(folder, env=env, devices="0,1")
    assert len(rows) == 12 and "there is no GPU 1 here" in done.stderr, done.stderr


@pytest.mark.skipif(not pathlib.Path("/proc/driver/nvidia/gpus").is_dir(), reason="no GPU")
@needs_gpu
@needs_release
def test_two_gpus(folder):
    if len(list(pathlib.Path("/proc/driver/nvidia/gpus").iterdir())) < 2:
        pytest.skip("one GPU")
    out = folder / "rows.jsonl"
    cases = [f"rolling n={n} window=100 agg={agg}" for n in (10**6, 10**7) for agg in ("mean", "sum")]
    done = call("run", *cases, "--variants", "cuda_naive,cpu_naive", "--quick", "--devices", "all", "--out", out)
    rows = rows_of(out)
    expect(len(rows) == 8 and all(row["verdict"] == "pass" for row in rows), "all rows pass", done)
    of = devices_of([row for row in rows if row["backend"] == "cuda"])
    assert all(len(indices) == 1 for indices in of.values()), of
    shared = "works alone" not in done.stderr
    assert {i for indices in of.values() for i in indices} == ({0, 1} if shared else {0}), (of, done.stderr)
    uuids = {(row["gpu"]["index"], row["gpu"]["uuid"]) for row in rows if row["gpu"]}
    assert len({uuid for _, uuid in uuids}) == len(uuids) and all(uuid for _, uuid in uuids)
