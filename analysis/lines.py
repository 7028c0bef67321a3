"""Reads results files (docs/RESULTS.md) line by line, and refuses what is not as that page has it. Standard library only."""
import json

from analysis.output import End

SCHEMA = 1


class BadResults(End):
    """A results file that cannot be used; the message names file and line."""


class NoRows(BadResults):
    """Good files, but not one row in them."""
    code = 3


# What the readers take for granted of a line: kind -> key -> its type; null is allowed where a tuple holds None. Of other keys they ask with care.
NEEDED = {"row": {key: str for key in ("case", "op", "variant", "spec", "verdict", "backend")}}
TYPES = {
    "row": {"run": str, "scenario": str, "dtype": str, "input": str, "params": dict, "errors": dict, "bound": dict, "timing": dict, "work": dict, "counts": dict,
            "launch": dict, "tunables": dict, "code": dict, "reason": str, "why_not_timed": str, "baseline": str},
    "environment": {"run": str, "date": str, "commit": str, "argv": list, "gpu": dict, "cpu": dict, "build": dict, "variables": dict, "ab": dict, "python": dict},
    "ceilings": {"run": str, "device": str, "ceilings": list},
    "claim": {"run": str, "scenario": str, "op": str, "id": str, "case": str, "variant": str, "outcome": str, "statement": str}}
PARTS = {"row": ("timing", "errors"), "ceilings": ("ceilings",)}  # each of their values is an object, or null
NUMBERS = ("count", "median", "min", "max", "q1", "q3", "low", "high", "max_absolute", "max_relative", "l2_relative", "max_ulp", "max_ratio", "mismatches")


def fault_of(line):
    """What is not as docs/RESULTS.md has it, or None."""
    if not isinstance(line, dict) or not isinstance(line.get("kind"), str):
        return "a line must be a JSON object with a 'kind'"
    if line.get("schema") != SCHEMA:
        return f"schema {line.get('schema')}; this program reads schema {SCHEMA}"
    kind = line["kind"]
    missing = [key for key in NEEDED.get(kind, ()) if key not in line]
    if missing:
        return f"a {kind} without {', '.join(missing)}"
    for key, wanted in {**TYPES.get(kind, {}), **NEEDED.get(kind, {})}.items():
        if not isinstance(line.get(key), wanted) and (line.get(key) is not None or key in NEEDED.get(kind, ())):
            return f"'{key}' is {json.dumps(line[key])[:40]}; {NAMES[wanted]} is expected"
    for key in PARTS.get(kind, ()):
        found = line.get(key) or {}
        for part in found.values() if isinstance(found, dict) else found:
            if part is not None and not isinstance(part, dict):
                return f"'{key}' holds {json.dumps(part)[:40]}; objects are expected"
    parts = [(key, name, part) for key in ("timing", "errors") if kind == "row" for name, part in (line.get(key) or {}).items() if part]
    for key, name, part in parts:
        wrong = next((number for number in NUMBERS if not isinstance(part.get(number), (int, float, type(None)))), None)
        samples = part.get("samples") or []
        if wrong or not isinstance(samples, list) or not all(isinstance(x, (int, float)) for x in samples):
            return f"{key} of '{name}': '{wrong or 'samples'}' is no number"
    return None


NAMES = {str: "a text", dict: "an object", list: "an array"}


def parse(path, number, text):
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise BadResults(f"{path}:{number}:{error.colno}: not JSON: {error.msg}") from error
    except RecursionError as error:
        raise BadResults(f"{path}:{number}: not JSON of a results file: nested too deeply") from error
    except ValueError as error:  # an integer of thousands of digits
        raise BadResults(f"{path}:{number}: {error}") from error


def read_lines(path, warnings):
    """One line at a time: files may be larger than memory."""
    try:
        with open(path, encoding="utf-8", newline="\n") as file:
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
            warnings.append(f"{path}: the last line is cut off and left out")
            return
        fault = fault_of(value)
        if fault:
            raise BadResults(f"{path}:{number}: {fault}")
        yield value
