"""Numbers as people read them: three significant digits and a unit."""
import math


def significant(value, digits=3):
    if value is None:
        return "-"
    if not math.isfinite(value):
        return "inf" if value > 0 else "nan"
    if value == 0:
        return "0"
    size = math.floor(math.log10(abs(value)))
    if -3 <= size < 6:
        return f"{value:,.{max(0, digits - 1 - size)}f}"
    return f"{value:.{digits - 1}e}".replace("e-0", "e-").replace("e+0", "e+")


def seconds(value, digits=3):
    if value is None:
        return "-"
    if value == 0:
        return "0"
    for scale, unit in ((1, "s"), (1e-3, "ms"), (1e-6, "us")):
        if value >= scale:
            return f"{significant(value / scale, digits)} {unit}"
    return f"{significant(value / 1e-9, digits)} ns"


def seconds_between(value, low, high, digits=4):
    """53.06 us (52.90 to 53.54), all in the unit of the first."""
    text = seconds(value, digits)
    if low is None or high is None:
        return text
    number, unit = text.split(" ")
    scale = {"s": 1, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}[unit]
    return f"{text} ({significant(low / scale, digits)} to {significant(high / scale, digits)})"


def size(value):
    if value is None:
        return "-"
    for scale, unit in ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB")):
        if value >= scale:
            return f"{significant(value / scale)} {unit}"
    return f"{value:g} B"


def rate(value):
    return "-" if value is None else f"{significant(value / 1e9, 4)} GB/s"


def percent(value, digits=None):
    if value is None:
        return "-"
    if digits:
        return f"{100 * value:.{digits}g}%" if value < 0.995 else f"{100 * value:.0f}%"
    return f"{100 * value:.1f}%" if value >= 0.01 else f"{100 * value:.2g}%"


def many(n, one, several=None):
    """1 row, 2 rows."""
    return f"{n} {one if n == 1 else several or one + 's'}"


def count(value):
    """100000000 -> 1e8, 20000 -> 20000."""
    if isinstance(value, (int, float)) and value >= 1e6:
        exponent = math.floor(math.log10(value))
        mantissa = value / 10**exponent
        if abs(mantissa - round(mantissa, 3)) < 1e-9:
            return f"{round(mantissa, 3):g}e{exponent}"
    return f"{value:g}" if isinstance(value, float) else str(value)
