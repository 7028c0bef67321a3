"""PyTorch's matrix product: cuBLAS, without TF32, on the GPU."""

VARIANT = {
    "summary": "PyTorch's matrix product: cuBLAS, without TF32",
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

    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False


def run(state, inputs):
    return inputs["a"] @ inputs["b"]
