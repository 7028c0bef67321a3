"""What the PyTorch peers of moments share."""

from moments_peers import formulas


def six(torch, case):
    """A function x -> the outputs by name, by the source's formulas: z is made once, then powers of it."""

    def statistics(x):
        deviation = torch.std(x, dim=0, correction=0)
        return formulas(case, torch.where, x, x.mean(0), deviation, deviation * deviation, x.amin(0), x.amax(0))

    return statistics


def run(statistics, inputs):
    """What a peer's file needs as a function of its own: it imports this one."""
    return statistics(inputs["x"])
