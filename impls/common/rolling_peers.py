"""What the peers of rolling share: the shape of the problem, and the incomplete windows before it."""

import math


def window_of(case):
    return int(case["params"]["window"])


def incomplete_of(case):
    """What the op wants in out[i] for i < w - 1."""
    return math.inf if case["params"].get("incomplete", "nan") == "inf" else math.nan


def complete_of(case, n):
    """Number of complete windows: the outputs w - 1 .. n - 1."""
    return max(0, n - window_of(case) + 1)


def only(case, *aggregates):
    """supports() for a peer that knows some aggregates."""
    asked = case["params"]["agg"]
    return None if asked in aggregates else f"agg={asked}: this peer knows {', '.join(aggregates)}"


def only_complete(case, *aggregates):
    """supports() for a peer whose library computes complete windows alone: without one a timed call would do nothing."""
    if complete_of(case, int(case["params"]["n"])) == 0:
        return "window > n: no window is complete, and this peer computes no others"
    return only(case, *aggregates)


def complete_part(case, out):
    """The place of the complete outputs, behind the incomplete ones, which are written here."""
    w = window_of(case)
    out[: w - 1] = incomplete_of(case)
    return out[w - 1 :]


def put(case, complete, out):
    """complete: numpy; not looked at where no window is complete."""
    place = complete_part(case, out)
    if len(place):
        place[:] = complete
