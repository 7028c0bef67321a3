"""PyTorch: one kernel, which multiplies and adds."""

VARIANT = {"summary": "torch.add with a factor", "origin": "PyTorch"}


def supports(case, tunables):
    return None  # or why not


def prepare(case, tunables, shapes):  # not timed; sees no data. The first call, which compiles, is not timed either
    import torch  # a missing library becomes a skip that names it

    return {"torch": torch, "a": float(case["params"]["a"])}


def run(state, inputs, outputs):  # timed: tensors of the harness, poisoned and between guards
    state["torch"].add(inputs["y"], inputs["x"], alpha=state["a"], out=outputs["z"])
