"""The package torch-discounted-cumsum itself: log-stage in place, as published. Limits: one gamma or one per row; a row of 2^21 + 1
elements or more may lose its last ones, for it takes the logarithm of n in float; 65535 rows at most, a limit of the grid."""
from peer import Skip, import_torch_cuda
from scan_peers import only
from torch_scan import to_device

VARIANT = {
    "summary": "the package torch-discounted-cumsum",
    "origin": "torch-discounted-cumsum 1.1.0",
    "framework": "torch_discounted_cumsum",
    "needs_gpu": True,
    "clock": "torch",
}


def supports(case, tunables):
    del tunables
    return only(case, gamma_per=("all", "row"), k=(0,), reset=("none",))


def prepare(case, tunables, inputs):
    del tunables, inputs
    torch = import_torch_cuda()
    try:
        import torch_discounted_cumsum as package
    except ImportError:
        raise
    except Exception as error:  # it compiles itself at its first import, and says in many ways that it cannot
        raise Skip(f"torch-discounted-cumsum could not be compiled: {type(error).__name__}: {error}"[:240]) from error
    return {"torch": torch, "device": "cuda", "sums": getattr(package, f"discounted_cumsum_{case['params']['direction']}")}


def load(state, inputs):
    for name in ("x", "gamma"):
        state[name] = to_device(state["torch"], inputs[name], state["device"])


def run(state):
    return state["sums"](state["x"], state["gamma"])


def fetch(state, outputs, out):
    del state
    out["y"][:] = outputs.cpu().numpy()
