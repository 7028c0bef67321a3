"""`--sandbox`: what a variant reaches without and with it, and what is said where there can be none. The attacks are made by the run() of a file that
`rungs try` is given, also where the kernel has no Landlock: what is refused then is refused by the sandbox."""

import contextlib
import json
import os
import pathlib
import shutil
import socket
import subprocess
import tempfile

import pytest
from program import BUILD, MUTANTS, SANITIZED, SOURCE, call, copy_mutants, expect, expect_error, rows_of
from test_confined import NO_LANDLOCK

ROOT = os.getuid() == 0
WITH_SETPRIV = ROOT and shutil.which("setpriv")
OTHER = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
PEER = (
    ["setpriv", "--bounding-set=-sys_ptrace"] if WITH_SETPRIV else []
)  # whom a worker may trace: it has no more rights
ATTACK = r"""
#include "variant.h"
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static int number(const char *name) { return atoi(getenv(name)); }
static void tell(const char *what, bool reached) {
    fprintf(stderr, "[%s %s]", what, reached ? "reached" : strerror(errno));
}
static Status run(const VariantArgs *args) {
    (void)args;
    const int other = number("ATTACK_OTHER");
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((unsigned short)number("ATTACK_PORT"))};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    struct stat facts;
    char path[64];
    errno = 0;
    tell("network", connect(socket(AF_INET, SOCK_STREAM, 0), (struct sockaddr *)&address, sizeof address) == 0);
    tell("tmp", open(getenv("ATTACK_FILE"), O_RDONLY) >= 0);
    tell("usr", open("/usr/rungs-planted", O_CREAT | O_WRONLY, 0600) >= 0);
    tell("signal", kill(other, SIGCONT) == 0);
    tell("parent", kill(number("ATTACK_PARENT"), 0) == 0);
    snprintf(path, sizeof path, "/proc/%d/cmdline", number("ATTACK_PARENT"));
    tell("proc", stat(path, &facts) == 0);
    tell("privileges", chroot("/") == 0);
    const bool attached = ptrace(PTRACE_ATTACH, other, NULL, NULL) == 0;
    tell("ptrace", attached);
    if (attached) waitpid(other, NULL, 0), ptrace(PTRACE_DETACH, other, NULL, NULL);
    tell("memory", ptrace(PTRACE_ATTACH, number("ATTACK_PARENT"), NULL, NULL) == 0);
    _exit(3);
}
RUNGS_VARIANT(double, cpu_attacks) = {.backend = BACKEND_CPU, .summary = "attacks", .origin = "tests", .run = run};
"""
RIGHT = (pathlib.Path(__file__).parents[1] / "mutants/double/cpu_right.c").read_text()
# As the filter of a container does.
DENIED = r"""
#define _GNU_SOURCE
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(int argc, char **argv) {
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_unshare, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args)),
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, CLONE_NEWUSER | CLONE_NEWNS, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof code / sizeof *code, code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) return 99;
    return argc > 1 ? execv(argv[1], argv + 1) : 98;
}
"""

pytestmark = pytest.mark.skipif(SANITIZED, reason="a sanitizer's program loads no module that was compiled without it")


def sandbox_of(*before):
    done = subprocess.run([*before, MUTANTS, "doctor"], capture_output=True, text=True)
    return next(line for line in done.stdout.splitlines() if " sandbox " in line)


HAS = sandbox_of()
needs_sandbox = pytest.mark.skipif(not HAS.startswith("ok"), reason=HAS)
needs_bwrap = pytest.mark.skipif(not shutil.which("bwrap"), reason="there is no bwrap: apt-get install bubblewrap")


@pytest.fixture
def place():
    """Files that a sandbox shows, too: below the build folder, not in /tmp."""
    with tempfile.TemporaryDirectory(dir=BUILD / "tests") as name:
        pathlib.Path(name).chmod(0o755)
        yield pathlib.Path(name)


@pytest.fixture
def copied():
    """A program that any user may start and that makes its modules there: in /tmp, which a sandbox has of its own."""
    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        folder = pathlib.Path(name)
        (folder / "tests").mkdir()
        copy_mutants(folder / "rungs-mutants")
        (folder / "tests/modules-of-mutants").unlink()
        shutil.copytree(BUILD / "tests/modules-of-mutants", folder / "tests/modules-of-mutants")
        if ROOT:
            subprocess.run(["chown", "-R", "65534:65534", folder], check=True)
        yield folder


@contextlib.contextmanager
def targets():
    """What the attacks are made on; the environment that names it."""
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        tempfile.NamedTemporaryFile(dir="/tmp") as file,
        subprocess.Popen([*PEER, "sleep", "120"]) as other,
    ):
        os.chmod(file.name, 0o644)
        try:
            port = server.getsockname()[1]
            yield {"ATTACK_PORT": str(port), "ATTACK_FILE": file.name, "ATTACK_OTHER": str(other.pid)}
        finally:
            other.kill()


def attack(place, *options, landlock=True):
    """What the variant says of each attack."""
    source, out = place / "attacks.c", place / "rows.jsonl"
    source.write_text(ATTACK)
    environment = dict(os.environ)
    if not landlock:
        (place / "none.c").write_text(NO_LANDLOCK)
        environment["LD_PRELOAD"] = str(place / "none.so")
        subprocess.run(["cc", "-shared", "-fPIC", "-o", place / "none.so", place / "none.c", "-ldl"], check=True)
    words = ["try", source, "--op", "double", "n=1003", "--variants", "cpu_right", "--verify-only", "--out", out]
    with targets() as told:
        shell = ["bash", "-c", 'export ATTACK_PARENT=$$; exec "$@"', "bash", MUTANTS, *words, *options]
        done = subprocess.run(list(map(str, shell)), env=environment | told, capture_output=True, text=True)
    rows = {row["variant"]: row for row in rows_of(out)}
    planted = pathlib.Path("/usr/rungs-planted")
    if planted.exists():
        planted.unlink()
    row = rows["double/try_attacks"]
    expect(rows["double/cpu_right"]["verdict"] == "pass" and row["verdict"] == "error", "the attacks were made", done)
    expect("ended with exit code 3" in row["reason"], row["reason"], done)
    said = dict(part.rstrip("]").split(" ", 1) for part in row["reason"].split("[")[1:])
    return row, {what: answer == "reached" for what, answer in said.items()}


EVERY = {"network", "tmp", "usr", "signal", "parent", "proc", "privileges", "ptrace", "memory"}


@needs_sandbox
@pytest.mark.parametrize("landlock", [True, False])
def test_nothing_is_reached_in_a_sandbox(place, landlock):
    row, reached = attack(place, landlock=landlock)
    expect(row["sandboxed"] is True, "`try` has it without being asked")
    expect(reached == dict.fromkeys(EVERY, False), f"{row['reason']}")


def test_the_attacks_reach_it_without(place):
    row, reached = attack(place, "--no-sandbox", landlock=False)
    expect(row["sandboxed"] is False, "the row says it")
    expected = (
        EVERY - {"memory"} - (set() if ROOT else {"usr", "privileges"})
    )  # the parent is not dumpable (device/spawn.c)
    expect({what for what, it_is in reached.items() if it_is} == expected, f"{row['reason']}")


def test_what_landlock_alone_leaves_open(place):
    row, reached = attack(place, "--no-sandbox")
    if row["confined"]:
        expect(all(reached[what] for what in ("network", "tmp", "proc")), row["reason"])
        expect(not any(reached[what] for what in ("usr", "ptrace", "memory")), row["reason"])


@needs_sandbox
@pytest.mark.parametrize(
    "how, verdict, words",
    [
        ("abort_in_supports", "error", "supports(): crashed: signal 6"),
        ("fork_in_supports", "error", "supports(): started a process"),
        ("abort_in_scratch", "error", "crashed: signal 6"),
        ("exit_code", "error", "at its end: ended with exit code 7"),
        ("memory_of_children", "error", "exceeded its limit of 0.12 GiB"),
        ("leaves_daemon", "pass", ""),  # it ends with the sandbox
    ],
)
def test_a_fault_is_told_as_without(folder, how, verdict, words):
    out = folder / "rows.jsonl"
    options = ("--verify-only", "--memory-limit", "128M", "--sandbox", "--out", out)
    done = call("run", "double n=1003", "--variants", f"cpu_takes_along how={how},cpu_right", *options, program=MUTANTS)
    rows = {row["variant"]: row for row in rows_of(out)}
    row = rows["double/cpu_takes_along"]
    expect(row["verdict"] == verdict and words in (row["reason"] or ""), f"{row['verdict']}: {row['reason']}", done)
    expect(rows["double/cpu_right"]["verdict"] == "pass", "the run goes on", done)


@needs_sandbox
def test_nothing_is_left_of_a_killed_run(folder):
    mark = f"RUNGS_TEST_SANDBOX={os.getpid()}"
    words = ["run", "double n=1003", "--variants", "cpu_takes_along how=hang_in_prepare", "--sandbox", "--out"]
    environment = os.environ | dict([mark.split("=")])
    program = subprocess.Popen([MUTANTS, *words, folder / "rows.jsonl"], env=environment, stderr=subprocess.DEVNULL)

    def running():
        found = []
        for entry in pathlib.Path("/proc").iterdir():
            with contextlib.suppress(OSError):
                if entry.name.isdigit() and mark.encode() in (entry / "environ").read_bytes().split(b"\0"):
                    found.append((entry / "comm").read_text().strip())
        return found

    def wait_until(wanted):
        for _ in range(400):
            if wanted(running()):
                return True
            with contextlib.suppress(subprocess.TimeoutExpired):
                program.wait(0.05) if program.returncode is None else subprocess.run(["sleep", "0.05"])
        return False

    expect(wait_until(lambda found: found.count("bwrap") >= 1 and len(found) >= 4), f"it hangs: {running()}")
    program.kill()
    program.wait()
    expect(wait_until(lambda found: not found), f"left: {running()}")


@needs_sandbox
@pytest.mark.parametrize("verb", ["run", "exec"])
def test_asked_for(folder, verb):
    import numpy as np

    np.save(folder / "x.npy", np.ones(1003))
    if verb == "exec":
        words = ("double/cpu_right", "--in", f"x={folder / 'x.npy'}", "--out", f"y={folder / 'y.npy'}")
        done = call("exec", *words, "--sandbox", "--check", program=MUTANTS)
        expect(done.returncode == 0 and (np.load(folder / "y.npy") == 2).all(), "exec", done)
        return
    options = ("--verify-only", "--no-ceilings", "--out", folder / "rows.jsonl")
    done = call("run", "double n=1003", "--variants", "cpu_right,peer_right", "--sandbox", *options, program=MUTANTS)
    call("run", "double n=1003", "--variants", "cpu_right", *options, program=MUTANTS)
    told = [(row["verdict"], row["sandboxed"]) for row in rows_of(folder / "rows.jsonl")]
    expect(told == [("pass", True), ("pass", True), ("pass", False)], f"{told}", done)


@pytest.mark.skipif(not WITH_SETPRIV, reason="root becomes somebody else with setpriv")
def test_as_an_ordinary_user(copied):
    has = sandbox_of(*OTHER)
    if not has.startswith("ok"):
        pytest.skip(has)
    (copied / "mine.c").write_text(RIGHT)
    words = ["try", copied / "mine.c", "--op", "double", "n=1003", "--variants", "try_*", "--verify-only"]
    command = [*OTHER, copied / "rungs-mutants", *words, "--out", copied / "rows.jsonl"]
    environment = os.environ | {"HOME": str(copied), "TMPDIR": str(copied)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    rows = rows_of(copied / "rows.jsonl") if (copied / "rows.jsonl").exists() else []
    expect([(row["verdict"], row["sandboxed"]) for row in rows] == [("pass", True)], json.dumps(rows), done)


# ---- Where there can be none.


def refused(place, *words, before=(), path=None):
    """`try` refuses, runs nothing, and goes on with --no-sandbox."""
    source, out = place / "mine.c", place / "rows.jsonl"
    source.write_text(RIGHT)
    environment = os.environ | ({"PATH": str(path)} if path else {})
    command = [*before, MUTANTS, "try", source, "--op", "double", "n=1003", "--variants", "try_*", "--verify-only"]
    command = list(map(str, [*command, "--out", out]))
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    expect_error(done, 4, "no sandbox: ", "--no-sandbox", *words)
    expect(not out.exists(), "nothing ran", done)
    done = subprocess.run([*command, "--no-sandbox"], env=environment, capture_output=True, text=True)
    told = [(row["verdict"], row["sandboxed"]) for row in rows_of(out)]
    expect(told == [("pass", False)], f"--no-sandbox: {told}", done)


def tools_without_bwrap(folder):
    (folder / "bin").mkdir()
    for place in ("/usr/bin", "/bin", "/usr/local/bin"):
        for tool in pathlib.Path(place).glob("*"):
            if tool.name != "bwrap" and not (folder / "bin" / tool.name).exists():
                (folder / "bin" / tool.name).symlink_to(tool)
    return folder / "bin"


def test_without_bwrap(place):
    refused(place, "there is no bwrap", "apt-get install bubblewrap", path=tools_without_bwrap(place))


@pytest.mark.parametrize(
    "says",
    [
        "bwrap: setting up uid map: Permission denied",  # Ubuntu 24.04
        "bwrap: Creating new namespace failed: Operation not permitted",
    ],
)
def test_a_refusal_is_quoted(place, says):
    (place / "bwrap").write_text(f"#!/bin/sh\necho '{says}' >&2\nexit 1\n")
    (place / "bwrap").chmod(0o755)
    refused(place, says, "user namespaces", path=f"{place}:{os.environ['PATH']}")


@needs_bwrap
def test_where_unshare_is_denied(place):
    """A filter answers EPERM."""
    (place / "denied.c").write_text(DENIED)
    subprocess.run(["cc", "-o", place / "denied", place / "denied.c"], check=True)
    refused(place, "ermission", "user namespaces", before=[place / "denied"])


@needs_bwrap
@pytest.mark.skipif(not WITH_SETPRIV, reason="root becomes somebody else with setpriv")
def test_where_no_user_namespaces_are_left():
    """user.max_user_namespaces=0, in a user namespace of its own: the machine keeps its setting."""
    with subprocess.Popen(["unshare", "--user", "sleep", "120"]) as there:
        while os.readlink(f"/proc/{there.pid}/ns/user") == os.readlink("/proc/self/ns/user"):
            assert there.poll() is None
        for name in ("uid_map", "gid_map"):
            pathlib.Path(f"/proc/{there.pid}/{name}").write_text("0 0 100000\n")
        inside = ["nsenter", "--user", "--target", there.pid, "--setuid=0", "--setgid=0", "sh", "-c"]
        inside += ['echo 0 >/proc/sys/user/max_user_namespaces && exec "$@"', "sh", *OTHER]
        line = sandbox_of(*map(str, inside))
        there.kill()
    expect(line.startswith("no") and "sysctl user.max_user_namespaces=15000" in line, line)


@needs_sandbox
def test_a_compiler_writes_where_it_should_alone(tmp_path, monkeypatch):
    """Also where that lies in /dev/shm, and with nothing of the network."""
    monkeypatch.syspath_prepend(SOURCE / "cmake")
    import modules

    monkeypatch.setenv("RUNGS_SANDBOX", shutil.which("bwrap"))
    with tempfile.TemporaryDirectory(dir="/dev/shm") as elsewhere, tempfile.TemporaryDirectory(dir="/dev/shm") as to:
        text = f"touch {to}/made; touch {elsewhere}/x {tmp_path}/x /var/tmp/x 2>/dev/null; echo > /dev/null && wc -l < /proc/net/dev"
        said = modules.run(["sh", "-c", text], 20, to=pathlib.Path(to))
        assert os.listdir(to) == ["made"] and not os.listdir(elsewhere) and not os.listdir(tmp_path)
        assert int(said) == 3  # two lines of a head, and lo
        with pytest.raises(modules.Refused, match="sleep did not end within 0.2 s"):
            modules.run(["sleep", "5"], 0.2, to=pathlib.Path(to))
