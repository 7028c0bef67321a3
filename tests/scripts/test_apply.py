"""agg=apply end to end: both examples on every variant, and what a user sees when the function is wrong."""

import pytest
from program import call, expect, rows_of

HEAD = "__device__ void window_function(const real *shared, int history_len, real *out, int window_size, int arr_len, int offset)"


def run(folder, case):
    """What the program says, and its rows by variant."""
    out = folder / "rows.jsonl"
    done = call("run", f"rolling agg=apply {case}", "--variants", "*apply", "--verify-only", "--out", out, cwd=folder)
    return done, {row["variant"]: row for row in rows_of(out)} if out.exists() else {}


@pytest.mark.parametrize(
    "case",
    [
        "function=examples/apply/first_minus_last.cu n=20011 window=300 input=normal",
        "function=examples/apply/first_minus_last.cu n=6145 window=3 input=naninf dtype=f32",
        "function=examples/apply/first_minus_last.cu n=100 window=101 incomplete=inf",
        "function=examples/apply/running_mean.cu n=10007 window=300 dtype=f32",
    ],
)
def test_an_example_is_right_on_every_variant(folder, case):
    done, found = run(folder, case)
    expect(done.returncode == 0 and found["rolling/cpu_apply"]["verdict"] == "pass", case, done)
    expect(found["rolling/cpu_apply"]["prepare_seconds"] > 0, case, done)
    cuda = found.get("rolling/cuda_apply")
    expect(cuda is None or cuda["verdict"] in ("pass", "skip"), f"{case}: {cuda}", done)


def test_a_compile_error_names_the_line_of_the_user(folder):
    (folder / "mine.cu").write_text(f"// mine\n{HEAD} {{\n    out[0] = undeclared_thing;\n}}\n")
    done, found = run(folder, "function=mine.cu n=100 window=3")
    expect(done.returncode not in (0, 3), "a compile error", done)
    said = done.stdout + done.stderr + "".join(row["reason"] or "" for row in found.values())
    expect("undeclared_thing" in said and ("mine.cu:3" in said or "mine.cu(3)" in said), f"the user's line: {said}")


def test_a_missing_file_is_named(folder):
    done, _ = run(folder, "function=missing.cu n=100 window=3")
    expect(done.returncode not in (0, 3) and "missing.cu" in done.stdout + done.stderr, "a missing file", done)


def test_a_wrong_function_fails(folder):
    # Repeats the first output of its tile: not what the reference, one output per call, has.
    (folder / "drops.cu").write_text(
        f"{HEAD} {{\n    for (int i = 0; i < arr_len; i++) out[i] = i ? out[i - 1] : shared[offset];\n}}\n"
    )
    done, found = run(folder, "function=drops.cu n=1000 window=3")
    expect(done.returncode == 1 and found["rolling/cpu_apply"]["verdict"] == "fail", f"a wrong function: {found}", done)
