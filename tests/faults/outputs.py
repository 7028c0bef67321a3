"""What is named for an output or an input and is none, and rows that somebody moves or removes under a run: each verb writes, or refuses with the name and exit code
2 or 4, and soon; what was there stays."""

import concurrent.futures
import os
import shutil
import signal
import subprocess
import time

from faults import CUDA, HOSTILE, RUNGS, SOURCE, Part, Sandbox

ROWS = SOURCE / "tests/golden/rows.jsonl"
CASE = "double n=1003 input=normal dtype=f64"
X = SOURCE / "examples/data/x.npy"
SECONDS, ADDRESS_SPACE = 60, 4 << 30  # of a verb that does not end, or reads 23 GB

# The words of each verb, with {} where an output goes.
WRITERS = {
    "run": [HOSTILE, "run", CASE, "--variants", "cpu_right", "--verify-only", "--out", "{}"],
    "judge": [RUNGS, "judge", ROWS, "--out", "{}"],
    "report": [RUNGS, "report", ROWS, "--out", "{}", "--figures", "{folder}/figures"],
    "report --html": [RUNGS, "report", ROWS, "--out", "{folder}/REPORT.md", "--html", "{}"],
    "export": [RUNGS, "export", "csv", ROWS, "--out", "{}"],
    "compare --json": [RUNGS, "compare", ROWS, ROWS, "--json", "{}"],
    "exec": [RUNGS, "exec", "rolling/cpu_naive", "--in", f"x={X}", "--set", "window=300", "--out", "y={}"],
}
# And with {} where an input goes.
READERS = {
    "judge": [RUNGS, "judge", "{}"],
    "report": [RUNGS, "report", "{}", "--out", "{folder}/REPORT.md"],
    "report --history": [RUNGS, "report", "--history", "{}", "--out", "{folder}/HISTORY.md"],
    "export": [RUNGS, "export", "csv", "{}"],
    "compare": [RUNGS, "compare", "{}", ROWS],
    "compare --noise": [RUNGS, "compare", ROWS, ROWS, "--noise", "{}"],
    "plot": [RUNGS, "plot", "window", "{}"],
    "merge": [RUNGS, "merge", "{}", "--out", "{folder}/merged.jsonl"],
    "run of a scenario": [RUNGS, "run", "{}", "--out", "{folder}/rows.jsonl"],
    "exec": [RUNGS, "exec", "rolling/cpu_naive", "--in", "x={}", "--set", "window=300", "--out", "y={folder}/y.npy"],
}


def filled(words, place, folder):
    return [str(word).replace("{folder}", str(folder)).replace("{}", str(place)) for word in words]


def call(sandbox, words):
    """Under a limit of memory: a reader without end is to be found out, not to take the machine's."""
    return sandbox.call("sh", "-c", f'ulimit -v {ADDRESS_SPACE >> 10}; exec "$0" "$@"', *words, seconds=SECONDS)


def is_refused(answer, name, codes):
    code, out, err = answer
    if code is None:
        return err
    told = out + err
    return "" if code in codes and str(name) in told and "Traceback" not in told else f"exit code {code}: {told[-300:]}"


def into_a_loop(verb):
    """A link that leads to itself, named by nobody on purpose: a path that cannot be, and it stays."""
    with Sandbox() as sandbox:
        loop = sandbox.folder / "loop"
        loop.symlink_to("loop")
        wrong = is_refused(call(sandbox, filled(WRITERS[verb], loop, sandbox.folder)), loop, (2,))
        return wrong or ("" if loop.is_symlink() else "the link was replaced")


def into_a_folder(verb):
    with Sandbox() as sandbox:
        place = sandbox.folder / "place"
        place.mkdir()
        return is_refused(call(sandbox, filled(WRITERS[verb], place, sandbox.folder)), place, (2,)) or (
            "" if place.is_dir() else "the folder was replaced"
        )


def into_a_full_device(verb):
    with Sandbox() as sandbox:
        return is_refused(call(sandbox, filled(WRITERS[verb], "/dev/full", sandbox.folder)), "/dev/full", (4,))


def into_a_pipe(verb):
    """A FIFO with a reader gets what a file would; /dev/stdout, too."""
    with Sandbox() as sandbox:
        fifo = sandbox.folder / "fifo"
        os.mkfifo(fifo)
        copy = sandbox.folder / "copy"
        with open(copy, "wb") as file, subprocess.Popen(["cat", fifo], stdout=file) as reader:
            code, out, err = call(sandbox, filled(WRITERS[verb], fifo, sandbox.folder))
            try:
                reader.wait(10)
            except subprocess.TimeoutExpired:  # nobody opened it
                reader.kill()
        got = copy.read_bytes()
        if code not in (0, 3) or not got or not fifo.is_fifo():
            return f"a FIFO: exit code {code}, {len(got)} bytes: {(out + err)[-300:]}"
        code, out, err = call(sandbox, filled(WRITERS[verb], "/dev/stdout", sandbox.folder))
        return (
            ""
            if code in (0, 3) and len(out) >= len(got.decode(errors="replace")) // 2
            else f"/dev/stdout: exit code {code}, {len(out)} letters: {err[-300:]}"
        )


def out_of_zero(verb):
    """Neither without end nor by all memory."""
    with Sandbox() as sandbox:
        zero = sandbox.folder / ("zero.yaml" if "scenario" in verb else "zero")
        zero.symlink_to("/dev/zero")
        return is_refused(call(sandbox, filled(READERS[verb], zero, sandbox.folder)), zero, (2,))


def out_of_a_pipe(verb):
    """Rows that come by a pipe are rows; an endless pipe is refused."""
    with Sandbox() as sandbox:
        words = filled(READERS[verb], "/dev/stdin", sandbox.folder)
        code, out, err = sandbox.call("sh", "-c", f'cat "{ROWS}" | "$0" "$@"', *words, seconds=SECONDS)
        if code not in (0, 1, 3) or "no rows" in out + err:
            return f"exit code {code}: {(out + err)[-300:]}"
        return is_refused(
            sandbox.call("sh", "-c", 'tr "\\0" " " </dev/zero | "$0" "$@"', *words, seconds=SECONDS), "MiB", (2,)
        )


def judged_by_nobody(words):
    """A build without CUDA says so before it opens anything."""
    with Sandbox() as sandbox:
        return (
            is_refused(call(sandbox, filled(words, sandbox.folder / "place", sandbox.folder)), "no CUDA variants", (4,))
            or sandbox.left_behind()
        )


def the_same_twice(words):
    with Sandbox() as sandbox:
        place = sandbox.folder / "place"
        place.write_text("precious")
        (sandbox.folder / "link").symlink_to("place")
        wrong = is_refused(call(sandbox, filled(words, place, sandbox.folder)), place, (2,))
        return wrong or ("" if place.read_text() == "precious" else "the file was overwritten")


SAME = {
    "report": [RUNGS, "report", ROWS, "--out", "{folder}/link", "--html", "{}"],
    "compare": [RUNGS, "compare", ROWS, ROWS, "--json", "{folder}/link", "--markdown", "{}"],
    "ab": [
        RUNGS,
        "ab",
        HOSTILE,
        HOSTILE,
        CASE,
        "--quick",
        "--out",
        "{folder}/out",
        "--json",
        "{folder}/link",
        "--junit",
        "{}",
    ],
    "run": [HOSTILE, "run", CASE, "--out", "{}"],
    "exec": [
        RUNGS,
        "exec",
        "moments/cpu_two_pass",
        "--in",
        f"x={X}",
        "--out",
        "mean={}",
        "--out",
        "kurtosis={folder}/link",
    ],
}


def remove(rows, folder):
    rows.unlink()


def remove_folder(rows, folder):
    shutil.rmtree(folder)


def move(rows, folder):
    rows.rename(folder / "moved.jsonl")


def replace(rows, folder):
    (folder / "other").write_text("")
    (folder / "other").rename(rows)


def cut(rows, folder):
    os.truncate(rows, 10)


def under_a_run(deed, interrupted):
    """What is wrong, and rows lost. The run is in its second row when it happens."""
    with Sandbox() as sandbox:
        folder = sandbox.folder / "rows"
        folder.mkdir()
        rows = folder / "rows.jsonl"
        process = sandbox.start(
            HOSTILE,
            "run",
            CASE,
            f"{CASE} seed=2",
            "--variants",
            "cpu_right,cpu_hostile at=run how=hang",
            "--verify-only",
            "--timeout",
            "2s",
            "--out",
            rows,
        )
        deadline = time.monotonic() + SECONDS
        while (not rows.exists() or not sandbox.rows(rows)) and time.monotonic() < deadline:  # the next one hangs again
            time.sleep(0.02)
        before = sandbox.rows(rows)
        deed(rows, folder)
        if interrupted:
            process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=SECONDS)
        if deed is cut:  # nothing can bring back the rows before
            return (
                ""
                if process.returncode == 4 and f"{rows}: was cut from" in err
                else f"exit code {process.returncode}: {(out + err)[-400:]}",
                0,
            )
        found = [
            path
            for place in (folder, sandbox.folder / "tmp")
            if place.exists()
            for path in place.iterdir()
            if path.stat().st_size
        ]
        if (
            process.returncode != 4
            or f"rows: {rows}" in out
            or len(found) != 1
            or f"are {'' if deed is move else 'saved '}in {found[0]}" not in err
        ):
            return f"exit code {process.returncode}, {found}: {(out + err)[-400:]}", 0
        kept = sandbox.rows(found[0])
        lost = sum(row not in kept for row in before)
        code, out, err = sandbox.call(
            HOSTILE,
            "run",
            CASE,
            f"{CASE} seed=2",
            "--variants",
            "cpu_right",
            "--verify-only",
            "--resume",
            "--out",
            found[0],
        )
        return "" if code == 0 and len(sandbox.rows(found[0])) >= len(kept) else f"--resume: {code}: {out + err}", lost


def tries():
    """(kind, what, function, its arguments) of all."""
    for kind, tried, verbs in (
        ("an output that leads to itself", into_a_loop, WRITERS),
        ("an output that is a folder", into_a_folder, WRITERS),
        ("an output on a full device", into_a_full_device, WRITERS),
        ("an output that is a pipe", into_a_pipe, WRITERS),
        ("an input without an end", out_of_zero, READERS),
        ("an input that is a pipe", out_of_a_pipe, ("judge", "report", "export", "compare")),
    ):
        yield from (
            (kind, verb, tried, (verb,))
            if CUDA or verb != "judge"
            else (kind, verb, judged_by_nobody, ({**READERS, **WRITERS}[verb],))
            for verb in verbs
        )
    yield from (("two outputs that are one file", verb, the_same_twice, (words,)) for verb, words in SAME.items())
    yield from (
        (
            "rows moved or removed under a run",
            f"{deed.__name__}{', then SIGTERM' if interrupted else ''}",
            under_a_run,
            (deed, interrupted),
        )
        for deed in (remove, remove_folder, move, replace, cut)
        for interrupted in (False, True)
    )


def main():
    part = Part("outputs")
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        running = [(kind, what, pool.submit(tried, *arguments)) for kind, what, tried, arguments in tries()]
        for kind, what, one in running:
            found = one.result()
            part.tell(kind, what, *(found if isinstance(found, tuple) else (found,)))
    part.end()


if __name__ == "__main__":
    main()
