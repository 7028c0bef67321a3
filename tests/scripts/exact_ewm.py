"""ewm by its definition, in decimal numbers with more digits than the data span."""

import decimal
import math
from decimal import Decimal

decimal.getcontext().Emax, decimal.getcontext().Emin = decimal.MAX_EMAX, decimal.MIN_EMIN
FLOAT_LIMIT = float.fromhex("0x1.ffffffp127")


def decay(name, number):
    """alpha, q."""
    d = Decimal(number)
    if name == "span":
        return 2 / (d + 1), (d - 1) / (d + 1)
    if name == "alpha":
        return d, 1 - d
    if name == "com":
        return 1 / (1 + d), d / (1 + d)
    q = (-Decimal(2).ln() / d).exp()
    return 1 - q, q


class Series:
    """Observations of one series with their weights, the latest last."""

    def __init__(self):
        self.x, self.w, self.special, self.count = [], [], 0.0, 0

    def step(self, x, alpha, q, adjust, propagate):
        if q > 0:  # with q = 0 the latest observation stays until there is another
            self.w = [w * q for w in self.w]
        if math.isnan(x) and not propagate:
            return
        first = self.count == 0
        self.count += 1
        if q == 0:
            self.x, self.w, self.special = [], [], 0.0
        if not math.isfinite(x):
            self.special += x
        self.x.append(Decimal(x) if math.isfinite(x) else Decimal(0))
        self.w.append(Decimal(1) if adjust or first else alpha)
        if not adjust:
            total = sum(self.w)
            self.w = [w / total for w in self.w]

    def output(self, agg):
        """None: no number."""
        if self.special != 0 or math.isnan(self.special):
            return self.special if agg == "mean" else math.nan
        total, about = sum(self.w), self.x[0]
        apart = [x - about for x in self.x]  # exact, so that equal numbers have no spread
        shift = sum(w * x for w, x in zip(self.w, apart)) / total
        if agg == "mean":
            return about + shift
        if len(self.x) < 2:
            return math.nan
        spread = sum(w * (x - shift) ** 2 for w, x in zip(self.w, apart)) / total
        before = [
            sum(self.w[:k], Decimal(0)) for k in range(len(self.w))
        ]  # 1 - sum w^2 / total^2, without that difference
        variance = spread / (2 * sum(w * b for w, b in zip(self.w, before)) / total**2)
        return variance if agg == "var" else variance.sqrt()


def check(case, value, tolerance):
    """The first output of a case that is not what the definition gives, in words; or None."""
    sizes = [math.log10(abs(x)) for x in case["x"] if math.isfinite(x) and x != 0] or [0]
    decimal.getcontext().prec = 80 + 2 * math.ceil(max(sizes) - min(sizes))  # squares of all in one sum
    alpha, q = decay(*case["decay"])
    series, periods = Series(), max(1, case["min_periods"])
    for i, (x, y, room) in enumerate(zip(case["x"], value, tolerance, strict=True)):
        if case["starts"] and case["starts"][i]:
            series = Series()
        series.step(x, alpha, q, case["adjust"], case["nan"] == "propagate")
        expected = math.nan if series.count < periods else series.output(case["agg"])
        if isinstance(expected, Decimal):
            limit = Decimal(FLOAT_LIMIT) if case["dtype"] == "f32" else Decimal(2) ** 1024
            if abs(expected) >= limit * (1 - Decimal(2) ** -50):
                good = math.isinf(y) and (y > 0) == (expected > 0) or abs(expected) < limit
            else:
                good = (
                    math.isfinite(y)
                    and 0 <= room < math.inf
                    and abs(Decimal(y) - expected)
                    <= (abs(expected) * Decimal(2) ** -50 + Decimal(room) * Decimal(2) ** -20 + Decimal(2) ** -1074)
                )
        else:
            good = (y == expected or (math.isnan(y) and math.isnan(expected))) and room == 0
        if not good:
            return f"y[{i}] is {float(y).hex()} within {room}, {expected:.20g} by the definition"
    return None
