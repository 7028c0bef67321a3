"""kernelbench.py - a problem as KernelBench writes it: problem.py with Model, get_inputs() and get_init_inputs(), solution.py with ModelNew, in a folder
that cmake/kernelbench.py makes. Three processes use it: the one that describes the problem (`kernelbench.py FOLDER OP`, which writes the op), the
reference's, which never sees the solution, and that of a variant, which never sees the problem's file.
"""

import functools
import importlib.util
import inspect
import json
import pathlib
import sys

from peer_protocol import Failure

U = 2.0**-24
DTYPES = {"f32": "float32", "f16": "float16", "bf16": "bfloat16"}
FAMILIES = "own", "normal", "sparse", "integers"
INDEPENDENT = "normal", "sparse"
DRAWS = 2  # of the problem's own inputs, which must give different outputs
OP = '''"""{summary}"""
# {key}
import kernelbench

INPUTS = {inputs}
OUTPUTS = {outputs}
DTYPES = ["f32", "f16", "bf16"]
FAMILIES = {families}
BOUND = "{bound}"
FLOPS = "{flops}"
problem = kernelbench.Problem({folder!r})


def generate(case, inputs):
    return problem.generate(case, inputs)


def reference(case, inputs):
    return problem.reference(case, inputs)


def bound(case, inputs, outputs, u):
    return problem.bound(case, inputs, u)
'''


class Refused(Exception):
    """Why the problem cannot be verified, in one line."""


def load(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def flat(shape):
    """As an op has it, with 1 to 4 sizes."""
    first = 1
    for size in shape[: max(0, len(shape) - 3)]:
        first *= size
    return [first, *shape[-3:]] if len(shape) > 3 else list(shape) or [1]


def outputs_of(given):
    return list(given) if isinstance(given, (tuple, list)) else [given]


def model_of(kind, saved, dtype, device="cpu"):
    """With Model's parameters, copied by state_dict."""
    import torch

    torch.manual_seed(saved["seed"])
    model = kind(*saved["init"])
    try:
        model.load_state_dict(saved["state"])
    except (RuntimeError, AttributeError) as error:
        raise Failure(
            "check", f"{kind.__name__} does not take Model's parameters: {error}".replace("\n", " ")
        ) from None
    torch.seed()  # so that what is random shows
    return model.to(device=device, dtype=dtype)


class Solution:
    """Model or ModelNew as a variant: called as KernelBench does, on the inputs of each call."""

    def __init__(self, folder, file, kind, case, device):
        import torch

        backends = torch.backends.cudnn, torch.backends.cuda.matmul
        backends[0].allow_tf32 = backends[1].allow_tf32 = False  # f32 is f32, of Model too
        folder = pathlib.Path(folder)
        saved = torch.load(folder / "saved.pt", weights_only=True)
        facts = json.loads((folder / "facts.json").read_text())
        self.dtype, self.shapes = (
            getattr(torch, DTYPES[case["dtype"]]),
            [tuple(shape) for shape in facts["outputs"].values()],
        )
        self.inputs, self.tensor, self.no_grad = facts["inputs"], torch.Tensor, torch.no_grad
        self.given = [saved["fixed"].get(str(i), name) for i, name in enumerate(facts["arguments"])]
        self.given = [item.to(device) if isinstance(item, torch.Tensor) else item for item in self.given]
        self.places = [(i, name) for i, name in enumerate(facts["arguments"]) if name in self.inputs]
        self.model = model_of(getattr(load(pathlib.Path(file)), kind), saved, self.dtype, device)

    def call(self, inputs):
        given = list(self.given)
        for i, name in self.places:
            given[i] = inputs[name].view(self.inputs[name])
        with self.no_grad():
            outputs = outputs_of(self.model(*given))
        if len(outputs) != len(self.shapes):
            raise Failure("check", f"{len(outputs)} outputs; Model has {len(self.shapes)}")
        for output, shape in zip(outputs, self.shapes):
            if type(output) is not self.tensor:
                raise Failure(
                    "check",
                    f"an output is a {type(output).__module__}.{type(output).__qualname__}; a torch.Tensor is expected",
                )
            if tuple(output.shape) != shape or output.dtype != self.dtype:
                raise Failure(
                    "check", f"an output is {output.dtype}{list(output.shape)}; {self.dtype}{list(shape)} is expected"
                )
        return tuple(outputs) if len(outputs) > 1 else outputs[0]


class Problem:
    """In the reference's process."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)

    @functools.cached_property
    def facts(self):
        return json.loads((self.folder / "facts.json").read_text())

    @functools.cached_property
    def torch(self):  # imported where it is needed: that takes seconds
        import torch

        torch.set_grad_enabled(False)
        return torch

    @functools.cached_property
    def module(self):
        return load(self.folder / "problem.py")

    @functools.cached_property
    def saved(self):
        return self.torch.load(self.folder / "saved.pt", weights_only=True)

    def draw(self, seed):
        self.torch.manual_seed(seed % 2**63)
        return list(self.module.get_inputs())

    def generate(self, case, inputs):
        """The problem's own inputs; of other families the numbers, zero where the problem always has zeros."""
        if case.input != "own" and not self.facts["zeros"]:
            return inputs
        own = dict(zip(self.facts["arguments"], self.draw(case.seed)))
        for name, array in inputs.items():
            drawn = own[name].double().numpy().reshape(array.shape)
            inputs[name] = (
                drawn if case.input == "own" else array * (drawn != 0) if name in self.facts["zeros"] else array
            )
        return inputs

    def model(self, dtype, computed):
        """Model with the parameters of a dtype, in another."""
        return model_of(self.module.Model, self.saved, getattr(self.torch, DTYPES[dtype])).to(dtype=computed)

    def arguments(self, inputs, dtype):
        given = []
        for i, name in enumerate(self.facts["arguments"]):
            fixed = self.saved["fixed"].get(str(i))
            fixed = fixed.clone() if isinstance(fixed, self.torch.Tensor) else fixed
            array = (
                None if name not in inputs else self.torch.from_numpy(inputs[name]).reshape(self.facts["inputs"][name])
            )
            given.append(fixed if array is None else array.to(dtype, copy=True))
        return given

    def values(self, case, inputs):
        double = self.torch.float64
        return outputs_of(self.model(case.dtype, double)(*self.arguments(inputs, double)))

    def as_op(self, found):
        return [item.numpy().reshape(flat(item.shape)) for item in found]

    def reference(self, case, inputs):
        return tuple(self.as_op(self.values(case, inputs)))

    def bound(self, case, inputs, u, kind=None):
        import torch_error

        if (kind or self.facts["bound"]) == "derived":
            s = torch_error.Settings(u, case.dtype, case.input in INDEPENDENT)
            model, given = self.model(case.dtype, self.torch.float64), self.arguments(inputs, self.torch.float64)
            found = torch_error.derived(lambda: outputs_of(model(*given)), s)
            return tuple(self.as_op([1.01 * u * error + 2.0**-146 for error in found]))
        types = self.torch.float32, getattr(self.torch, DTYPES[case.dtype])
        models = [self.model(case.dtype, kind) for kind in types]
        tolerances = torch_error.estimated(
            lambda own: outputs_of(models[own](*self.arguments(inputs, types[own]))),
            self.values(case, inputs),
            max(U, torch_error.NARROW.get(case.dtype, 0)),
            case.dtype != "f32",
        )
        return tuple(self.as_op([item + 2.0**-146 for item in tolerances]))


# ---- Describing a problem: what the op is, and parameters of its own.


def expect(good, words):
    if not good:
        raise Refused(words)


class Case:
    def __init__(self, input_, dtype="f32", seed=1):
        self.input, self.dtype, self.seed = input_, dtype, seed


def parameters(torch, module, seed):
    """Of another seed than anybody's, and none with one value throughout: layers that begin with 0 or 1 would leave work to be skipped."""
    torch.manual_seed(seed)
    state = module.Model(*module.get_init_inputs()).state_dict()
    for name, tensor in state.items():
        if tensor.is_floating_point() and (tensor == tensor.reshape(-1)[0]).all():
            state[name] = tensor + 0.5 * torch.rand_like(tensor) - 0.25
    return state


def describe_inputs(problem, facts):
    torch, draws = problem.torch, [problem.draw(seed) for seed in range(DRAWS)]
    names = [name for name in inspect.signature(problem.module.Model.forward).parameters][1:]
    named = len(names) == len(draws[0]) and not {"args", "kwargs"} & set(names) and max(map(len, names), default=0) < 24
    facts["arguments"] = (
        [f"{name}_in" if name.startswith("out") else name for name in names]
        if named
        else [f"x{i}" for i in range(len(draws[0]))]
    )
    fixed = {}
    for i, (name, first, *others) in enumerate(zip(facts["arguments"], *draws, strict=True)):
        if not isinstance(first, torch.Tensor) or not first.is_floating_point():
            fixed[str(i)] = first
            continue
        expect(all(first.shape == other.shape for other in others), f"get_inputs(): {name} has another shape each time")
        facts["inputs"][name] = list(first.shape)
        if (first == 0).double().mean() > 0.1 and all(((first == 0) == (other == 0)).all() for other in others):
            facts["zeros"].append(name)
    expect(facts["inputs"], "get_inputs() has no tensor of floating-point numbers: nothing to draw anew")
    expect(len(facts["inputs"]) <= 8, "get_inputs() has more than 8 tensors")
    return fixed


def family(problem, name, seed):
    """Inputs by name, as the harness and generate() would make them."""
    import numpy

    random = numpy.random.default_rng(seed)
    made = {
        "own": lambda shape: numpy.zeros(shape),
        "normal": lambda shape: random.standard_normal(shape),
        "sparse": lambda shape: random.standard_normal(shape) * (random.integers(0, 64, shape) == 0),
        "integers": lambda shape: random.integers(-8, 9, shape).astype(float),
    }[name]
    return problem.generate(Case(name, seed=seed), {key: made(shape) for key, shape in problem.facts["inputs"].items()})


def check_outputs(torch, first, again):
    for value in first:
        expect(
            isinstance(value, torch.Tensor) and value.is_floating_point(),
            "Model returns other things than tensors of floating-point numbers",
        )
    expect(len(first) <= 8, "Model returns more than 8 outputs")
    expect(all(bool(value.isfinite().all()) for value in first), "Model gives infinities or NaN on its own inputs")
    same = all(torch.equal(a, b) for a, b in zip(first, again, strict=True))
    expect(same, "Model gives another output each time, as dropout does: there is nothing to compare with")


def check_dependence(first, other, tolerances):
    for a, b, tolerance in zip(first, other, tolerances):
        within = abs(a - b).numpy().reshape(tolerance.shape) <= tolerance
        expect(
            not within.all(),
            "Model's output does not depend on its inputs beyond rounding: a constant would pass, so nothing is verified",
        )


def usable(problem, name):
    """Does Model take such numbers, and give finite ones?"""
    try:
        return all(bool(value.isfinite().all()) for value in problem.values(Case(name), family(problem, name, 3)))
    except (RuntimeError, ValueError, AssertionError):
        return False


def recognised(problem, families):
    """None, or why the bound is not derived."""
    import torch_error

    try:
        for name in families:
            for tolerance in problem.bound(Case(name), family(problem, name, 3), U, "derived"):
                if not bool((tolerance >= 0).all()):
                    raise torch_error.Unknown("a bound is not a number")
    except Exception as error:  # of tracing, too: whatever it is, the bound is estimated
        return str(error).splitlines()[0][:160] if str(error) else type(error).__name__
    return None


def describe(folder, op, key):
    problem = Problem(folder)
    torch, module = problem.torch, problem.module
    facts = problem.facts = {"inputs": {}, "zeros": [], "outputs": {}, "bound": "estimated"}
    seed = int(key[:8], 16)
    fixed = describe_inputs(problem, facts)
    problem.saved = {
        "seed": seed,
        "init": list(module.get_init_inputs()),
        "fixed": fixed,
        "state": parameters(torch, module, seed),
    }
    own = [family(problem, "own", draw) for draw in range(DRAWS)]
    first, again, other = (problem.values(Case("own"), inputs) for inputs in (own[0], own[0], own[1]))
    check_outputs(torch, first, again)
    families = [name for name in FAMILIES if name == "own" or usable(problem, name)]
    why = recognised(problem, families)
    facts["bound"] = "estimated" if why else "derived"
    check_dependence(first, other, problem.bound(Case("own"), own[0], U))
    names = ["out"] if len(first) == 1 else [f"out{i}" for i in range(len(first))]
    facts["outputs"] = {name: list(value.shape) for name, value in zip(names, first)}
    from torch.utils.flop_counter import FlopCounterMode

    with FlopCounterMode(display=False) as counter:
        problem.values(Case("own"), own[0])
    torch.save(problem.saved, problem.folder / "saved.pt")
    (problem.folder / "facts.json").write_text(json.dumps(facts))
    sizes = {
        which: {name: " ".join(map(str, flat(shape))) for name, shape in facts[which].items()}
        for which in ("inputs", "outputs")
    }
    text = OP.format(
        summary=f"{op[3:].replace('_', ' ')}: Model of KernelBench in float64",
        key=key,
        families=families,
        bound=facts["bound"],
        flops=counter.get_total_flops() or sum(value.numel() for value in first),
        folder=str(problem.folder),
        **sizes,
    )
    (problem.folder / f"{op}.py").write_text(text)
    told = f"bound estimated, from the spread of Model: {why}" if why else "bound derived from Model's operations"
    print(json.dumps({"told": told, "families": families, "gpu": torch.cuda.is_available()}))


if __name__ == "__main__":
    try:
        describe(*sys.argv[1:])
    except (Refused, Failure) as error:
        print(json.dumps({"refused": str(error)}))
    except ModuleNotFoundError as error:
        print(json.dumps({"missing": error.name, "python": sys.executable}))
