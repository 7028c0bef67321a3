"""Numbers as people read them."""


def seconds(value):
    if value is None:
        return "-"
    for unit, factor in (("s", 1), ("ms", 1e3), ("us", 1e6)):
        if value * factor >= 1:
            return f"{value * factor:.4g} {unit}"
    return f"{value * 1e9:.4g} ns"


def change(ratio):
    return "-" if ratio is None else f"{100 * (ratio - 1):+.1f}%"


def interval(c):
    return "" if c.low is None else f"{change(c.low)} to {change(c.high)}"


def repetitions(c):
    """How many processes a side, where any."""
    if not c.base_processes or not c.new_processes:
        return ""
    return str(c.base_processes) if c.base_processes == c.new_processes else f"{c.base_processes}/{c.new_processes}"


def plural(count, word):
    return f"{count} {word}" + ("" if count == 1 else "s")
