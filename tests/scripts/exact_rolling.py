"""rolling by its definition in rational numbers: every value rounded once."""

import math
from fractions import Fraction

FLOAT_LIMIT = float.fromhex("0x1.ffffffp127")  # from here on a float is infinite
AGGREGATES = ("mean", "sum", "var", "std", "min", "max")


def nearest(number):
    """The double next to a Fraction; beyond the range, infinity."""
    try:
        return number.numerator / number.denominator
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def root_is_nearest(value, square):
    """Is `value` the double next to the root of this Fraction?"""
    if square == 0 or value == 0:
        return value == 0 and square == 0
    below, above = math.nextafter(value, 0), math.nextafter(value, math.inf)
    low = (Fraction(below) + Fraction(value)) / 2
    high = (Fraction(above) + Fraction(value)) / 2 if math.isfinite(above) else Fraction(value) * 2
    return low * low <= square <= high * high


def exact(window, agg):
    """The aggregate of finite elements; of std, its square."""
    total = sum(map(Fraction, window), Fraction(0))
    if agg == "sum":
        return total
    mean = total / len(window)
    return mean if agg == "mean" else sum(((Fraction(x) - mean) ** 2 for x in window), Fraction(0)) / (len(window) - 1)


def special(window, agg):
    """The output, if NaN, infinities or a window of one settle it; else None."""
    kinds = {x for x in window if math.isinf(x)}
    if any(map(math.isnan, window)):
        return math.nan
    if agg in ("min", "max"):
        return min(window) if agg == "min" else max(window)
    if agg in ("var", "std") and (kinds or len(window) == 1) or len(kinds) == 2:
        return math.nan
    return kinds.pop() if kinds else None


def check(case, value, tolerance):
    """The first output of a case that is not what the definition gives, in words; or None."""
    x, w, agg, f32 = case["x"], case["window"], case["agg"], case["dtype"] == "f32"
    for i, (y, room) in enumerate(zip(value, tolerance, strict=True)):
        window = x[max(0, i + 1 - w) : i + 1]
        expected = math.nan if i + 1 < w else special(window, agg)
        if expected is None:
            number = exact(window, agg)
            if agg == "std":
                good = (
                    root_is_nearest(y, number)
                    if math.isfinite(y)
                    else number >= Fraction(FLOAT_LIMIT if f32 else math.ldexp(1, 1023) * 2**0.5) ** 2
                )
            else:
                expected = nearest(number)
                if f32 and abs(expected) >= FLOAT_LIMIT:
                    expected = math.copysign(math.inf, expected)
                good = y == expected
        else:
            good = y == expected or (math.isnan(y) and math.isnan(expected))
        if not good:
            return f"y[{i}] is {float(y).hex()}, {expected if expected is None else float(expected).hex()} by the definition"
        if not (0 <= room < math.inf) or (room > 0 and not math.isfinite(y)):
            return f"y[{i}] = {float(y).hex()} has the tolerance {room}"
    return None
