"""The honest `double` in PyTorch on a GPU, from which peers that are wrong on purpose are made."""


def supports(case, tunables):
    del case, tunables


def prepare(case, tunables, inputs):
    del case, tunables, inputs
    from peer import import_torch_cuda

    return {"torch": import_torch_cuda(), "calls": 0}


def load(state, inputs):
    state["x"] = state["torch"].from_numpy(inputs["x"].copy()).cuda()


def run(state):
    return state["x"] * 2


def fetch(state, outputs, out):
    del state
    out["y"][:] = outputs.cpu().numpy()
