"""What the peers of discounted_cumsum, its gradients and ewm share: which modes they know, and which way they run."""

INT_ELEMENTS = 1 << 31  # a library that counts in int stops here


def only(case, **known):
    """supports(): for each parameter the values that this peer knows; None if the case has one of them each."""
    for name, values in known.items():
        asked = case["params"].get(name, values[0])
        if asked not in values:
            return f"{name}={asked}: this peer knows {', '.join(map(str, values))}"
    return None


def is_right(case):
    return case["params"]["direction"] == "right"


def reading_order(case, array):
    """A view of [batch, n] in which every sum runs from the left."""
    return array[:, ::-1] if is_right(case) else array


def filter_coefficients(numpy, decay, dtype):
    """(b, a) of the recurrence y[i] = x[i] + decay y[i-1]."""
    return numpy.array([1], dtype), numpy.array([1, -decay], dtype)
