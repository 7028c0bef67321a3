"""Reads results files (docs/RESULTS.md) line by line, and refuses what is not as that page has it. Standard library only."""

import io
import json

from analysis import foreign, row_check
from analysis.inputs import opened
from analysis.output import End


class BadResults(End):
    """A results file that cannot be used; the message names file and line."""


class NoRows(BadResults):
    """Good files, but not one row in them."""

    code = 3


class Repeated(ValueError):
    """An object has a key twice."""


def only_once(pairs):
    made = dict(pairs)
    if len(made) != len(pairs):
        raise Repeated
    return made


def no_constant(word):
    raise ValueError(f"{word} is no number of JSON")


DECODER = json.JSONDecoder(object_pairs_hook=only_once, parse_constant=no_constant)


def no_text(text):
    """Where a text begins that holds NUL or half a character, or None."""
    for token in row_check.TOKEN.finditer(text):
        word = json.loads(token.group()) if token.group()[0] == '"' and "\\u" in token.group() else ""
        if "\0" in word or any("\ud800" <= letter <= "\udfff" for letter in word):
            return token.start()
    return None


def parse(path, number, text):
    """What jansson reads of JSON (harness/record/row.c), and nothing else."""
    try:
        value = DECODER.decode(text)
    except json.JSONDecodeError as error:
        raise BadResults(f"{path}:{number}:{error.colno}: not JSON: {error.msg}") from error
    except Repeated as error:
        column, key = row_check.second_place_of(text)
        twice = f"the key {json.dumps(key)} is there twice in one object"
        raise BadResults(f"{path}:{number}:{column}: not JSON: {twice}") from error
    except RecursionError as error:
        raise BadResults(f"{path}:{number}:1: not JSON of a results file: nested too deeply") from error
    except ValueError as error:  # NaN, or an integer of thousands of digits
        tokens = row_check.TOKEN.finditer(text)
        wrong = (at for at in tokens if at.group().lstrip("-") in ("NaN", "Infinity") or len(at.group()) > 4000)
        column = next((at.start() + 1 for at in wrong), 1)
        raise BadResults(f"{path}:{number}:{column}: not JSON: {error}") from error
    start = no_text(text) if "\\u" in text else None
    if start is not None:
        raise BadResults(f"{path}:{number}:{start + 1}: not JSON: a text with \\u0000 or half a character")
    return value


def check(path, number, text, line):
    """Refuses what is not as docs/RESULTS.md has it."""
    fault = row_check.fault_of(line)
    if fault:
        where, expected = fault
        column, shown = row_check.place_of(text, where)
        name = ".".join(map(str, where))
        raise BadResults(f"{path}:{number}:{column}: {f'{name} is ' if name else ''}{shown}; expected {expected}")


def read_lines(path, warnings):
    """One line at a time: files may be larger than memory."""
    return (value for _, _, value in read_numbered(path, warnings))


def read_numbered(path, warnings):
    """(number from 1, text, value) of each line."""
    try:
        with io.TextIOWrapper(opened(path), encoding="utf-8", newline="\n") as file:
            yield from lines_of(path, file, warnings)
    except UnicodeDecodeError as error:
        raise BadResults(f"{path}: cannot be read: {error}") from error
    except OSError as error:
        raise BadResults(f"{path}: cannot be read: {error.strerror}") from error


def lines_of(path, file, warnings):
    for number, line in enumerate(file, 1):
        if not line.strip():
            continue
        try:
            value = parse(path, number, line)
        except BadResults:
            if line.endswith("\n"):
                raise
            warnings.append(f"{path}:{number}: the last line is cut off and left out")
            return
        check(path, number, line, value)
        visible = foreign.every(value, foreign.visible) if "\\" in line or not line.isascii() else value
        yield number, line, visible
