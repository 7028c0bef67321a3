"""Right: `double` by PyTorch on a CPU, whose threads the harness must not wake between calls."""

VARIANT = {"summary": "right: PyTorch on a CPU", "origin": "tests", "framework": "torch"}


def supports(case, tunables):
    return None


def prepare(case, tunables, shapes):
    return None


def run(state, inputs):
    return inputs["x"] * 2
