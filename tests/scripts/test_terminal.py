"""What a person sees: on a terminal one line that says which case is running, of how many and how long still; elsewhere plain lines."""
import os
import pty
import subprocess
import tempfile

from program import RUNGS, call, expect

ARGUMENTS = ["run", "double n=1003", "double n=1009", "--variants", "cpu_loop", "--verify-only"]


def on_a_terminal(out):
    """What the program writes to stderr if that is a terminal of 80 columns."""
    ours, theirs = pty.openpty()
    child = subprocess.Popen([RUNGS, *ARGUMENTS, "--out", out], stdout=subprocess.DEVNULL, stderr=theirs, env={**os.environ, "TERM": "xterm"})
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


def main():
    with tempfile.TemporaryDirectory() as folder:
        seen = on_a_terminal(f"{folder}/terminal.jsonl")
        for words in ("case 1 of 2: double/cpu_loop", "case 2 of 2, about ", " left: double/cpu_loop", "1/2", "2/2", "pass", "\r\033[K"):
            expect(words in seen, f"a terminal shows {words!r}, of {seen!r}")
        done = call(*ARGUMENTS, "--out", f"{folder}/plain.jsonl")
        expect(done.returncode == 0 and "\033" not in done.stderr + done.stdout and "\r" not in done.stderr + done.stdout, "no control characters elsewhere", done)
        lines = done.stderr.splitlines()
        expect(len(lines) == 2 and all(line.split()[:2] == [f"{i}/2", "pass"] for i, line in enumerate(lines, 1)), "one plain line a row", done)
        expect("2 rows: 2 passed" in done.stdout, "the counts close it", done)


if __name__ == "__main__":
    main()
