"""Variants in PyTorch and Triton that write into the harness's own outputs: right, wrong, beyond their ends, never written, kept from the call before. On the CPU
where PyTorch is installed (RUNGS_PYTHON), else skipped; Triton's need a GPU."""

import json
import os
import subprocess

import pytest
from program import BUILD, MUTANTS, call, expect, expect_error, needs_release, rows_of

PYTHON = os.environ.get("RUNGS_PYTHON") or json.loads((BUILD / "modules/settings.json").read_text())["python"]
HAS_TORCH = subprocess.run([PYTHON, "-c", "import torch"], check=False, capture_output=True).returncode == 0
needs_torch = pytest.mark.skipif(not HAS_TORCH, reason=f"{PYTHON} has no PyTorch")
TEXT = """VARIANT = {"summary": "a candidate", "origin": "a test", "clock": "cpu"}


def supports(case, tunables):
    return None


def prepare(case, tunables, shapes):
    import torch

    return {"torch": torch, "calls": 0}


def run(state, inputs, outputs):
    torch, x, y = state["torch"], inputs["x"], outputs["y"]
    RUN
"""
RIGHT = "torch.mul(x, 2, out=y)"
BEYOND = "y.as_strided((y.numel() + 1,), (1,))"
RUNS = {  # (the body of run(), verdict, words of the reason)
    "right": (RIGHT, "pass", ""),
    "wrong": (f"{RIGHT}; y[7] += 1", "fail", "y[7] is"),
    "unwritten": ("torch.mul(x[1:], 2, out=y[1:])", "fail", "y[0] was never written"),
    "beyond": (f"{RIGHT}; {BEYOND}[-1] = 3", "fail", "output y: written behind it, 0 bytes away"),
    "before": (
        f"{RIGHT}; y.as_strided((1,), (1,), y.storage_offset() - 2)[0] = 3",
        "fail",
        "output y: written before it",
    ),
    "returns": (f"{RIGHT}; return y", "error", "writes into the outputs and returns nothing"),
    "kept": ("state.setdefault('y', torch.mul(x, 2)); y.copy_(state['y'])", "fail", ""),
    "elsewhere": (f"y.set_(torch.empty_like(y)); {RIGHT}", "fail", "y[0] was never written"),
    "input": (f"{RIGHT}; x[0] = 0", "fail", "input x"),
    "raises": ("raise ValueError('no such kernel')", "error", "no such kernel"),
}


def attempt(folder, name, text, *words):
    (folder / name).write_text(text)
    out = folder / "rows.jsonl"
    out.unlink(missing_ok=True)
    done = call("try", folder / name, "--op", "double", "--variants", "cpu_loop", "n=20011", *words, "--out", out)
    rows = rows_of(out) if out.exists() else []
    return done, next((row for row in rows if "/try_" in row["variant"]), None)


@needs_torch
@pytest.mark.parametrize("name", RUNS)
def test_each_is_judged(worker_folder, name):
    run, verdict, words = RUNS[name]
    how = "--quick" if name == "right" else "--verify-only"
    done, row = attempt(worker_folder, f"torch_{name}.py", TEXT.replace("RUN", run), "--no-sandbox", how)
    expect(row and row["verdict"] == verdict and words in (row["reason"] or ""), f"{name}: {row}", done)
    if name == "right":
        assert row["timing"]["hot"]["median"] > 0 and row["prepare_seconds"] > 0
        assert row["backend"] == "peer" and row["variant"] == "double/try_torch_right"


@needs_torch
@needs_release
def test_inputs_and_results_go_by_none_of_pytorch(folder):
    """Neither a kernel that a peer registered is called between its calls, nor do PyTorch's own threads work there."""
    out = folder / "rows.jsonl"
    names = {
        "peer_pytorch_control": "pass",
        "peer_cheat_dispatched_inputs": "fail",
        "peer_cheat_dispatched_results": "fail",
    }
    words = ("--variants", ",".join(names), "--quick", "--no-ceilings", "--out", out)
    done = call("run", "double n=1000003 input=normal", *words, program=MUTANTS, cwd=folder)
    found = {row["variant"].split("/")[1]: row["verdict"] for row in rows_of(out)}
    expect(found == names, f"verdicts: {found}", done)


@needs_torch
def test_in_the_sandbox(worker_folder):
    done, row = attempt(worker_folder, "torch_right.py", TEXT.replace("RUN", RIGHT), "--verify-only")
    if "no sandbox" in done.stderr:
        pytest.skip(done.stderr)
    expect(row["verdict"] == "pass", "a file of PyTorch's runs in the sandbox", done)


def test_what_is_wrong_with_a_file(worker_folder):
    """Without PyTorch, too: the file is read, not imported."""
    text = TEXT.replace("RUN", RIGHT)
    for change, words in (
        (("inputs, outputs)", "inputs)"), "run(state, inputs, outputs) is expected of torch_*.py"),
        (('"a test"', "str(1)"), "VARIANT must be a plain literal"),
        (("VARIANT", "OTHER"), "no VARIANT dictionary"),
        (('"origin": "a test", ', ""), "VARIANT['origin'] must be a string"),
    ):
        done, row = attempt(worker_folder, "torch_it.py", text.replace(*change), "--no-sandbox", "--verify-only")
        expect_error(done, 1, words)
        assert row is None


@pytest.mark.parametrize("peer", ["triton", "torch"])
def test_new_writes_one(folder, peer):
    done = call("new", folder / "mine", "--op", "saxpy", "--peer", peer)
    (made,) = (folder / "mine/impls/saxpy").glob(f"{peer}_*.py")
    expect(done.returncode == 0 and str(made) in done.stdout and "axpy" not in made.stem, "a variant of the kind", done)
    assert not list((folder / "mine").glob("peers"))
    compile(made.read_text(), made, "exec")
    expect_error(call("new", folder / "other", "--peer", "jax"), 2, "--peer jax: expected one of torch, triton")
