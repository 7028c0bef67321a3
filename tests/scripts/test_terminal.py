"""What a person sees: on a terminal one line that says which case is running, of how many and how long still; elsewhere plain lines."""

import fcntl
import os
import pty
import re
import struct
import subprocess
import termios

import pytest

from program import RUNGS, call, expect, rows_of

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
    assert 20 < longest <= columns and "agg=" not in seen and seen.count("\n") == 2


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
