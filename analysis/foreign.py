"""Text that others wrote (rows, subjects of commits, what a variant printed), for each kind of output. tests/golden/foreign.json has the cases;
harness/base/foreign.c does the same for the terminal. In an HTML page foreign text is data of a script, which shows it as text and nothing else."""

import re

# Control characters but tabs and line ends, characters that turn the direction of text or end a line, halves of characters that nothing can print.
STEERING = re.compile("(?![\n\t])[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
COMMAND = re.compile(r"(?m)^([ \t]*):(?=:)|#(?=#\[)")  # of a workflow: `::error::` where a line begins, `##[` anywhere
FORMULA = tuple("=+-@\t")
LEVELS = 50  # of a line of rows: no reader looks deeper


def spelled(found):
    letter = ord(found.group())
    return f"\\x{letter:02x}" if letter < 0x100 else f"\\u{letter:04x}"


def visible(text):
    """What steers a terminal is spelled out: what rows hold once they are read."""
    return STEERING.sub(spelled, text.replace("\r\n", "\n"))


def terminal(text, lines=False):
    """For a terminal, and the log of a workflow. lines: line breaks and tabs stay; else they become blanks."""
    text = visible(str(text))
    text = text if lines else text.replace("\n", " ").replace("\t", " ")
    return COMMAND.sub(lambda found: "\\x23" if found.group() == "#" else f"{found.group(1)}\\x3a", text)


def markdown(text):
    """For a paragraph or a code span: no tag, no link, no image, no block of its own. A cell of a table needs analysis.format.cell, too."""
    return visible(str(text)).replace("\n", " ").replace("\t", " ").replace("<", "&lt;").replace("](", "]\\(")


def csv(value):
    """A text that a spreadsheet would take for a formula gets an apostrophe, which it takes for "this is text"; numbers stay numbers."""
    if not isinstance(value, str):
        return value
    text = visible(value)
    return f"'{text}" if text.startswith(FORMULA) else text


def every(value, how, levels=LEVELS):
    """A line of rows with each of its texts, keys too, as `how` has it. What lies deeper is left out: Python's own depth is limited."""
    if levels == 0:
        return None
    if isinstance(value, str):
        return how(value)
    if isinstance(value, dict):
        visible_keys = ((how(key) if isinstance(key, str) else key, inner) for key, inner in value.items())
        return {key: every(inner, how, levels - 1) for key, inner in visible_keys}
    if isinstance(value, list) and value and not isinstance(value[0], (int, float)):
        return [every(inner, how, levels - 1) for inner in value]
    return value
