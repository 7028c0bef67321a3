"""agg=apply end to end: both examples on every variant, and what a user sees when the function is wrong."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

RUNGS = os.environ["RUNGS"]
SOURCE = pathlib.Path(os.environ["RUNGS_SOURCE"])
HEAD = "__device__ void window_function(const real *shared, int history_len, real *out, int window_size, int arr_len, int offset)"


def rows(folder, case):
    out = folder / "rows.jsonl"
    out.unlink(missing_ok=True)
    done = subprocess.run(
        [RUNGS, "run", f"rolling agg=apply {case}", "--variants", "*apply", "--verify-only", "--out", out],
        capture_output=True,
        text=True,
        cwd=folder,
    )
    lines = [json.loads(line) for line in out.read_text().splitlines()] if out.exists() else []
    return done, {line["variant"]: line for line in lines if line["kind"] == "row"}


def check(truth, what, done, found):
    if not truth:
        verdicts = {name: (row["verdict"], row["reason"]) for name, row in found.items()}
        sys.exit(f"{what}: exit code {done.returncode}, {verdicts}\n{done.stdout}\n{done.stderr}")


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for case in (
            "function=examples/apply/first_minus_last.cu n=20011 window=300 input=normal",
            "function=examples/apply/first_minus_last.cu n=6145 window=3 input=naninf dtype=f32",
            "function=examples/apply/first_minus_last.cu n=100 window=101 incomplete=inf",
            "function=examples/apply/running_mean.cu n=10007 window=300 dtype=f32",
        ):
            done, found = rows(folder, case)
            check(done.returncode == 0 and found["rolling/cpu_apply"]["verdict"] == "pass", case, done, found)
            check(found["rolling/cpu_apply"]["prepare_seconds"] > 0, case, done, found)
            cuda = found.get("rolling/cuda_apply")
            check(cuda is None or cuda["verdict"] in ("pass", "skip"), case, done, found)

        (folder / "mine.cu").write_text(f"// mine\n{HEAD} {{\n    out[0] = undeclared_thing;\n}}\n")
        done, found = rows(folder, "function=mine.cu n=100 window=3")
        check(done.returncode not in (0, 3), "a compile error", done, found)
        said = done.stdout + done.stderr + "".join(row["reason"] or "" for row in found.values())
        check(
            "undeclared_thing" in said and ("mine.cu:3" in said or "mine.cu(3)" in said), "the user's line", done, found
        )

        done, found = rows(folder, "function=missing.cu n=100 window=3")
        check(
            done.returncode not in (0, 3) and "missing.cu" in done.stdout + done.stderr, "a missing file", done, found
        )

        # Repeats the first output of its tile: not what the reference, one output per call, has.
        (folder / "drops.cu").write_text(
            f"{HEAD} {{\n    for (int i = 0; i < arr_len; i++) out[i] = i ? out[i - 1] : shared[offset];\n}}\n"
        )
        done, found = rows(folder, "function=drops.cu n=1000 window=3")
        check(done.returncode == 1 and found["rolling/cpu_apply"]["verdict"] == "fail", "a wrong function", done, found)


if __name__ == "__main__":
    main()
