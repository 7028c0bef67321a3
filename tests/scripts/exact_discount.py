"""discounted_cumsum and its gradient by their definition, in fractions: nothing is rounded on the way."""

import math
from fractions import Fraction

LIMIT = Fraction(2) ** 1023
NORMAL = 2.0**-1022


class Row:
    """One row in reading order. g[p]: what is carried into p; None: nothing is."""

    def __init__(self, case, row):
        n, reset, initial = case["n"], case["reset"], case.get("initial")
        columns = case.get("layout") == "time_major"
        forwards = [i * case["batch"] + row if columns else row * n + i for i in range(n)]
        self.order = forwards if case["direction"] == "left" else forwards[::-1]
        self.x, self.dy = ([Fraction(case[name][i]) for i in self.order] for name in ("x", "dy"))
        factor = {"all": lambda i: 0, "row": lambda i: row, "element": lambda i: i}[case["gamma_per"]]
        self.initial = Fraction(initial[row]) if initial else None
        self.g = [
            None if (p == 0 and not initial) or (reset and reset[i]) else Fraction(case["gamma"][factor(i)])
            for p, i in enumerate(self.order)
        ]
        self.terms = case["k"] or n

    def window(self, end):
        """Positions of the sum that ends there, the first first."""
        begin = end
        while begin > 0 and end - begin + 1 < self.terms and self.g[begin] is not None:
            begin -= 1
        return range(begin, end + 1)

    def results(self):
        """y, dx and dgamma by position."""
        n = len(self.x)
        y, dx, dgamma = ([Fraction(0)] * n for _ in range(3))
        for end in range(n):
            behind = self.dy[end]  # dy times the factors between a position and the end
            positions = self.window(end)
            sums = []
            before = self.initial if positions[0] == 0 and self.g[0] is not None else 0
            for p in positions:
                sums.append(self.x[p] + (before * self.g[p] if before else 0))
                before = sums[-1]
            y[end] = sums[-1]
            for p in reversed(positions):
                dx[p] += behind
                if p > positions[0]:
                    dgamma[p] += behind * sums[p - positions[0] - 1]
                    behind *= self.g[p]
        return y, dx, dgamma


def expected(case):
    """By output; None if a number leaves the range, which has rules of its own."""
    n, batch, per = case["n"], case["batch"], case["gamma_per"]
    y, dx, dgamma = ([None] * (n * batch) for _ in range(3))
    final = []
    for row in range(batch):
        one = Row(case, row)
        for found, out in zip(one.results(), (y, dx, dgamma)):
            for p, i in enumerate(one.order):
                out[i] = found[p]
        final += [y[one.order[-1]]] if case.get("initial") else []
    if per != "element":
        rows = [sum(dgamma[row * n : (row + 1) * n]) for row in range(batch)]
        dgamma = rows if per == "row" else [sum(rows)]
    if any(abs(number) >= LIMIT for number in (*y, *dx, *dgamma)):
        return None
    return {"y": y, "final": final} if case["op"] == "discounted_cumsum" else {"dx": dx, "dgamma": dgamma}


def check(case, value, tolerance):
    """What is wrong with an output; None: nothing. A value is rounded once, or twice where it is subnormal, from some 100 bits of
    its terms' magnitude, which the tolerance is a part of."""
    for i, (v, tol, truth) in enumerate(zip(value, tolerance, case["exact"])):
        rounding = Fraction(math.ulp(v)) * (Fraction(1, 2) if abs(v) >= NORMAL else Fraction(3, 4))
        if not math.isfinite(v) or abs(Fraction(v) - truth) > rounding + Fraction(tol) / 2**40:
            return f"{case['output']}[{i}] = {v!r}, {float(truth)!r} is expected; tolerance {tol!r}"
    return None
