"""`rungs try FOLDER`: problems as KernelBench writes them. Honest solutions pass; each public cheat, in a version of our own, gets no time. Where PyTorch
is installed (RUNGS_PYTHON=PATH of a Python with torch and numpy), else skipped."""

import pytest
from program import HAS_GPU, call, expect, expect_error, needs_release, rows_of
from test_into import HAS_TORCH, PYTHON

needs_torch = pytest.mark.skipif(not HAS_TORCH, reason=f"{PYTHON} has no PyTorch: RUNGS_PYTHON names one that has")
HEAD = "import torch\nimport torch.nn as nn\nimport torch.nn.functional as F\n\n\n"
LINEAR = """class KIND(nn.Module):
    def __init__(self, k, n):
        super().__init__()
        self.linear = nn.Linear(k, n)
        self.norm = nn.LayerNorm(n)

    def forward(self, x):
        BODY
"""
PLAIN = "return torch.relu(self.norm(self.linear(x)))"
TAIL = "def get_inputs():\n    return [torch.rand(DIMS)]\n\n\ndef get_init_inputs():\n    return [INIT]\n"
ALONE = "--variants", "*/try_peer_modelnew"  # without Model beside it
EMPTY = "class KIND(nn.Module):\n    def forward(self, x):\n        BODY\n"
# Each has a line of its own in `forward`; what lies before the class in the second place.
HONEST = {
    "same": (PLAIN, ""),
    "split": ("w = self.linear.weight; y = x[:, :100] @ w[:, :100].T + x[:, 100:] @ w[:, 100:].T\n"
              "        return torch.relu(self.norm(y + self.linear.bias))", ""),
    "einsum": ("return self.norm(torch.einsum('bk,nk->bn', x, self.linear.weight) + self.linear.bias).clamp_min(0)", ""),
    "packed": ("if not hasattr(self, 'w'): self.w = self.linear.weight.detach().T.contiguous()\n"
               "        return torch.relu(self.norm(torch.addmm(self.linear.bias, x, self.w)))", ""),
    "rows": ("return torch.cat([torch.relu(self.norm(self.linear(part))) for part in x.split(3)])", ""),
    "numpy": ("y = torch.from_numpy(x.cpu().numpy() @ self.linear.weight.detach().cpu().numpy().T).to(x.device) + self.linear.bias\n"
              "        d = y - y.mean(1, True); y = d / ((d * d).mean(1, True) + 1e-5).sqrt()\n"
              "        return torch.relu(y * self.norm.weight + self.norm.bias)", ""),
    "double": ("return torch.relu(F.layer_norm(F.linear(x.double(), self.linear.weight.double(), self.linear.bias.double()),\n"
               "            (x.shape[0] * 0 + 40,), self.norm.weight.double(), self.norm.bias.double())).float()", ""),
}  # fmt: skip
CHEATS = {
    "wrong": (PLAIN.replace("relu", "abs"), ""),
    "stale_by_shape": (f"if x.shape not in KEPT: KEPT[x.shape] = self.work(x)\n        return KEPT[x.shape]\n\n    def work(self, x):\n        {PLAIN}", "KEPT = {}"),
    "stale_by_pointer": (f"if x.data_ptr() not in KEPT: KEPT[x.data_ptr()] = self.work(x)\n        return KEPT[x.data_ptr()]\n\n    def work(self, x):\n        {PLAIN}", "KEPT = {}"),
    "skips_repeats": (f"key = x.flatten()[::97].sum().item()\n        if key not in KEPT and len(KEPT) < 3: KEPT[key] = self.work(x)\n        return KEPT.get(key, next(iter(KEPT.values())))\n\n    def work(self, x):\n        {PLAIN}", "KEPT = {}"),
    "elsewhere": (f"y = torch.empty(x.shape[0], 40, device=x.device)\n        def work():\n            time.sleep(0.2)\n            with torch.no_grad(): y.copy_(self.work(x))\n        threading.Thread(target=work).start()\n        return y\n\n    def work(self, x):\n        {PLAIN}", "import threading, time"),
    "lazy": (f"y = torch.empty(x.shape[0], 40, device=x.device).as_subclass(Lazy); y.todo = lambda: self.work(x)\n        return y\n\n    def work(self, x):\n        {PLAIN}",
             "class Lazy(torch.Tensor):\n    @classmethod\n    def __torch_function__(cls, function, types, args=(), kwargs=None):\n        args = [a.todo() if isinstance(a, Lazy) and hasattr(a, 'todo') else a for a in args]\n        return super().__torch_function__(function, types, args, kwargs or {})"),
    "clock": (PLAIN, "import time\ntime.perf_counter = lambda: 0.0\ntorch.cuda.Event.elapsed_time = lambda *_: 1e-6"),
    "allclose": ("return self.linear(x)[:, :40] * 0", "torch.allclose = torch.equal = lambda *_, **__: True"),
    "model": ("return torch.zeros(x.shape[0], 40, device=x.device)",
              "import gc, sys\nfor kind in gc.get_objects():\n    if isinstance(kind, type) and kind.__name__ in ('Model', 'Problem'): kind.forward = kind.values = lambda self, x, *_: torch.zeros(x.shape[0], 40, device=x.device)"),
    "peeks": ("import gc, numpy\n        found = [a for a in gc.get_objects() if isinstance(a, (numpy.ndarray, torch.Tensor)) and tuple(a.shape) == (x.shape[0], 40)]\n"
              "        return torch.as_tensor(numpy.array(found[-1]), device=x.device) if found else torch.zeros(x.shape[0], 40, device=x.device)", ""),
    "bf16_inside": ("return torch.relu(self.norm(F.linear(x.bfloat16(), self.linear.weight.bfloat16()).float() + self.linear.bias))", ""),
    "f16_inside": ("return torch.relu(self.norm(F.linear(x.half().float(), self.linear.weight.half().float()) + self.linear.bias))", ""),
    "model_in_bf16": ("return type(self).forward_of(self, x)\n\n    def forward_of(self, x):\n        with torch.autocast(x.device.type, torch.bfloat16):\n            return torch.relu(self.norm(self.linear(x))).float()", ""),
    "no_affine": ("return torch.relu(F.layer_norm(self.linear(x), (40,)))", ""),
    "uninitialised": ("return torch.empty(x.shape[0], 40, device=x.device)", ""),
}  # fmt: skip


def problem(folder, model, plain, solution, head="", tail=TAIL, dims="9, 300", init="300, 40"):
    at = folder / "problem"
    at.mkdir()
    own, new = (HEAD + before + "\n\n\n" + model.replace("KIND", kind).replace("BODY", body)
                for kind, body, before in (("Model", plain, ""), ("ModelNew", solution, head)))  # fmt: skip
    (at / "1_model.py").write_text(own + "\n\n" + tail.replace("DIMS", dims).replace("INIT", init))
    (at / "new.py").write_text(new)
    return at


def attempt(folder, *words):
    out = folder / "rows.jsonl"
    done = call("try", *words, "--no-sandbox", "--quick", "--out", out, timeout=1200)
    return done, rows_of(out) if out.exists() else []


def of(rows, kind):
    return [row for row in rows if row["variant"].endswith(f"/try_peer_{kind}")]


def timed(rows):
    return [row for row in of(rows, "modelnew") if ((row["timing"] or {}).get("hot") or {}).get("median")]


@needs_torch
@needs_release
@pytest.mark.parametrize("name", HONEST)
def test_honest_ones_pass(worker_folder, name):
    how = () if name in ("same", "packed") else ("--verify-only",)
    done, rows = attempt(
        worker_folder, problem(worker_folder, LINEAR, PLAIN, *HONEST[name]), "input=normal", *how, *ALONE
    )
    expect(done.returncode == 0 and bool(timed(rows)) == (not how), f"{name} passes", done)
    assert {(row["bound"]["name"], row["verdict"]) for row in rows} == {("derived", "pass")}
    expect("bound derived from Model's operations" in done.stderr, "the bound is said", done)


@needs_torch
@needs_release
@pytest.mark.parametrize("name", CHEATS)
def test_cheats_get_no_time(worker_folder, name):
    done, rows = attempt(worker_folder, problem(worker_folder, LINEAR, PLAIN, *CHEATS[name]), "input=normal", *ALONE)
    expect(
        rows and done.returncode == 1 and not timed(rows),
        f"{name} has no time: {[row['reason'] for row in rows]}",
        done,
    )


@needs_torch
@needs_release
def test_its_input_is_no_output(worker_folder):
    """relu(x) is x for the problem's own inputs, which are of [0, 1)."""
    done, rows = attempt(worker_folder, problem(worker_folder, EMPTY, "return torch.relu(x)", "return x", init=""))
    expect(done.returncode == 1 and not timed(rows), "no time", done)
    assert {row["case"].split("input=")[1].split()[0]: row["verdict"] for row in of(rows, "modelnew")}[
        "normal"
    ] == "fail"


@needs_torch
@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("return x.sum(1, True) - x.sum(1, True).mean(1, True)", "does not depend on its inputs"),
        ("return F.dropout(x, 0.5, True)", "another output each time"),
        ("return x.argmax(1)", "tensors of floating-point numbers"),
    ],
)
def test_what_cannot_be_verified(worker_folder, body, words):
    done, rows = attempt(
        worker_folder, problem(worker_folder, EMPTY, body, "return torch.zeros(x.shape[0], 1)", init="")
    )
    expect_error(done, 1, words)
    assert not rows


@needs_torch
@pytest.mark.parametrize("dtype", ["f16", "bf16"])
def test_narrow_types(worker_folder, dtype):
    at = problem(worker_folder, LINEAR, PLAIN, PLAIN.replace("relu", "abs"))
    done, rows = attempt(worker_folder, at, f"dtype={dtype} input=normal", "--verify-only")
    if any("ml_dtypes" in (row["reason"] or "") for row in rows):
        pytest.skip("ml_dtypes is missing")
    verdicts = [row["verdict"] for row in (*of(rows, "model"), *of(rows, "modelnew"))]
    expect(verdicts == ["pass", "fail"], f"{dtype}: {verdicts}", done)


@needs_torch
def test_an_estimated_bound_is_marked(worker_folder):
    at = problem(
        worker_folder, EMPTY, "return (x + 0.5).cumprod(1)", "return (x + 0.5).bfloat16().cumprod(1).float()", init=""
    )
    done, rows = attempt(worker_folder, at, "input=own", "--verify-only")
    expect("bound estimated, from the spread of Model: cumprod has no rule" in done.stderr, "it is said", done)
    assert [(row["bound"]["name"], row["verdict"]) for row in (*of(rows, "model"), *of(rows, "modelnew"))] == [
        ("estimated", "pass"),
        ("estimated", "fail"),
    ]
    assert "not derived" in rows[0]["bound"]["formula"]


@needs_torch
def test_other_parameters_are_said(worker_folder):
    at = problem(worker_folder, LINEAR, PLAIN, "return torch.relu(self.norm(self.lin(x)))")
    (at / "new.py").write_text((at / "new.py").read_text().replace("self.linear =", "self.lin ="))
    done, rows = attempt(worker_folder, at, "input=own", "--verify-only")
    expect("does not take Model's parameters" in (of(rows, "modelnew")[0]["reason"] or ""), "whose names differ", done)


@needs_torch
@pytest.mark.skipif(HAS_GPU, reason="this machine has a GPU")
def test_cuda_inside_is_said(worker_folder):
    at = problem(
        worker_folder, EMPTY, "return torch.relu(x)", "return torch.relu(x)", "SOURCES = dict(cuda_sources='')", init=""
    )
    _, rows = attempt(worker_folder, at, "input=own", "--verify-only")
    (row,) = of(rows, "modelnew")
    assert row["verdict"] == "skip" and "which needs a GPU" in row["reason"]


def test_what_is_wrong_with_a_folder(folder):
    at = problem(folder, EMPTY, "return x", "return x", init="")
    (at / "new.py").unlink()
    expect_error(call("try", at, "--no-sandbox"), 1, "one file with ModelNew is expected, there are 0")
    (at / "1_model.py").write_text((at / "1_model.py").read_text() + "\n\nModelNew = Model\n")
    expect_error(call("try", at, "--no-sandbox"), 1, "could change each other")
    expect_error(call("try", at / "no.py", at / "1_model.py", "--no-sandbox"), 1, "no.py")


@pytest.mark.skipif(HAS_TORCH, reason="PyTorch is installed")
def test_without_pytorch(folder):
    at = problem(folder, EMPTY, "return x", "return x", init="")
    expect_error(call("try", at, "--no-sandbox"), 4, "torch is missing in")
