"""What a person sees: on a terminal one line that says which case is running, of how many and how long still; elsewhere plain lines."""

import fcntl
import json
import os
import pty
import re
import shlex
import struct
import subprocess
import termios

import pytest
from checkout import SOURCE
from program import RUNGS, call, expect, needs_release, rows_of
from terminal_picture import text_of

UNITS = ("ns", "us", "ms", "s")

ARGUMENTS = ["run", "double n=1003", "double n=1009", "--variants", "cpu_loop", "--verify-only"]


def on_a_terminal(*words, columns=80, **variables):
    """What the program writes to stderr if that is a terminal."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    environment = {key: value for key, value in os.environ.items() if key != "NO_COLOR"}
    child = subprocess.Popen(
        [RUNGS, *words], stdout=subprocess.DEVNULL, stderr=theirs, env={**environment, "TERM": "xterm", **variables}
    )
    os.close(theirs)
    seen = b""
    while True:
        try:
            chunk = os.read(ours, 4096)
        except OSError:  # EIO: the other end has closed
            break
        if not chunk:
            break
        seen += chunk
    expect(child.wait() == 0, "runs on a terminal")
    return seen.decode()


def lines_on_screen(seen):
    """What stays in each line: behind the last return to its beginning, without escape sequences."""
    plain = re.sub("\033\\[[0-9;]*[A-Za-z]", "", seen)
    return [part for line in plain.replace("\r\n", "\n").split("\n") for part in line.split("\r")]


@pytest.mark.parametrize("columns", [80, 40])
def test_no_line_wraps(folder, columns):
    """Neither that of progress nor that of a result, however narrow the terminal is and however long the case."""
    case = "rolling agg=mean n=1003 window=30 incomplete=nan dtype=f64 input=uniform seed=7"
    words = ("--variants", "cpu_naive,cpu_online", "--verify-only", "--out", folder / "rows.jsonl")
    seen = on_a_terminal("run", case, *words, columns=columns)
    longest = max(map(len, lines_on_screen(seen)))
    if columns == 80:
        assert seen.count("verify only") == 2, "80 columns hold the outcome"
    assert 20 < longest <= columns and seen.count("agg=") == 1 and seen.count("\n") == 3, "the case stands once, above"


@pytest.mark.parametrize("columns", [80, 120])
def test_a_case_stands_once_and_lines_hold_what_differs(folder, columns):
    cases = [f"rolling agg=mean n=1003 window={window}" for window in (30, 40)]
    words = ("--variants", "cpu_naive,cpu_online", "--verify-only", "--out", folder / "rows.jsonl")
    seen = on_a_terminal(
        "run", *cases, "double n=1003", *words[:1], "cpu_naive,cpu_online,cpu_loop", *words[2:], columns=columns
    )
    lines = [line.rstrip() for line in lines_on_screen(seen) if line.strip() and not line.startswith("case ")]
    assert max(map(len, lines)) <= columns, lines
    assert [line.split()[0] for line in lines if "=" in line and "/" not in line] == ["rolling", "double"], lines
    differ = [line.split(" | ")[1] if " | " in line else "" for line in lines if " pass " in line]
    assert differ == ["", "window=40", "", "window=40", ""], lines


def test_no_color_overwrites_a_line_without_escape_sequences(folder):
    seen = on_a_terminal(*ARGUMENTS, "--out", folder / "rows.jsonl", NO_COLOR="1")
    assert "\033" not in seen and "case 1 of 2" in seen and "\r" in seen
    wrong = [line.strip() for line in lines_on_screen(seen) if "case" in line and "pass" in line]
    assert not wrong, "the line is wiped before a result"


def test_a_dumb_terminal_gets_what_a_file_gets(folder):
    seen = on_a_terminal(*ARGUMENTS, "--out", folder / "rows.jsonl", TERM="dumb")
    assert "\033" not in seen and "case 1 of 2" not in seen and seen.count("\n") == 2


def test_what_does_not_apply_is_counted_once(folder):
    """Variants that cannot do the case; --verbose lists them; the file has all of them."""
    case = "rolling agg=max n=1003 window=30"
    short = call("run", case, "--variants", "cpu_*", "--verify-only", "--out", f"{folder}/short.jsonl")
    long = call("run", case, "--variants", "cpu_*", "--verify-only", "--verbose", "--out", f"{folder}/long.jsonl")
    rows = rows_of(f"{folder}/short.jsonl")
    skipped = sum(row["verdict"] == "skip" for row in rows)
    expect(skipped == 1 and short.returncode == 0, "one variant has no maximum", short)
    expect(
        " skip " not in short.stderr and short.stderr.count(" pass ") == len(rows) - skipped,
        "only results have a line",
        short,
    )
    expect("\n1 of them does not apply here; --verbose lists it" in short.stdout, "the other is counted", short)
    expect(long.stderr.count(" skip ") == skipped and "not apply" not in long.stdout, "--verbose lists it", long)
    facts = [
        [(row["spec"], row["verdict"], row["reason"]) for row in rows_of(f"{folder}/{name}.jsonl")]
        for name in ("short", "long")
    ]
    expect(facts[0] == facts[1], "the rows are the same")


def test_a_terminal_shows_the_case_how_many_and_how_long(folder):
    seen = on_a_terminal(*ARGUMENTS, "--out", folder / "rows.jsonl")
    first, second = "case 1 of 2: double/cpu_loop", "case 2 of 2, about "
    for words in (first, second, " left: double/cpu_loop", "1/2", "2/2", "pass", "\r\033[K"):
        assert words in seen


def test_elsewhere_a_row_is_one_plain_line(folder):
    done = call(*ARGUMENTS, "--out", folder / "rows.jsonl")
    plain = "\033" not in done.stderr + done.stdout and "\r" not in done.stderr + done.stdout
    expect(done.returncode == 0 and plain, "no control characters", done)
    lines = done.stderr.splitlines()
    expect(
        len(lines) == 2 and all(line.split()[:2] == [f"{i}/2", "pass"] for i, line in enumerate(lines, 1)),
        "one plain line a row",
        done,
    )
    expect("2 rows: 2 passed" in done.stdout, "the counts close it", done)


TIMED = ["run", "rolling n=20011 window=30", "--quick", "--no-ceilings", "--variants", "cpu_naive,cpu_online"]


def test_a_run_ends_with_a_table_and_who_won(folder):
    """Times and intervals are those of the rows, the fastest first; a sentence says by how much, or that the intervals meet."""
    done = call(*TIMED, "--out", folder / "rows.jsonl")
    timed = sorted(
        (row["timing"]["cold"] | {"name": row["variant"].split("/")[1]} for row in rows_of(f"{folder}/rows.jsonl")),
        key=lambda row: row["median"],
    )
    lines = done.stdout.splitlines()
    expect(lines[0].startswith("rolling agg=mean n=20011 window=30 "), "the case is the heading", done)
    names = [line.split()[0] for line in lines[2:4]]
    expect(names == [row["name"] for row in timed], "the fastest first", done)
    expect(all(len(line) <= 80 for line in lines[1:4]), "in 80 columns", done)
    value, unit = lines[2].split()[1:3]
    seconds = float(value) * {"us": 1e-6, "ms": 1e-3, "s": 1}[unit]
    expect(abs(seconds / timed[0]["median"] - 1) < 0.01, "the time is the row's median", done)
    apart = timed[0]["high"] < timed[1]["low"]
    words = "is the fastest" if apart else "equally fast within their intervals"
    expect(
        f"{timed[1]['median'] / timed[0]['median']:.3g}x" in lines[4] and words in lines[4], "who won by how much", done
    )


def test_many_cases_of_one_variant_are_one_table(folder):
    """Its heading has what all cases have, its lines what differs."""
    cases = [f"rolling n={n} window=30 input=normal" for n in (20011, 3001)]
    out = folder / "rows.jsonl"
    done = call("run", *cases, "--quick", "--no-ceilings", "--variants", "cpu_online", "--out", out)
    lines = done.stdout.splitlines()
    heading = lines[0].split()
    expect(heading[0] == "rolling/cpu_online" and {"window=30", "input=normal"} <= {*heading}, "what all have", done)
    expect([line.split()[-1] for line in lines[1:4]] == ["case", "n=20011", "n=3001"], "what differs", done)
    medians = [row["timing"]["cold"]["median"] for row in rows_of(out)]
    for line, median in zip(lines[2:4], medians, strict=True):
        value, unit = line.split()[:2]
        seconds = float(value) * {"us": 1e-6, "ms": 1e-3, "s": 1}[unit]
        expect(abs(seconds / median - 1) < 0.01, "the times are the rows' medians", done)


def test_json_is_lines_of_json_and_nothing_else(folder):
    done = call(*TIMED, "--json", "--out", folder / "rows.jsonl")
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    expect(lines == rows_of(f"{folder}/rows.jsonl") and len(lines) == 2, "the rows of the file", done)
    expect("2 rows: 2 passed" in done.stderr, "the counts are on stderr", done)


def test_one_row_is_no_rows(folder):
    done = call("run", "double n=1003", "--variants", "cpu_loop", "--verify-only", "--out", folder / "rows.jsonl")
    expect("\n1 row: 1 passed, 0 failed, 0 errors, 0 skipped; 0 timed\n" in "\n" + done.stdout, "plurals", done)


def test_doctor_ends_with_what_can_be_done():
    done = call("doctor")
    last = done.stdout.split("\nhere you can\n")[1].splitlines()
    expect(done.returncode == 0 and all(": " in line and "rungs " in line for line in last), "a command each", done)


def printed_words(lines):
    """Words of a table, sorted by line: without times and ratios, in whose order a busy machine's lines may differ."""
    return sorted(
        [word for word in line.split() if not re.match(r"[\d.-]", word) and word not in UNITS] for line in lines
    )


@needs_release
def test_the_readme_shows_what_its_command_prints(folder):
    """The picture's case, columns, variants and counts are those of a run; the tutorial has the same text."""
    command, case, *table, winner, counts = text_of((SOURCE / "docs/figures/terminal.svg").read_text())
    assert f"\n{command.removeprefix('$ ')} " in (SOURCE / "README.md").read_text()
    assert "\n".join([case, *table, winner, "", counts]) in (SOURCE / "docs/TUTORIAL.md").read_text()
    done = call(*shlex.split(command)[2:], "--quick", "--no-ceilings", "--out", folder / "rows.jsonl", cwd=folder)
    lines = done.stdout.splitlines()
    expect(lines[0] == case and counts in lines, "case and counts", done)
    expect(printed_words(lines[1 : 1 + len(table)]) == printed_words(table), "columns and variants", done)
    expect(
        re.search(r"fast.*: [\d.]+x \([\d.]+x to [\d.]+x\)", winner) and "fast" in lines[1 + len(table)],
        "who won",
        done,
    )
