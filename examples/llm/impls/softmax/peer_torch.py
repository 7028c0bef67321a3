"""torch.softmax, on the GPU."""

VARIANT = {
    "summary": "torch.softmax",
    "origin": "PyTorch",
    "framework": "torch",
    "needs_gpu": True,
    "clock": "torch",
    "dtypes": ["bf16"],
}


def supports(case, tunables):
    return None


def prepare(case, tunables, shapes):
    from peer import import_torch_cuda

    torch = import_torch_cuda()

    return {"torch": torch}


def run(state, inputs):
    torch = state["torch"]
    return torch.softmax(inputs["x"], dim=1)
