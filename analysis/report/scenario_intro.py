"""How a scenario's `about` begins: what the report prints beside its claims."""

import pathlib
import re

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "scenarios"
FOLLOWS = re.compile(
    r"(?:^|(?<=[.!?]) )[^.!?]*:$"
)  # "What to know when reading the verdicts:", which is not printed there


def about_lines(text):
    """The lines of the folded block under `about:`, empty ones too; none if there is no such block."""
    found = re.search(r"^about: *[>|][+-]?\n((?:[ \t]+.*\n|[ \t]*\n)*)", text, re.M)
    return [line.strip() for line in found.group(1).splitlines()] if found else []


def first_paragraph(text):
    lines = about_lines(text)
    end = lines.index("") if "" in lines else len(lines)
    return FOLLOWS.sub("", " ".join(lines[:end]))


def intro_of(scenario):
    """By the scenario's name in a row or claim; nothing for scenarios that are not of this checkout."""
    path = FOLDER / f"{scenario}.yaml"
    if not scenario or path.resolve().parent.parent != FOLDER or not path.is_file():
        return ""
    return first_paragraph(path.read_text(encoding="utf-8"))
