"""torch.native_layer_norm, on the GPU."""

VARIANT = {
    "summary": "torch.native_layer_norm",
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

    return {"torch": torch, "eps": float(case["params"]["eps"])}


def run(state, inputs):
    torch = state["torch"]
    y, mean, rstd = torch.native_layer_norm(
        inputs["x"], inputs["x"].shape[1:], inputs["weight"], inputs["bias"], state["eps"]
    )
    return y, mean[:, 0], rstd[:, 0]
