"""A comparison as a table for the terminal."""

from analysis.compare.outcome import ORDER, counts, fails, sort
from analysis.foreign import terminal
from analysis.format import change, many, seconds

COLOURS = {
    "wrong": 31,
    "slower": 31,
    "missing": 31,
    "not comparable": 35,
    "ambiguous": 33,
    "faster": 32,
    "new": 36,
    "no base": 36,
    "same": 90,
}
HEAD = ("verdict", "change", "95% interval", "base", "new", "runs", "finds", "mode", "variant")


def table(comparisons, result, colour):
    rows = [(c, cells(c)) for c in sort(comparisons)]
    widths = [max(len(row[i]) for row in [HEAD, *(r for _, r in rows)]) for i in range(len(HEAD))]
    lines = [line(HEAD, widths) + " | case"]
    for c, row in rows:
        text = line(row, widths) + f" | {terminal(c.case)}"
        lines.append(f"\033[{COLOURS[c.verdict]}m{text}\033[0m" if colour else text)
        if c.reason:
            lines.append(f"    {terminal(c.reason)}" + (" (allowed)" if c.allowed else ""))
    first = [terminal(result["not_in_turns"])] if result["not_in_turns"] else []
    return "\n".join([*first, *(lines if rows else []), *closing(comparisons, result)]) + "\n"


def time(value):
    return seconds(value, 4, zeros=False)


def interval(c):
    return "" if c.low is None else f"{change(c.low)} to {change(c.high)}"


def repetitions(c):
    """How many processes a side, where any."""
    if not c.base_processes or not c.new_processes:
        return ""
    return str(c.base_processes) if c.base_processes == c.new_processes else f"{c.base_processes}/{c.new_processes}"


def finds(c):
    """The smallest slow-down that it would have shown."""
    return f"{100 * (c.detectable - 1):.1f}%" if c.detectable else ""


def cells(c):
    return (
        c.verdict,
        change(c.ratio),
        interval(c),
        time(c.base_seconds),
        time(c.new_seconds),
        repetitions(c),
        finds(c),
        c.mode or "all",
        terminal(c.spec),
    )


def line(row, widths):
    return "  ".join(
        text.rjust(w) if 1 <= i <= 6 else text.ljust(w) for i, (text, w) in enumerate(zip(row, widths))
    ).rstrip()


def closing(comparisons, result):
    found = counts(comparisons)
    yield f"{many(len(comparisons), 'comparison')}: " + (
        ", ".join(f"{found[v]} {v}" for v in ORDER if found[v]) or "none"
    )
    yield f"base: {side(result['base'])}; new: {side(result['new'])}"
    for warning in result["warnings"]:
        yield f"note: {terminal(warning)}"
    if result["exit"] == 3:
        yield "nothing was compared"
    elif result["exit"]:
        failing = sum(map(fails, comparisons))
        yield f"FAILED: {many(failing, 'comparison')} of {len(comparisons)}" if failing else "FAILED: see the notes"


def side(told):
    return f"{terminal(told['file'])}, {many(told['runs'], 'run')} of {', '.join(told['commits']) or 'unknown'}"
