"""A build of `ab` or `calibrate`: what its program can do, and one more process of it, `rungs run`, whose rows are appended to a file. What varies
from process to process is what matters. All that is started here ends with the program that started this one (harness/base/process.c)."""

import contextlib
import fcntl
import glob
import json
import math
import os
import shutil
import signal
import stat
import subprocess
import tempfile
import time

from analysis.output import CHECK, MACHINE, USAGE, End

GOOD, NOTHING = 0, 3
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
PATIENCE_SECONDS = 2  # with a process that is to end; harness/base/process.c has 3 with this one
AS_GIVEN = ("variants", "device", "timeout", "memory-limit")  # options of `run`


class Failed(End):
    code = MACHINE


class Interrupted(BaseException):
    """By the first of SIGNALS; those that follow are the program's."""


def catch_signals():
    def interrupt(*_):
        for number in SIGNALS:
            signal.signal(number, signal.SIG_IGN)
        raise Interrupted

    for number in SIGNALS:
        if signal.getsignal(number) != signal.SIG_IGN:  # nohup, or a shell's background
            signal.signal(number, interrupt)


def given_by(words):
    """Words --name=value or --name, as harness/cli/builds.c hands them over: {name: values}."""
    given = {}
    for word in words:
        name, _, value = word.removeprefix("--").partition("=")
        given.setdefault(name, []).append(value)
    progress.append(int(given["progress"][0]))
    return given


progress = []  # a descriptor of the program's stderr


def say(text):
    """The program's stderr may be closed: nothing depends on its being read."""
    with contextlib.suppress(OSError):
        os.write(progress[-1], os.fsencode(f"{text}\n"))


def callers_environment():
    """Without what harness/cli/python.c adds."""
    variables = {name: os.environ[name] for name in os.environ if name not in ("PYTHONSAFEPATH", "RUNGS_OUTPUTS")}
    users = variables.pop("PYTHONPATH", "").partition(":")[2]
    return {**variables, "PYTHONPATH": users} if users else variables


def run(words, quiet=False, inherited=()):
    """-> (exit code, what it wrote, without its errors if it is to be quiet)."""
    try:
        process = subprocess.Popen(
            words,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL if quiet else subprocess.STDOUT,
            pass_fds=inherited,
            env=callers_environment(),
        )
    except OSError as error:
        raise Failed(f"{words[0]}: cannot be started: {error.strerror}") from error
    try:
        said = process.communicate()[0]
    except Interrupted:
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.communicate(timeout=PATIENCE_SECONDS)
        process.kill()
        raise
    code = process.returncode
    return code if code >= 0 else 128 - code, said.decode(errors="replace")


def wait_for_lock(path):
    """Held until this process ends, as flock(1) does it. In /tmp one may not open another user's file for creation."""
    try:
        file = os.open(path, os.O_RDONLY if os.path.exists(path) else os.O_RDONLY | os.O_CREAT, 0o666)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(f"rungs: waiting for {path}")
            fcntl.flock(file, fcntl.LOCK_EX)
    except OSError as error:
        raise Failed(f"--lock {path}: {error.strerror}") from error


def time_left(began, done, total):
    seconds = (time.monotonic() - began) / done * (total - done) if done else 0
    if seconds >= 90:
        return f", about {seconds / 60:.0f} min left"
    return f", about {math.ceil(seconds)} s left" if seconds > 0 else ""


# ---- What is run.


def named_files(root, word):
    """The file of a scenario of a checkout, or those of a folder of scenarios, in the program's order; none: the word is no name of that checkout."""
    path = f"{root}/scenarios/{word}"
    if not word or " " in word or "=" in word:
        return []
    if os.access(f"{path}.yaml", os.R_OK):
        return [f"{path}.yaml"]
    return sorted(filter(os.path.isfile, glob.glob(f"{glob.escape(path)}/**/*.yaml", recursive=True)))


def scenarios_of(project, words):
    """Paths of this checkout in place of names: whatever checkout a build is of, it runs the same list."""
    return [path for word in words for path in named_files(project, word) or [word]]


def scenarios_in(tree, project, words):
    """The same in another checkout of the project; cases, and files that are not in both, are left out."""
    found = []
    for word in words:
        inside = os.path.relpath(os.path.realpath(word), project)
        there = f"{tree}/{inside}"
        own_file = os.path.exists(word) and not inside.startswith("..") and os.access(there, os.R_OK)
        found += named_files(tree, word) or ([there] if own_file else [])
    return found


# ---- Files of rows.


def last_commit(path):
    """Of the last run in a file of rows, cut to what people read; "": it does not say."""
    commit = ""
    if not os.path.isfile(path):  # devices may have no end
        return commit
    with open(path, "rb") as file:
        for line in file:
            environment = environment_in(line)
            commit = str(environment.get("commit") or "")[:12] if environment else commit
    return commit


def environment_in(line):
    """The environment that a line of a file of rows holds, or None. A line that is not JSON is for the next reader to refuse."""
    if b'"environment"' not in line:  # rows are long, and of no interest
        return None
    try:
        parsed = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return parsed if isinstance(parsed, dict) and parsed.get("kind") == "environment" else None


def as_line(value):
    return json.dumps(value, separators=(",", ":")).encode() + b"\n"


def append(path, lines, stamp=None):
    """All of them, or the file is as it was; a last line that was cut off goes, as harness/record/row.c has it. stamp: the object `ab` of environment lines: the
    place of the process in the random order, which it cannot know, and facts that an older program does not record."""
    environments = ((line, stamp and environment_in(line)) for line in lines)
    left = memoryview(b"".join(as_line({**facts, "ab": stamp}) if facts else line for line, facts in environments))
    try:
        with open(path, "ab+", buffering=0) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise End(f"{path}: no regular file; rows cannot be kept in it")
            file.seek(0)
            length = file.truncate(file.read().rfind(b"\n") + 1)
            try:
                while left:
                    left = left[file.write(left) :]
                os.fsync(file.fileno())
            except BaseException:
                file.truncate(length)
                raise
    except OSError as error:
        raise Failed(f"{path}: rows could not be written: {error.strerror}") from error


class Held:
    """The file of rows, open from process to process: before one makes a new file under the name of one that somebody moved or removed, the rows are
    looked for, and saved (harness/record/rowfile.c does it within a process)."""

    def __init__(self, path):
        self.path, self.file = path, None
        self.hold()

    def hold(self):
        if os.path.isfile(self.path):
            self.file = open(self.path, "rb")
            self.length = os.fstat(self.file.fileno()).st_size

    def check(self):
        if not self.file:
            return
        facts = os.fstat(self.file.fileno())
        if facts.st_size < self.length:
            raise Failed(
                f"{self.path}: was cut from {self.length} to {facts.st_size} bytes while rows were written to it; the rows before are lost"
            )
        if leads_to(self.path, facts):
            return
        moved = os.readlink(f"/proc/self/fd/{self.file.fileno()}")
        if facts.st_nlink and leads_to(moved, facts):
            raise Failed(f"{self.path}: was moved while rows were written to it; they are in {moved}")
        raise Failed(f"{self.path}: was removed while rows were written to it; they {self.save(facts)}")

    def save(self, facts):
        """Beside the file, or in $TMPDIR -> words for where."""
        for prefix in (f"{self.path}.saved-", f"{tempfile.gettempdir()}/rungs-rows.saved-"):
            try:
                descriptor, saved = tempfile.mkstemp(prefix=os.path.basename(prefix), dir=os.path.dirname(prefix))
                with open(descriptor, "wb") as copy:
                    os.fchmod(descriptor, facts.st_mode & 0o777)
                    self.file.seek(0)
                    shutil.copyfileobj(self.file, copy)
                return f"are saved in {saved}"
            except OSError as error:
                why = error.strerror
        return f"cannot be saved in {tempfile.gettempdir()} (TMPDIR): {why}"


def leads_to(path, facts):
    try:
        return os.path.samestat(os.stat(path), facts)
    except OSError:
        return False


# ---- One build.


class Build:
    """side: for messages. out: the file of its rows. scenarios: what it runs. given: of given_by(). may_skip: it leaves out what it does not know."""

    def __init__(self, side, program, out, scenarios, given, may_skip=True):
        self.side, self.program, self.out, self.scenarios, self.held = side, program, out, scenarios, Held(out)
        self.options = {name: given[name][0] for name in AS_GIVEN if name in given}
        self.pace = [f"--{name}" for name in ("quick", "full") if name in given]
        self.start_seconds = 0  # what a process takes before its first row; 0: not known
        code, said = run([program, "run", "--help"])
        asked = f"{side}: '{program} run --help'"
        if code:
            raise End(f"{asked} failed with exit code {code}; is it a rungs program?")
        if "--out" not in said:  # such as /bin/true
            raise End(f"{asked} does not list --out; is it a rungs program?")
        self.skips = may_skip and "--skip-unknown" in said  # a build of an older commit may not
        self.knows = [word for word in ("--no-ceilings", "--no-counts") if word in said]
        self.is_rungs = "usage: rungs run " in said

    def words(self, *more, out=None, scenarios=None, counts=False):
        """Of one process."""
        words = [self.program, "run", *(scenarios or self.scenarios), *(("--out", out) if out else ())]
        for name, value in self.options.items():
            words += [f"--{name}", value]
        skips = ["--skip-unknown"] * self.skips
        return [*words, *more, *skips, *(word for word in self.knows if not (counts and word == "--no-counts"))]

    def call(self, words, inherited=()):
        """A row that failed is no error here: the row says so. 2: the build does not know what it is to run, and has written nothing."""
        code, said = run(words, inherited=inherited)
        if code not in (GOOD, CHECK, NOTHING):
            how = USAGE if code == USAGE else MACHINE
            raise Failed(f"{self.side}: {self.program} ends with exit code {code}: {said[:1000]}", how)
        return said

    def process(self, stamp=None, counts=False):
        """One more. counts: also launches and bytes, after its times. An interrupted one leaves no rows: some would be missing."""
        self.held.check()
        _, _, lines = self.aside(*self.pace, counts=counts)
        self.held.check()
        append(self.out, lines, stamp)
        self.held.hold()

    def aside(self, *more, scenarios=None, counts=False):
        """A process with a file of its own, which has no name -> (what it said, its commit, its lines)."""
        with tempfile.TemporaryFile() as file:
            path = f"/proc/self/fd/{file.fileno()}"
            said = self.call(
                self.words(*more, out=path, scenarios=scenarios, counts=counts), inherited=(file.fileno(),)
            )
            return said, last_commit(path), file.read().splitlines(keepends=True)

    def start(self):
        """A process without a row -> (what it said, its commit). Measures start_seconds."""
        began = time.monotonic()
        said, commit, _ = self.aside("--budget", "0.000001", *self.pace)
        self.start_seconds = time.monotonic() - began
        return said, commit

    def check(self):
        """Before an hour of measuring -> what it says, with lines "left out: ". Its file may hold no rows of another commit: they are no repetitions
        of this build's."""
        there = last_commit(self.out)
        if not there and not self.skips:
            return ""
        said, own = self.start()
        if "rungs: compiling " in said:  # its variants: a later process does not
            self.start_seconds = 0
        if there and own and own != there:
            how = "name another folder or remove this one"
            raise End(f"{self.out} holds rows of {there}, but {self.side} is {own}; {how}")
        return said
