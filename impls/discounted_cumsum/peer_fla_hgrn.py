"""The recurrence of HGRN in flash-linear-attention. Idea: a program of Triton has 32 to 128 neighbouring columns and walks down all of T, one
position after the other; nothing is shared out along T. Rounding: in float32, product and sum; it takes the logarithms of the discounts, which are
made before the call. Limits: layout=time_major from the left, discounts above 0; float32, for logarithms are less exact in shorter types."""

from peer import import_torch_cuda
from scan_peers import only

VARIANT = {
    "summary": "flash-linear-attention, fused_recurrent_hgrn",
    "origin": "fla-core 0.6.0, fla.ops.hgrn",
    "framework": "fla",
    "needs_gpu": True,
    "clock": "torch",
    "form": "torch",
    "options": ["layout", "state"],
    "logarithms": ["gamma"],
}


def supports(case, tunables):
    if case["dtype"] != "f32":
        return f"{case['dtype']}: its sums are float32"
    if not case["params"]["gamma"] > 0:
        return "a discount of 0 or less has no logarithm"
    return only(case, layout=("time_major",), direction=("left",), gamma_per=("element",), k=(0,), reset=("none",))


def prepare(case, tunables, shapes):
    import_torch_cuda()
    from fla.ops.hgrn import fused_recurrent_hgrn

    return fused_recurrent_hgrn, case["params"]["state"] == "both"


def run(state, inputs):
    """One sequence of T positions and D channels: [1, T, D]."""
    sums, has_state = state
    initial = inputs["initial"].unsqueeze(0) if has_state else None
    y, final = sums(inputs["x"].unsqueeze(0), inputs["gamma"].unsqueeze(0), initial, has_state)
    return {"y": y, "final": final} if has_state else y
