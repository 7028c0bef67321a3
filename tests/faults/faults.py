"""What the parts of the fault suite share: a sandbox in which anything left behind is found, and the record that the page is made of."""

import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
import uuid

SOURCE = pathlib.Path(os.environ["RUNGS_SOURCE"])
BUILD = pathlib.Path(os.environ["RUNGS_BUILD"])
RUNGS, HOSTILE, INJECT = (
    pathlib.Path(os.environ["RUNGS"]),
    BUILD / "tests" / "rungs-hostile",
    BUILD / "tests" / "librungs_inject.so",
)
CUDA = "\nRUNGS_CUDA:STRING=OFF\n" not in (BUILD / "CMakeCache.txt").read_text()  # without it nobody judges claims
FULL = bool(os.environ.get("RUNGS_TEST_FULL"))
RECORDS = BUILD / "tests" / "faults"
CASE = "double n=1003 input=normal dtype=f64"
LEAVES_MS = 5000  # at most, what the kernel needs to end processes that were killed, and what they leave


class Sandbox:
    """A folder with a TMPDIR and a working folder of its own, and a mark by which every process that was started in it is found."""

    def __enter__(self):
        self.holder = tempfile.TemporaryDirectory(prefix="rungs-faults-")
        self.folder = pathlib.Path(self.holder.name).resolve()
        self.mark = f"RUNGS_FAULTS_MARK={uuid.uuid4().hex}"
        for name in ("tmp", "work", "cache"):
            (self.folder / name).mkdir()
        return self

    def __exit__(self, *_):
        for pid in self.processes():
            os.kill(pid, signal.SIGKILL)
        self.holder.cleanup()

    def environment(self, more=()):
        name, value = self.mark.split("=")
        return {
            **os.environ,
            name: value,
            "TMPDIR": str(self.folder / "tmp"),
            "RUNGS_CACHE": str(self.folder / "cache"),
            **dict(more),
        }

    def start(self, program, *words, environment=(), **more):
        return subprocess.Popen(
            [str(program), *map(str, words)],
            cwd=self.folder / "work",
            env=self.environment(environment),
            text=True,
            errors="replace",
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            **more,
        )

    def call(self, program, *words, environment=(), seconds=60):
        """(exit code or None for a hang, stdout, stderr); what it does not end itself is killed."""
        process = self.start(program, *words, environment=environment)
        try:
            out, err = process.communicate(timeout=seconds)
            return process.returncode, out, err
        except subprocess.TimeoutExpired:
            process.kill()
            for pid in self.processes():  # they may hold its pipes open
                os.kill(pid, signal.SIGKILL)
            process.communicate()
            return None, "", f"no end within {seconds} s"

    def processes(self):
        """Those that carry the mark in their environment, zombies apart. A process that clears its environment still has it in /proc."""
        found = []
        for entry in pathlib.Path("/proc").iterdir():
            try:
                if (
                    entry.name.isdigit()
                    and self.mark.encode() in (entry / "environ").read_bytes()
                    and "Z" not in (entry / "stat").read_text().split(")")[-1][:3]
                ):
                    found.append(int(entry.name))
            except OSError:  # it has ended, or is another user's
                pass
        return found

    def left_behind(self):
        """Words for what is left of a program that has ended: files and processes; "" if nothing is. What cleans up after it is a process
        that an ordinary user does not see here, as its memory is concealed."""
        deadline = time.monotonic() + LEAVES_MS / 1000
        while (words := self.there()) and time.monotonic() < deadline:
            time.sleep(0.05)
        return "; ".join(words)

    def there(self):
        words = [f"process {pid} survives" for pid in self.processes()]
        for name in ("tmp", "work"):
            for place, folders, files in os.walk(self.folder / name):  # skips what goes meanwhile
                words += [f"{os.path.relpath(f'{place}/{entry}', self.folder)} is left" for entry in folders + files]
        return words

    def rows(self, path):
        """The rows of a file, each line of which must be JSON; ValueError if one is not."""
        text = path.read_text() if path.exists() else ""
        if text and not text.endswith("\n"):
            raise ValueError(f"{path.name} ends within a line")
        return [row for row in map(json.loads, text.splitlines()) if row["kind"] == "row"]


class Part:
    """Counts of one part of the suite, by kind of fault; the page's lines. What is not survived fails the part, unless it is known."""

    def __init__(self, name):
        self.name, self.kinds, self.failed = name, {}, []
        self.record = RECORDS / f"{name}{'-full' if FULL else ''}.json"
        self.record.unlink(missing_ok=True)

    def tell(self, kind, what, wrong, lost=0, known=None):
        """wrong: words for why a fault was not survived; "" if it was. lost: rows that were written before and are no more."""
        counts = self.kinds.setdefault(kind, {"tried": 0, "survived": 0, "known": [], "lost": 0})
        counts["tried"] += 1
        counts["lost"] += lost
        if not wrong:
            counts["survived"] += 1
            if known:
                print(f"ok   {kind}: {what}: survives now; its `known` can go", flush=True)
        elif known:
            counts["known"].append(f"{what}: {known}")
            print(f"known {kind}: {what}: {wrong} ({known})", flush=True)
        else:
            print(f"BAD  {kind}: {what}: {wrong}", flush=True)
            self.failed.append(what)

    def end(self):
        RECORDS.mkdir(parents=True, exist_ok=True)
        self.record.write_text(json.dumps(self.kinds, indent=1))
        for kind, counts in self.kinds.items():
            print(
                f"{self.name}: {kind}: {counts['survived']} of {counts['tried']} survived, {len(counts['known'])} known, {counts['lost']} rows lost"
            )
        sys.exit(1 if self.failed else 0)


def matches(pattern, text):
    return re.search(pattern, text, re.S) is not None
