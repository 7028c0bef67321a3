"""The honest `double` in PyTorch on a GPU, from which peers that are wrong on purpose are made."""


def supports(case, tunables):
    del case, tunables


def prepare(case, tunables, shapes):
    del case, tunables, shapes
    from peer import import_torch_cuda

    return {"torch": import_torch_cuda(), "calls": 0}


def run(state, inputs):
    del state
    return inputs["x"] * 2
