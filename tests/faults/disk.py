"""The disk is full from the k-th write on: exit code 4 and the file's name; the rows before are kept, whole; once there is space,
--resume finishes. `exec` leaves nothing of an output, and an output that was there as it was."""

from faults import FULL, HOSTILE, INJECT, RUNGS, SOURCE, Part, Sandbox

CASES = [f"double n=1003 input=normal dtype=f64 seed={seed}" for seed in range(1, 7)]
WORDS = ["--variants", "cpu_right,cpu_hostile at=nowhere", "--verify-only"]
ROWS = 2 * len(CASES)
X = SOURCE / "examples" / "data" / "x.npy"


def full_from(k, fault="write"):
    return {"LD_PRELOAD": str(INJECT), "RUNGS_FAULT": f"{fault}:{k}"}


def writes_of(program, *words):
    """How often a command writes to a file."""
    with Sandbox() as sandbox:
        count = sandbox.folder / "count"
        code, _, said = sandbox.call(
            program,
            *(str(word).format(folder=sandbox.folder) for word in words),
            environment={**full_from(0), "RUNGS_FAULT_COUNT": str(count)},
        )
        if code != 0:
            raise SystemExit(f"BAD  {words} without a fault ended with {code}: {said}")
        return int(count.read_text().split()[1])


def run(k):
    """What is wrong, and how many rows were lost."""
    with Sandbox() as sandbox:
        out = sandbox.folder / "rows.jsonl"
        sandbox.call(HOSTILE, "run", CASES[0], *WORDS, "--out", out)  # rows of earlier
        before = sandbox.rows(out)
        code, _, said = sandbox.call(HOSTILE, "run", *CASES[1:], *WORDS, "--out", out, environment=full_from(k))
        try:
            kept = sandbox.rows(out)
        except ValueError as error:
            return f"the rows cannot be read: {error}", 0
        lost = sum(row not in kept for row in before)
        if lost or code != 4 or str(out) not in said or "No space left" not in said:
            return f"{lost} rows lost, exit code {code}: {said[-300:]}", lost
        left = sandbox.left_behind()
        code, _, said = sandbox.call(HOSTILE, "run", *CASES, *WORDS, "--resume", "--out", out)
        rows = sandbox.rows(out)
        lost = sum(row not in rows for row in kept)
        whole = code == 0 and len(rows) == len({(row["case"], row["spec"]) for row in rows}) == ROWS
        return left or (
            "" if whole and not lost else f"--resume ended with {code} and {len(rows)} rows: {said[-300:]}"
        ), lost


def execute(k, fault):
    with Sandbox() as sandbox:
        out = sandbox.folder / "work" / "y.npy"
        out.write_bytes(b"earlier")
        code, _, said = sandbox.call(
            RUNGS,
            "exec",
            "rolling/cpu_naive",
            "--in",
            f"x={X}",
            "--set",
            "window=300",
            "--out",
            f"y={out}",
            environment=full_from(k, fault),
        )
        if code != 4 or "y.npy" not in said or "No space left" not in said:
            return f"exit code {code}: {said[-300:]}"
        if out.read_bytes() != b"earlier":
            return "the output that was there has changed"
        out.unlink()
        return sandbox.left_behind()


def main():
    part = Part("disk")
    writes = writes_of(HOSTILE, "run", *CASES[1:], *WORDS, "--out", "{folder}/rows.jsonl")
    for k in range(1, writes + 1) if FULL else (1, 2, 3, writes):
        wrong, lost = run(k)
        part.tell("a disk full from the k-th write on, run, then --resume", f"write {k} of {writes}", wrong, lost)
    writes = writes_of(
        RUNGS, "exec", "rolling/cpu_naive", "--in", f"x={X}", "--set", "window=300", "--out", "y={folder}/y.npy"
    )
    for k in range(1, writes + 1):
        part.tell("a disk full from the k-th write on, exec", f"write {k} of {writes}", execute(k, "write"))
        part.tell(
            "a disk full, where files have names from the beginning, exec",
            f"write {k} of {writes}",
            execute(k, "named"),
        )
    part.end()


if __name__ == "__main__":
    main()
