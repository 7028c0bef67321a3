"""All problems of levels 1 and 2 of a checkout of KernelBench, at reduced sizes, on the CPU and in one process: which are recognised (the bound is
derived) or estimated; whether Model itself in f32 and bf16 is within the bound, and Model with inputs and parameters cut to bf16, outside of it.

Level 2 of ScalingIntelligence/KernelBench@423217d9, PyTorch 2.15 (2026-11-28): of 100 problems 89 are recognised, Model passes in f32 and bf16 in all
of these, and the cut fails in 88 (65 sums all sigmoids). Refused are five whose output is a constant at such sizes (9, 23, 36, 80, 83), and 66 for its
dropout. In 38, 50 and 72 PyTorch has no avg_pool3d of bf16 on a CPU; 3 and 34 cannot be made smaller, as a width is a number of channels.

    RUNGS_PYTHON kernelbench_sweep.py KERNELBENCH [PART OF A NAME...]     not in CI: it needs the checkout and PyTorch
"""

import ast
import collections
import contextlib
import hashlib
import io
import json
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "harness/device"))
import kernelbench
import torch
from peer_protocol import Failure

MOST = 500_000  # elements of a problem's inputs
LARGEST = 32, 16, 8, 4  # numbers of a problem: the first of these that makes it so small


def halved(value, most):
    if isinstance(value, (tuple, list)):
        return type(value)(halved(item, most) for item in value)
    if isinstance(value, bool) or not isinstance(value, int):
        return value
    while value > most and value % 2 == 0:
        value //= 2
    return value if value <= most or value < 200 else 33


def reduced(text, most):
    """Whole numbers at the top of the file, halved until none is larger."""
    tree, known = ast.parse(text), {}
    for node in tree.body:
        if isinstance(node, ast.Assign):
            with contextlib.suppress(Exception):
                target = node.targets[0]
                names = [target.id] if isinstance(target, ast.Name) else [item.id for item in target.elts]
                value = eval(compile(ast.Expression(node.value), str(names), "eval"), {}, known)
                limit = min(most, 4) if "batch" in names[0].lower() else most // 8 if "group" in names[0] else most
                value = halved(value, limit)
                known.update(zip(names, [value] if isinstance(target, ast.Name) else value))
                node.value = ast.parse(repr(value), mode="eval").body
    return ast.unparse(ast.fix_missing_locations(tree))


def excess(problem, case, inputs, model, given):
    """The largest error of these outputs, in tolerances."""
    wanted = problem.reference(case, inputs)
    tolerances = problem.bound(case, inputs, kernelbench.U)
    outputs = problem.as_op([item.double() for item in kernelbench.outputs_of(model(*given))])
    u = kernelbench.U if case.dtype == "f32" else 2.0**-8
    return max(float((abs(a - b) / (t + u * abs(b))).max()) for a, b, t in zip(outputs, wanted, tolerances) if a.size)


def tried(problem):
    """{dtype: errors}, and the least of those of the cut over families."""
    right, cut = {}, 0.0
    for name in json.loads((problem.folder / "told.json").read_text())["families"]:
        inputs = kernelbench.family(problem, name, 5)
        for dtype in ("f32", "bf16"):
            own = getattr(torch, kernelbench.DTYPES[dtype])
            rounded = {k: torch.from_numpy(v).to(own).double().numpy() for k, v in inputs.items()}
            case, given = kernelbench.Case(name, dtype, 5), problem.arguments(rounded, own)
            right[dtype] = max(right.get(dtype, 0), excess(problem, case, rounded, problem.model(dtype, own), given))
        case, single = kernelbench.Case(name), torch.float32
        rounded = {k: torch.from_numpy(v).to(single).double().numpy() for k, v in inputs.items()}
        given = [
            x.bfloat16().float() if torch.is_tensor(x) and x.is_floating_point() else x
            for x in problem.arguments(rounded, single)
        ]
        cut = max(cut, excess(problem, case, rounded, problem.model("bf16", single), given))
    return right, cut


def take(path, folder):
    for most in LARGEST:
        text = reduced(path.read_text(), most)
        (folder / "problem.py").write_text(text)
        module = kernelbench.load(folder / "problem.py")
        if sum(x.numel() for x in module.get_inputs() if torch.is_tensor(x)) <= MOST:
            break
    else:
        return "large", "not tried"
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        kernelbench.describe(folder, "kb_it", hashlib.sha256(text.encode()).hexdigest())
    told = out.getvalue().splitlines()[-1]
    (folder / "told.json").write_text(told)
    right, cut = tried(kernelbench.Problem(folder))
    words = " ".join(f"{dtype} {error:.2g}{'' if error <= 1 else ' FAILS'}" for dtype, error in right.items())
    told = json.loads(told)["told"]
    return told.split()[1].strip(","), f"{words}; cut to bf16 {cut:.2g}{'' if cut > 1 else ' PASSES'}; {told}"


def main():
    root, *parts = sys.argv[1:]
    counts = collections.Counter()
    torch.set_num_threads(1)
    for path in sorted(pathlib.Path(root).glob("**/level[12]/*.py")):
        if parts and not any(part in str(path) for part in parts):
            continue
        with tempfile.TemporaryDirectory() as folder, torch.no_grad():
            try:
                kind, words = take(path, pathlib.Path(folder))
            except (kernelbench.Refused, Failure) as error:
                kind, words = "refused", str(error)
            except Exception as error:  # of a problem at its reduced size
                kind, words = "no problem", f"{type(error).__name__}: {error}".splitlines()[0][:100]
        counts[kind] += 1
        counts["Model passes"] += "bf16" in words and "FAILS" not in words and kind in ("derived", "estimated")
        counts["the cut fails"] += "cut to" in words and "PASSES" not in words
        print(path.parent.name, path.stem, "|", kind, "|", words, flush=True)
    print(dict(counts))


if __name__ == "__main__":
    main()
