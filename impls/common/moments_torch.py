"""What the PyTorch peers of moments share."""

from moments_peers import formulas, put
from torch_arrays import to_device


def six(torch, case):
    """A function x -> the outputs by name, by the source's formulas: z is made once, then powers of it."""

    def statistics(x):
        deviation = torch.std(x, dim=0, correction=0)
        return formulas(case, x, x.mean(0), deviation, deviation * deviation, x.amin(0), x.amax(0))

    return statistics


# What a peer's file needs as functions of its own: it imports these three.
def load(state, inputs):
    state["x"] = to_device(state["torch"], inputs["x"], state["device"])


def run(state):
    return state["statistics"](state["x"])


def fetch(state, outputs, out):
    put(state["case"], {name: values.cpu().numpy() for name, values in outputs.items()}, out)
