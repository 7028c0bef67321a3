"""accelerated-scan's Triton kernel. Idea: a program of Triton walks along a row, 2048 elements at a time. Limits: a discount for each
element, sums from the left, no float64; an infinity times 0 is NaN; in f16 and bf16 each product and sum is rounded, so its rows fail."""

from peer import import_torch_cuda
from scan_peers import only

VARIANT = {
    "summary": "accelerated-scan, its Triton kernel",
    "origin": "accelerated-scan 0.3.1, accelerated_scan.scalar",
    "framework": "accelerated_scan",
    "needs_gpu": True,
    "clock": "torch",
    "dtypes": ["f16", "bf16"],
}


def supports(case, tunables):
    if case["dtype"] == "f64":
        return "f64: its sums are carried from block to block in float32"
    return only(case, direction=("left",), gamma_per=("element",), k=(0,), reset=("none",))


def prepare(case, tunables, shapes):
    import_torch_cuda()
    from accelerated_scan.scalar import scan

    return scan


def run(scan, inputs):
    """Each row as a sequence with one channel: [batch, 1, n]."""
    return scan(inputs["gamma"].unsqueeze(1), inputs["x"].unsqueeze(1)).squeeze(1)
