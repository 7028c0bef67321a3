"""A line of a results file against harness/record/row.schema.json, as far as readers insist on it: what harness/record/check.c does in C, by the
same schema. What is null is as if it were missing. Standard library only."""

import functools
import json
import pathlib
import re

SCHEMA = pathlib.Path(__file__).resolve().parents[1] / "harness/record/row.schema.json"
# name in the schema -> classes of Python, and what messages call it
TYPES = {
    "string": ((str,), "a text"),
    "integer": ((int,), "a whole number"),
    "number": ((float, int), "a number"),
    "boolean": ((bool,), "true or false"),
    "null": ((type(None),), "null"),
    "object": ((dict,), "an object"),
    "array": ((list,), "an array"),
}
LEAST, MOST, LARGEST = -(2**63), 2**63 - 1, 1.7976931348623157e308  # whole numbers, and numbers
VERSION = 1
KINDS = ("environment", "ceilings", "row", "claim")
SHOWN = 40  # letters of a wrong value
TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{},:]|[^\s\[\]{},:"]+')


@functools.cache
def definitions():
    return json.loads(SCHEMA.read_text(encoding="utf-8"))["$defs"]


@functools.cache
def definition(name):
    return check_of(definitions()[name])


def check_of(schema):
    """The schema as a function: a value -> (path, what is expected there), or None where the value is allowed."""
    if "$ref" in schema:
        return definition(schema["$ref"].rsplit("/", 1)[-1])
    if "oneOf" in schema:
        return one_of([check_of(some) for some in schema["oneOf"]])
    wrong = (), expectation(schema)
    if "const" in schema or "enum" in schema:
        allowed = [(value.__class__, value) for value in values_of(schema)]
        return lambda value: None if (value.__class__, value) in allowed else wrong
    names = [schema["type"]] if isinstance(schema["type"], str) else schema["type"]
    classes = frozenset(one for name in names for one in TYPES[name][0])
    further = {}
    for name in names:
        further |= dict.fromkeys(TYPES[name][0], FURTHER.get(name, within)(schema, name, wrong))

    def check(value):
        return further[value.__class__](value) if value.__class__ in classes else wrong

    return check


def one_of(checks):
    def check(value):
        faults = [fault(value) for fault in checks]
        if None in faults:
            return None
        deepest = max(faults, key=lambda found: len(found[0]))
        return deepest if deepest[0] else ((), " or ".join(dict.fromkeys(expected for _, expected in faults)))

    return check


def within(schema, name, wrong):
    """Of a number, a text, true, false and null."""
    whole = name == "integer"
    least, most = schema.get("minimum", LEAST if whole else -LARGEST), schema.get("maximum", MOST if whole else LARGEST)
    above, shortest = schema.get("exclusiveMinimum"), schema.get("minLength", 0)
    pattern = re.compile(re.sub(r"\$$", r"\\Z", schema.get("pattern", "")))

    def check(value):
        if value.__class__ is str:
            good = len(value) >= shortest and pattern.search(value)
        else:
            good = value is None or least <= value <= most and (above is None or value > above)
        return None if good else wrong

    return check


def in_object(schema, *_):
    inner = {key: check_of(some) for key, some in schema.get("properties", {}).items()}
    others = schema.get("additionalProperties")
    others = check_of(others) if isinstance(others, dict) else None
    needed = schema.get("needed", ())

    def check(value):
        for key in needed:
            if value.get(key) is None:
                return (), f"an object with '{key}'"
        for key, some in value.items():
            fault = some is not None and (known := inner.get(key, others)) and known(some)
            if fault:
                return (key, *fault[0]), fault[1]
        return None

    return check


def in_array(schema, _, wrong):
    item = schema.get("items")
    each, bounds = item and check_of(item), (schema.get("minItems", 0), schema.get("maxItems", MOST))
    numbers = item and item.get("type") == "number"

    def check(value):
        # Samples are many: their types and limits at once.
        plain = (
            numbers and value and set(map(type, value)) <= {int, float} and not (each(min(value)) or each(max(value)))
        )
        for k, some in enumerate(value if item and not plain else ()):
            if fault := each(some):
                return (k, *fault[0]), fault[1]
        return None if bounds[0] <= len(value) <= bounds[1] else wrong

    return check


FURTHER = {"object": in_object, "array": in_array}


def values_of(schema):
    return schema.get("enum") or [schema["const"]]


def expectation(schema):
    """ "a number or null, above 0", for messages."""
    if "const" in schema or "enum" in schema:
        return " or ".join(json.dumps(value, ensure_ascii=False) for value in values_of(schema))
    names = [schema["type"]] if isinstance(schema["type"], str) else schema["type"]
    text = " or ".join(TYPES[name][1] for name in names)
    for key, word in (
        ("minimum", "at least {}"),
        ("exclusiveMinimum", "above {}"),
        ("maximum", "at most {}"),
        ("minItems", "{} or more"),
        ("maxItems", "{} or fewer"),
        ("pattern", "like {}"),
    ):
        text += f", {word.format(schema[key])}" if key in schema else ""
    return text + (", not empty" if "minLength" in schema else "")


def fault_of(line):
    """(path to the value, what is expected of it), or None."""
    kind = line.get("kind") if isinstance(line, dict) else None
    if kind is None:
        return (), "an object with 'kind'"
    if line.get("schema").__class__ is not int or line["schema"] != VERSION:
        return (("schema",) if "schema" in line else ()), f"schema {VERSION}, which this rungs reads and writes"
    return definition(kind)(line) if kind in KINDS else (("kind",), expectation({"enum": list(KINDS)}))


def places(text):
    """(path, from where, to where in the text) of every value of a key and of every element, in the order of the text, and (path of the object, key, from where) of keys;
    of an object or an array only where it begins."""
    stack, wants_key = [], False
    for token in TOKEN.finditer(text):
        word = token.group()
        if word in "]}":
            stack.pop()
            wants_key = False
        elif word == ",":
            wants_key = not isinstance(stack[-1], int)
            stack[-1] = stack[-1] if wants_key else stack[-1] + 1
        elif word == ":":
            wants_key = False
        elif wants_key:
            stack[-1] = json.loads(word)
            yield tuple(stack), token.start(), None
        else:
            yield tuple(stack), token.start(), token.end()
            wants_key = word == "{"
            if word in "[{":
                stack.append("" if wants_key else 0)


def place_of(text, path):
    """The column, from 1, and the value as it stands there."""
    start, end = next(((start, end) for some, start, end in places(text) if end and some == path), (0, 1))
    return start + 1, text[start : end if text[start] not in "[{" else None][:SHOWN].rstrip()


def second_place_of(text):
    """The column of the first key that its object has already, and the key."""
    seen = set()
    for path, start, end in places(text):
        if end is None and path in seen:
            return start + 1, path[-1]
        seen.add(path if end is None else None)
    return 1, ""
