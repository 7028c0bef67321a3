"""What goes wrong costs its own row and nothing else: a killed parent, a full disk, a crashing neighbour."""
import json
import pathlib
import signal
import subprocess
import tempfile
import time

from program import MUTANTS, RUNGS, call, expect, expect_error, rows_of

CASE = "double n=1003 input=normal dtype=f64"


def neighbours():
    """A crash, a hang and memory without end leave the rows after them as they should be."""
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "rows.jsonl"
        done = call("run", CASE, "--variants", "cpu_crashes,cpu_eats_memory,cpu_hangs,cpu_right,cpu_zeros", "--quick", "--timeout", "3s", "--memory-limit",
                    "512M", "--out", out, program=MUTANTS)
        verdicts = {row["variant"]: row["verdict"] for row in rows_of(out)}
        expect(verdicts == {"double/cpu_crashes": "error", "double/cpu_eats_memory": "error", "double/cpu_hangs": "error", "double/cpu_right": "pass",
                            "double/cpu_zeros": "fail"}, f"each row has its own fate: {verdicts}", done)


def kill_and_resume():
    """kill -9 in the middle loses no finished row; --resume runs the rest and nothing twice."""
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "rows.jsonl"
        arguments = ["run", CASE, "--variants", "cpu_does_nothing,cpu_drops_tail,cpu_hangs,cpu_nan,cpu_right,cpu_zeros", "--quick", "--timeout", "4s",
                     "--out", str(out)]
        parent = subprocess.Popen([MUTANTS, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and not (out.exists() and out.read_text().count('"kind":"row"') + out.read_text().count('"kind": "row"') >= 2):
            time.sleep(0.05)
        parent.send_signal(signal.SIGKILL)
        parent.wait()
        before = [row["variant"] for row in rows_of(out)]
        expect(2 <= len(before) < 6, f"killed in the middle, after {len(before)} rows")
        with open(out, "a") as file:
            file.write('{"kind": "row", "cut')  # what a kill in the middle of a write would leave
        done = call(*arguments, "--resume", program=MUTANTS)
        after = [row["variant"] for row in rows_of(out)]
        expect(after[:len(before)] == before and len(after) == 6 and len(set(after)) == 6, f"--resume finished the rest: {after}", done)
        expect("dropped" in done.stderr, "the cut line was dropped and said so", done)
        time.sleep(0.3)
        left = subprocess.run(["pgrep", "-f", "rungs-mutants worker"], capture_output=True, text=True).stdout.split()
        expect(not left, "no worker outlived its parent")


def full_disk():
    """/dev/full refuses every byte: an error that names the file, not a silent loss."""
    done = call("run", CASE, "--variants", "cpu_right", "--quick", "--out", "/dev/full", program=MUTANTS)
    expect_error(done, 4, "/dev/full", what="a full disk is an error that names the file")


def bad_words():
    with tempfile.TemporaryDirectory() as folder:
        scenario = pathlib.Path(folder) / "bad.yaml"
        scenario.write_text("title: x\nsuites:\n  - op: rolling\n    axes:\n      window: [3, abc]\n    variants: [cpu_naive]\n")
        expect_error(call("run", scenario), 2, "bad.yaml:5:", "abc", "integer")
        scenario.write_text("title: x\nsuites:\n  - op: rolling\n    axs: {}\n    variants: [cpu_naive]\n")
        expect_error(call("run", scenario), 2, "bad.yaml:4:", "axs", "axes")
        scenario.write_text("title: x\nsuites:\n  - op: rolling\n    axes: {window: []}\n    variants: [cpu_naive]\n")
        expect_error(call("run", scenario), 2, "bad.yaml:4:", "window")
    expect_error(call("run", "no/such/scenario"), 2, "no/such/scenario")
    expect_error(call("run", "rolling window=abc n=10"), 2, "column", "abc")
    expect_error(call("run", "roling window=3"), 2, "roling", "rolling")
    expect_error(call("run", CASE, "--variants", "cuda_nothing"), 2, "cuda_nothing")
    expect_error(call("run", CASE, "--budget", "soon"), 2, "--budget", "soon")
    expect_error(call("run", CASE, "--shard", "3/2"), 2, "--shard")
    expect_error(call("run"), 2, "scenario or a case")
    expect_error(call("rn"), 2, "did you mean 'run'")
    expect_error(call("list", "things"), 2, "things", "variants")
    expect(call("--help").returncode == 0 and call().returncode == 2, "help is good, nothing is not")


def listing():
    for what, keys in {"variants": {"id", "backend", "summary", "origin", "tunables"}, "ops": {"name", "summary", "params", "inputs", "outputs"},
                       "scenarios": {"name", "title"}, "claims": {"id", "statement", "source", "hardware"}}.items():
        done = call("list", what, "--json")
        items = json.loads(done.stdout)
        expect(done.returncode == 0 and items and all(keys <= set(item) for item in items), f"list {what} --json has {sorted(keys)}", done)
    ids = {item["id"] for item in json.loads(call("list", "variants", "--json").stdout)}
    expect({"rolling/cpu_naive", "rolling/cpu_best", "double/cpu_loop", "rolling/peer_pandas"} <= ids, "known variants are listed")
    rolling = next(op for op in json.loads(call("list", "ops", "--json").stdout) if op["name"] == "rolling")
    names = [[array if isinstance(array, str) else array["name"] for array in rolling[key]] for key in ("inputs", "outputs")]
    expect(names == [["x"], ["y"]], "rolling reads x and writes y")


def main():
    neighbours()
    kill_and_resume()
    full_disk()
    bad_words()
    listing()
    print(f"all with {RUNGS}")


if __name__ == "__main__":
    main()
