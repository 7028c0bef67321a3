"""What peers that are wrong on purpose share: everything but run()."""


def supports(case, tunables):
    del case, tunables


def prepare(case, tunables, inputs):
    del case, tunables, inputs
    return {"calls": 0}


def load(state, inputs):
    state["x"] = inputs["x"]


def fetch(state, outputs, out):
    del state
    out["y"][:] = outputs
