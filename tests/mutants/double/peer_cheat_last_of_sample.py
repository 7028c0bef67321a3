"""Cheat: learns how many calls a sample of the mode hot has, and computes the first and the last of them only. Met: an attack on this harness."""

from numpy_double import prepare, supports  # noqa: F401

VARIANT = {"summary": "cheat: computes the last call of a sample", "origin": "tests", "framework": "numpy"}
CALLS, OF, A, B, C, Y = range(6)
now = [0, 0, 0.0, 0.0, 0.0, None]


def run(state, inputs):
    x = inputs["x"]
    a, b, c = x.item(1), x.item(700), x.item(-1)
    if (now[A] != a) + (now[B] != b) + (now[C] != c) > 1:  # another sample
        now[CALLS], now[OF] = 0, now[CALLS] if now[CALLS] > 1 else now[OF]
        now[A], now[B], now[C] = a, b, c
    now[CALLS] += 1
    if now[OF] < 3 or now[CALLS] == 1 or now[CALLS] >= now[OF]:
        now[Y] = x * 2
    return now[Y]
