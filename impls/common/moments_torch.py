"""What the PyTorch peers of moments share."""

from moments_peers import formulas


def six(torch, case):
    """A function x -> the outputs by name, by the source's formulas: z is made once, then powers of it.
    Of narrow types from a copy in float32, rounded at the end."""

    narrow = case["dtype"] not in ("f32", "f64")
    out = {"f16": torch.float16, "bf16": torch.bfloat16}.get(case["dtype"], torch.float32)

    def rounded(x):
        return {name: value.to(out) for name, value in statistics(x.float()).items()}

    def statistics(x):
        deviation = torch.std(x, dim=0, correction=0)
        return formulas(case, torch.where, x, x.mean(0), deviation, deviation * deviation, x.amin(0), x.amax(0))

    return rounded if narrow else statistics


def run(statistics, inputs):
    """What a peer's file needs as a function of its own: it imports this one."""
    return statistics(inputs["x"])
