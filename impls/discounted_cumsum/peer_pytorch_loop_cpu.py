"""A Python loop over PyTorch tensors on the CPU, all rows at once. Idea: the running sum of one column after the other; to the right each
one is inserted at the front of a list, as the published baseline does it, which moves the whole list every time: quadratic in n. To
the left it is appended. Rounding: product and sum rounded one by one, in the case's precision.
Limits: rows of at most 2^17 elements, beyond that a call takes minutes; one gamma or one per row."""

from scan_peers import is_right, only

VARIANT = {
    "summary": "PyTorch loop on the CPU, inserting at the front of a list",
    "origin": "torch-discounted-cumsum's baseline; the returns of PyTorch's REINFORCE example",
    "framework": "torch",
}
LONGEST_ROW = 1 << 17


def supports(case, tunables):
    if case["params"]["n"] > LONGEST_ROW:
        return f"a loop in Python: rows of at most {LONGEST_ROW} elements"
    return only(case, gamma_per=("all", "row"), k=(0,), reset=("none",))


def prepare(case, tunables, shapes):
    import torch

    return {"torch": torch, "case": case}


def run(state, inputs):
    torch, x, gamma = state["torch"], inputs["x"], inputs["gamma"].reshape(-1, 1)
    sums, running = [], torch.zeros((x.shape[0], 1), dtype=x.dtype)
    if is_right(state["case"]):
        for i in reversed(range(x.shape[1])):
            running = x[:, i].unsqueeze(-1) + gamma * running
            sums.insert(0, running)
    else:
        for i in range(x.shape[1]):
            running = x[:, i].unsqueeze(-1) + gamma * running
            sums.append(running)
    return torch.cat(sums, dim=1) if sums else x
