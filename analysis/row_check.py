"""A line of a results file against harness/record/row.schema.json, as far as readers insist on it: what harness/record/check.c does in C, by the
same schema. What is null is as if it were missing. Standard library only.

Lines are many and nearly all of them good: the schema is made into one expression of Python, which says yes or no, and only a line that it
refuses is walked to find the place and the reason.
"""

import functools
import json
import pathlib
import re

SCHEMA = pathlib.Path(__file__).resolve().parents[1] / "harness/record/row.schema.json"
NAMES = {
    "string": "a text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "null": "null",
    "object": "an object",
    "array": "an array",
}
IS = {
    "string": "{0}.__class__ is str",
    "integer": "{0}.__class__ is int",
    "number": "({0}.__class__ is float or {0}.__class__ is int)",
    "boolean": "{0}.__class__ is bool",
    "null": "{0} is None",
    "object": "{0}.__class__ is dict",
    "array": "{0}.__class__ is list",
}
LEAST, MOST, LARGEST = -(2**63), 2**63 - 1, 1.7976931348623157e308  # whole numbers, and numbers
VERSION = 1
KINDS = {"enum": ["environment", "ceilings", "row", "claim"]}
SHOWN = 40  # letters of a wrong value
TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{},:]|[^\s\[\]{},:"]+')


class Schema:
    def __init__(self):
        self.definitions = json.loads(SCHEMA.read_text(encoding="utf-8"))["$defs"]
        self.names = {}
        self.checks = {
            name: eval(f"lambda v: {self.fine({'$ref': f'#/$defs/{name}'}, 'v')}", self.names)
            for name in self.definitions
        }  # of our own schema

    def resolved(self, schema):
        return self.definitions[schema["$ref"].rsplit("/", 1)[-1]] if "$ref" in schema else schema

    def add(self, source):
        """A name by which the expressions reach this object."""
        name = f"n{len(self.names)}"
        self.names[name] = eval(source, self.names) if isinstance(source, str) else source
        return name

    def fine(self, schema, v):
        """An expression: does the schema allow what the variable v holds?"""
        schema = self.resolved(schema)
        if "oneOf" in schema:
            return f"({' or '.join(self.fine(some, v) for some in schema['oneOf'])})"
        if "const" in schema or "enum" in schema:
            return f"({' or '.join(f'({v}.__class__ is {type(value).__name__} and {v} == {value!r})' if value is not None else f'{v} is None' for value in values_of(schema))})"
        return f"({' or '.join(' and '.join([IS[word].format(v), *self.further(schema, word, v)]) for word in words_of(schema))})"

    def further(self, schema, word, v):
        if word in ("integer", "number"):
            above = f"{schema['exclusiveMinimum']} < {v} and " if "exclusiveMinimum" in schema else ""
            yield (
                above
                + f"{schema.get('minimum', LEAST if word == 'integer' else -LARGEST)} <= {v} <= {schema.get('maximum', MOST if word == 'integer' else LARGEST)}"
            )
        elif word == "string" and "pattern" in schema:
            yield f"{self.add(re.compile(pattern_of(schema)).search)}({v})"
        elif word == "string" and "minLength" in schema:
            yield f"{v} != ''"
        elif word == "object":
            yield f"{self.add('lambda d: ' + self.object(schema))}({v})"
        elif word == "array":
            yield f"{schema.get('minItems', 0)} <= len({v}) <= {schema.get('maxItems', MOST)}"
            yield (
                f"({self.numbers(schema.get('items', {}), v)} or all({self.fine(schema['items'], 'w')} for w in {v}))"
                if "items" in schema
                else "True"
            )

    def object(self, schema):
        keys = [
            f"((v := d.get({key!r})) is None or {self.fine(some, 'v')})"
            for key, some in schema.get("properties", {}).items()
        ]
        if isinstance(schema.get("additionalProperties"), dict):
            known = tuple(schema.get("properties", ()))
            keys.append(
                f"all(w is None or {self.fine(schema['additionalProperties'], 'w')} for k, w in d.items() if k not in {known!r})"
            )
        return " and ".join([f"d.get({key!r}) is not None" for key in schema.get("needed", ())] + keys) or "True"

    def numbers(self, item, v):
        """Samples are many: their types and limits at once."""
        if item.get("type") != "number":
            return "False"
        return f"not {v} or (set(map(type, {v})) <= {self.add({int, float})} and {' and '.join(self.further(item, 'number', f'min({v})'))} and max({v}) <= {LARGEST})"

    def fault(self, schema, value):
        """(path, what is expected), or None: as fine(), step by step."""
        schema = self.resolved(schema)
        if "oneOf" in schema:
            faults = [self.fault(some, value) for some in schema["oneOf"]]
            deepest = max((found or () for found in faults), key=lambda found: len(found[0]) if found else -1)
            return (
                None
                if None in faults
                else deepest
                if deepest[0]
                else ((), " or ".join(dict.fromkeys(expected for _, expected in faults)))
            )
        inner = schema.get("properties", {})
        if isinstance(value, dict) and "object" in words_of(schema):
            others = schema.get("additionalProperties")
            parts = [
                (key, inner.get(key, others), some)
                for key, some in value.items()
                if some is not None and isinstance(inner.get(key, others), dict)
            ]
            missing = [key for key in schema.get("needed", ()) if value.get(key) is None]
            if missing:
                return (), f"an object with '{missing[0]}'"
        else:
            parts = (
                [(k, schema["items"], some) for k, some in enumerate(value)]
                if isinstance(value, list) and "items" in schema
                else []
            )
        wrong = next(((key, found) for key, some, held in parts if (found := self.fault(some, held))), None)
        if wrong:
            return (wrong[0], *wrong[1][0]), wrong[1][1]
        shallow = {
            **{
                key: some
                for key, some in schema.items()
                if key not in ("properties", "additionalProperties", "items", "needed")
            }
        }
        return None if eval(self.fine(shallow, "v"), self.names, {"v": value}) else ((), expectation(schema))


def words_of(schema):
    return [schema["type"]] if isinstance(schema.get("type"), str) else schema.get("type") or []


def values_of(schema):
    return schema.get("enum") or [schema["const"]]


def pattern_of(schema):
    return re.sub(r"\$$", r"\\Z", schema["pattern"])


def expectation(schema):
    """ "a number or null, above 0", for messages."""
    if "const" in schema or "enum" in schema:
        return " or ".join(json.dumps(value, ensure_ascii=False) for value in values_of(schema))
    text = " or ".join(NAMES[word] for word in words_of(schema))
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


@functools.cache
def schema_of_rows():
    return Schema()


def fault_of(line):
    """(path to the value, what is expected of it), or None."""
    schema = schema_of_rows()
    kind = line.get("kind") if isinstance(line, dict) else None
    if kind is None:
        return (), "an object with 'kind'"
    if line.get("schema").__class__ is not int or line["schema"] != VERSION:
        return (("schema",) if "schema" in line else ()), f"schema {VERSION}, which this rungs reads and writes"
    if kind in KINDS["enum"]:
        return None if schema.checks[kind](line) else schema.fault(schema.definitions[kind], line)
    return ("kind",), expectation(KINDS)


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
