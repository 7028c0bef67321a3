"""Numbers, units, cases and tables as people read them."""

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


TIME_UNITS = {"s": 1, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}


def seconds(value, digits=3, zeros=True):
    """zeros: also those at the end, which say how exactly it is known."""
    if value is None:
        return "-"
    if value == 0:
        return "0"
    unit = next((unit for unit, scale in TIME_UNITS.items() if value >= scale), "ns")
    text = significant(value / TIME_UNITS[unit], digits)
    return f"{text if zeros or '.' not in text else text.rstrip('0').rstrip('.')} {unit}"


def seconds_between(value, low, high, digits=4):
    """53.06 us (52.90 to 53.54), all in the unit of the first."""
    text = seconds(value, digits)
    if low is None or high is None:
        return text
    scale = TIME_UNITS[text.split(" ")[1]]
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


def change(ratio):
    return "-" if ratio is None else f"{100 * (ratio - 1):+.1f}%"


def many(n, one, several=None):
    """1 row, 2 rows."""
    return f"{n} {one if n == 1 else several or one + 's'}"


def ends(values, text=str):
    """ "1.49x to 382x": the least and the most, as text; one where they read alike."""
    return " to ".join(dict.fromkeys((text(min(values)), text(max(values)))))


def times(ratio):
    return f"{significant(ratio)}x"


def count(value):
    """100000000 -> 1e8, 20000 -> 20000, 1048576.0 -> 1048576."""
    if isinstance(value, (int, float)) and value >= 1e6:
        exponent = math.floor(math.log10(value))
        mantissa = value / 10**exponent
        if abs(mantissa - round(mantissa, 3)) < 1e-9:
            return f"{round(mantissa, 3):g}e{exponent}"
    if isinstance(value, float):
        return f"{value:.0f}" if value.is_integer() else f"{value:g}"
    return str(value)


USUAL = {
    "incomplete": "nan",
    "degenerate": "nan",
    "columns": "alike",
    "order": 4,
    "k": 0,
    "direction": "right",
    "gamma_per": "all",
    "reference": "received",
    "adjust": "true",
    "nan": "decay",
    "min_periods": 1,
    "alpha": 0,
    "com": -1,
    "halflife": 0,
    "batch": 1,
    "names_bytes": 0,
    "visibilities_bytes": 0,
    "redacted_bytes": 0,
}


def says_something(key, value):
    """Words that stand for "nothing special" are left out of titles."""
    return value != "none" and (key not in USUAL or USUAL[key] != value)


def param_words(key, value):
    """ "mean", "nan decay", "n = 1e8"."""
    return f"{key} = {count(value)}" if not isinstance(value, str) else value if key == "agg" else f"{key} {value}"


def describe(row, *left_out):
    """ "rolling mean, n = 1e8, f64" for titles, without the named parameters and without defaults that only repeat."""
    params = row.get("params") or {}
    words = [row["op"]]
    numbers = []
    for key, value in params.items():
        if key not in left_out and says_something(key, value):
            (words if isinstance(value, str) else numbers).append(param_words(key, value))
    return ", ".join([" ".join(words), *numbers, str(row.get("dtype"))])


def cell(text):
    """What a page has in a cell, our own emphasis and links too: it must neither end the cell nor begin a tag."""
    return str(text).replace("|", "\\|").replace("<", "&lt;").replace("\n", " ")


def table(header, rows):
    """Left-aligned first column, the others to the right where the header begins with '>'."""
    names = [h.lstrip(">") for h in header]
    rules = ["---:" if h.startswith(">") else "---" for h in header]
    lines = [names, rules, *[[cell(c) for c in row] for row in rows]]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def without_empty(header, lines):
    """Columns that hold nothing are left out."""
    kept = [k for k in range(len(header)) if k == 0 or any(line[k] != "-" for line in lines)]
    return [header[k] for k in kept], [[line[k] for k in kept] for line in lines]


def details(summary, body):
    return f"<details><summary>{summary}</summary>\n\n{body}\n\n</details>"


def folded(title, body, fold):
    return details(title, body) if fold else f"**{title}**\n\n{body}"


def pictures_of(pictures, *beginnings):
    """Those whose file begins with one of the words, as links [(link, text)]; what is about single precision folded."""
    found = [(link, text) for word in beginnings for link, text in pictures if link.rsplit("/", 1)[-1].startswith(word)]
    shown = [f"![{text}]({link})" for link, text in found if "_f32" not in link]
    folded = [f"![{text}]({link})" for link, text in found if "_f32" in link]
    return "\n\n".join(shown + ([details("figures in single precision", "\n\n".join(folded))] if folded else []))


def machine_text(machine):
    """In words; of a GPU that is whole and not held at a clock, nothing is said of either. What is unknown is said."""
    known = {key: value for key, value in machine if value is not None}
    words = [
        known.get("device", "unknown device"),
        "threads" in known and f"{known['threads']} threads",
        "driver_major" in known and f"driver {known['driver_major']}",
        "power_cap_watts" in known and f"{known['power_cap_watts']:g} W",
        known.get("mig") and f"MIG, {known.get('sm_count', 'unknown')} SMs",
        "sm_mhz" in known and f"SM clock about {known['sm_mhz']:g} MHz",
    ]
    unknown = [key.replace("_", " ") for key, value in machine if value is None and key != "device"]
    return ", ".join(word for word in words if word) + (f" (unknown: {', '.join(unknown)})" if unknown else "")
