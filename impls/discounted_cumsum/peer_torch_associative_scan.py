"""PyTorch's associative_scan over affine maps, compiled. Idea: the compiler makes programs of Triton that scan pieces of rows. Limits: a
discount for each element; an infinity times a product of factors that has become 0 is NaN."""

from peer import import_torch_cuda
from scan_peers import is_right, only

VARIANT = {
    "summary": "PyTorch associative_scan over affine maps, compiled",
    "origin": "PyTorch, torch._higher_order_ops.associative_scan",
    "framework": "torch",
    "needs_gpu": True,
    "clock": "torch",
    "dtypes": ["f16", "bf16"],
}


def supports(case, tunables):
    return only(case, gamma_per=("element",), k=(0,), reset=("none",))


def prepare(case, tunables, shapes):
    torch, right = import_torch_cuda(), is_right(case)
    from torch._higher_order_ops import associative_scan

    def combine(first, second):
        return first[0] * second[0], second[0] * first[1] + second[1]

    def sums(x, gamma):
        wide = torch.promote_types(x.dtype, torch.float32)  # what is shorter is summed in float32, in the same kernel
        maps = (gamma.to(wide), x.to(wide))
        return associative_scan(combine, maps, dim=1, reverse=right, combine_mode="pointwise")[1].to(x.dtype)

    return torch.compile(sums, dynamic=False)


def run(sums, inputs):
    return sums(inputs["x"], inputs["gamma"])
