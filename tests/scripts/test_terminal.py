"""What a person sees: on a terminal one line that says which case is running, of how many and how long still; elsewhere plain lines."""

import fcntl
import os
import pty
import re
import struct
import subprocess
import tempfile
import termios

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


def widths(folder):
    """Neither the line of progress nor that of a result wraps, however narrow the terminal is and however long the case."""
    case = "rolling agg=mean n=1003 window=30 incomplete=nan dtype=f64 input=uniform seed=7"
    for columns in (80, 40):
        seen = on_a_terminal(
            "run",
            case,
            "--variants",
            "cpu_naive,cpu_online",
            "--verify-only",
            "--out",
            f"{folder}/wide{columns}.jsonl",
            columns=columns,
        )
        longest = max(map(len, lines_on_screen(seen)))
        if columns == 80:
            expect(seen.count("verify only") == 2, f"80 columns hold the outcome: {seen!r}")
        expect(
            20 < longest <= columns and "agg=" not in seen and seen.count("\n") == 2,
            f"{columns} columns hold every line (longest: {longest}): {seen!r}",
        )


def no_escapes(folder):
    """NO_COLOR: one line is still overwritten, without escape sequences. A dumb terminal gets what a file gets."""
    seen = on_a_terminal(*ARGUMENTS, "--out", f"{folder}/colourless.jsonl", NO_COLOR="1")
    expect(
        "\033" not in seen and "case 1 of 2" in seen and "\r" in seen, f"NO_COLOR gives no escape sequences: {seen!r}"
    )
    expect(
        [line.strip() for line in lines_on_screen(seen) if "case" in line and "pass" in line] == [],
        "and the line is wiped before a result",
    )
    seen = on_a_terminal(*ARGUMENTS, "--out", f"{folder}/dumb.jsonl", TERM="dumb")
    expect(
        "\033" not in seen and "case 1 of 2" not in seen and seen.count("\n") == 2,
        f"a dumb terminal gets plain lines: {seen!r}",
    )


def what_does_not_apply(folder):
    """Variants that cannot do the case are counted once; --verbose lists them; the file has all of them."""
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


def main():
    with tempfile.TemporaryDirectory() as folder:
        seen = on_a_terminal(*ARGUMENTS, "--out", f"{folder}/terminal.jsonl")
        for words in (
            "case 1 of 2: double/cpu_loop",
            "case 2 of 2, about ",
            " left: double/cpu_loop",
            "1/2",
            "2/2",
            "pass",
            "\r\033[K",
        ):
            expect(words in seen, f"a terminal shows {words!r}, of {seen!r}")
        done = call(*ARGUMENTS, "--out", f"{folder}/plain.jsonl")
        expect(
            done.returncode == 0 and "\033" not in done.stderr + done.stdout and "\r" not in done.stderr + done.stdout,
            "no control characters elsewhere",
            done,
        )
        lines = done.stderr.splitlines()
        expect(
            len(lines) == 2 and all(line.split()[:2] == [f"{i}/2", "pass"] for i, line in enumerate(lines, 1)),
            "one plain line a row",
            done,
        )
        expect("2 rows: 2 passed" in done.stdout, "the counts close it", done)
        widths(folder)
        no_escapes(folder)
        what_does_not_apply(folder)


if __name__ == "__main__":
    main()
