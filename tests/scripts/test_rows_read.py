"""One description of a row: what row.schema.json does not allow, the program and the analysis refuse alike, and name the same key of the same line.

For every key of every kind of golden line, values of all wrong types; what JSON cannot mean; what is missing. Whatever both accept goes through
every verb of the analysis: an exit code and a message, never a traceback.
"""

import json
import re

import pytest

from program import FULL, SOURCE, call

from analysis import lines  # behind program, which has the checkout in the path

comparing = pytest.importorskip("analysis.compare.__main__", exc_type=ImportError)
exporting = pytest.importorskip("analysis.export.__main__", exc_type=ImportError)

GOLDEN = [json.loads(line) for line in (SOURCE / "tests/golden/rows.jsonl").read_text().splitlines()]
QUICK = ("--verify-only", "--no-ceilings", "--budget", "0.000001")
PLACE = re.compile(r":2(?::\d+)?: (?:([\w.]+) is )?")  # of the line, and the key that is wrong
WRONG = ('"\\u001b[31m"', "[1]", '{"a": "b"}', "true", "-1", "-0.5", "0", "null", '""', "1.5", "12345678901234567")
NO_JSON = (
    "NaN",
    "-Infinity",
    "1e999",
    "9223372036854775808",
    '"\\ud83d"',
    '"\\u0000"',
    "{]",
    '{"a": 1, "a": 2}',
    '"\ufffe\x01"',
    "1" + 400 * "0",
)


def samples():
    """Of each kind a line, with as many keys as any has."""
    rows = [line for line in GOLDEN if line["kind"] == "row"]
    timed = max((row for row in rows if row["timing"]), key=lambda row: len(json.dumps(row["timing"]["cold"])))
    yield {**timed, "timing": {"cold": timed["timing"]["cold"]}}
    exact = {"count": 3, "expected_count": 3, "mismatches": 1, "first_mismatch": 2, "unwritten": 0}
    yield {
        **{key: timed[key] for key in ("kind", "schema", "run", "case", "op", "variant", "spec", "verdict", "backend")},
        "errors": {"y": exact},
    }
    yield next(line for line in GOLDEN if line["kind"] == "environment" and line["gpu"])
    yield next(line for line in GOLDEN if line["kind"] == "ceilings")
    yield next(line for line in GOLDEN if line["kind"] == "claim")


def paths(value, path=()):
    if isinstance(value, dict):
        for key, inner in value.items():
            yield path + (key,)
            yield from paths(inner, path + (key,))
    elif isinstance(value, list) and value:
        yield path + (0,)
        yield from paths(value[0], path + (0,))


def with_text(line, path, text):
    """The line as JSON with this text in place of one value."""
    line = json.loads(json.dumps(line))
    target = line
    for key in path[:-1]:
        target = target[key]
    target[path[-1]] = "@HERE@"
    return json.dumps(line).replace('"@HERE@"', text)


def broken():
    """(what, is it JSON, the line)"""
    for line in samples():
        for path in paths(line):
            for text in WRONG if FULL else WRONG[len(path) % 3 :: 3] if len(path) > 1 else WRONG[::2]:
                yield f"{'.'.join(map(str, path))} = {text}", True, with_text(line, path, text)
        for text in NO_JSON:
            yield text, False, with_text(line, ("run",), text)
        yield from (
            ("one key less: " + key, True, json.dumps({name: value for name, value in line.items() if name != key}))
            for key in line
        )
    timed = next(samples())
    for path in (path for path in paths(timed) if len(path) > 2):
        escaped = f'"\\u{ord(path[0][0]):04x}{path[0][1:]}": '
        yield (
            f"{'.'.join(map(str, path))} = true, with an escape in {path[0]}",
            True,
            with_text(timed, path, "true").replace(f'"{path[0]}": ', escaped),
        )
    yield from (
        (f"an unknown key of {text}", text in WRONG, json.dumps(timed)[:-1] + f', "unheard": {text}}}')
        for text in (*WRONG, "NaN")
    )
    yield from (
        (
            f"an unknown key of {levels} levels",
            True,
            json.dumps(timed)[:-1] + f', "unheard": {"[" * levels}"\\u001b"{"]" * levels}}}',
        )
        for levels in (40, 700)
    )
    for text in (
        "[1]",
        "1",
        '"row"',
        "null",
        "{}",
        '{"kind": 1, "schema": 1}',
        '{"schema": 1}',
        '{"kind": "rows", "schema": 1}',
        '{"kind": "row", "schema": 2}',
        '{"kind": "row", "schema": true}',
        '{"kind": "row", "schema": 1.0}',
    ):
        yield text, text[0] in "[{", text


def told_by_analysis(path):
    try:
        return len(list(lines.read_lines(path, []))), ""
    except lines.BadResults as error:
        return None, str(error)


def told_by_program(path):
    done = call("run", "double n=10", "--variants", "cpu_loop", *QUICK, "--out", path)
    return done.returncode, done.stderr.strip().removesuffix("; nothing was written to it: name another --out")


def verbs_take_it(path, what, capsys):
    for main, words in (
        *((exporting.main, (form, path, "--out", path.with_suffix(".out"))) for form in ("csv", "junit")),
        (comparing.main, (path, path)),
    ):
        code, errors = main([str(word) for word in words]), capsys.readouterr().err
        assert code in (0, 1, 2, 3) and "Traceback" not in errors, f"{what}: {words}: {code} {errors}"


def test_program_and_analysis_are_of_one_mind(folder, capsys):
    """In one test: each line is a hundredth of a second."""
    refused = accepted = 0
    path = folder / "rows.jsonl"
    environment = json.dumps(next(line for line in GOLDEN if line["kind"] == "environment" and line["gpu"]))
    for what, is_json, text in broken():
        path.write_text(f"{environment}\n{text}\n", encoding="utf-8")
        count, mine = told_by_analysis(path)
        code, theirs = told_by_program(path)
        if count is None:
            refused += 1
            told, other = PLACE.search(mine), PLACE.search(theirs)
            alike = told and other and (told[1] == other[1] or not is_json)
            assert code == 2 and alike, f"{what}: refused alike\nanalysis: {mine}\nprogram ({code}): {theirs}"
        else:
            accepted += 1
            told = PLACE.search(theirs) and "expected" in theirs
            assert is_json and not told, f"{what}: the analysis accepts it, the program says: {theirs}"
            if accepted % 7 == 0 or FULL or "levels" in what:
                verbs_take_it(path, what, capsys)
    assert refused > 500 and accepted > 200
