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


def filter_of(math_of, lfilter, case, x):
    """The state of a peer by lfilter: the recurrence y[i] = x[i] + gamma y[i-1]. math_of: numpy or cupy; x: the shape of the input."""
    coefficients = [math_of.array(values, x.dtype) for values in ([1], [1, -float(case["params"]["gamma"])])]
    return lfilter, case, coefficients


def filtered(state, inputs):
    lfilter, case, coefficients = state
    x = reading_order(case, inputs["x"])
    return reading_order(case, lfilter(*coefficients, x)) if x.size else x
