"""scipy.signal.lfilter with b = [1], a = [1, -gamma]. Idea: the sequential recurrence in C, one row after the other, in the case's own
precision. Traffic: to the right it reads and writes its rows backwards, through views. Limits: one gamma; after an infinity it gives
NaN, for it pads b with a zero and multiplies."""

from scan_peers import filter_of, filtered, only

VARIANT = {
    "summary": "scipy.signal.lfilter",
    "origin": "SciPy; what many reinforcement-learning codes use",
    "framework": "scipy",
}


def supports(case, tunables):
    return only(case, gamma_per=("all",), k=(0,), reset=("none",))


def prepare(case, tunables, shapes):
    import numpy
    from scipy import signal

    return filter_of(numpy, signal.lfilter, case, shapes["x"])


def run(state, inputs):
    return filtered(state, inputs)
