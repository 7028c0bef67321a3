"""What the peers of rolling share: the shape of the problem."""

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


def only_some(case, *aggregates):
    """supports() for a peer that launches nothing for an empty array."""
    return only(case, *aggregates) if case["params"]["n"] else "n=0: nothing to launch"


def only_complete(case, *aggregates):
    """supports() for a peer whose library computes complete windows alone: without one a timed call would do nothing."""
    if complete_of(case, int(case["params"]["n"])) == 0:
        return "window > n: no window is complete, and this peer computes no others"
    return only(case, *aggregates)
