"""What ./rungs does before the program runs: packages, phases, advice. Each test has a checkout with the script and nothing else, and stand-ins
for cmake and the program, so that nothing is installed and nothing is built."""

import os
import pty
import re
import shutil
import subprocess
import time

import pytest
from program import RUNGS, SOURCE, call

STEPS = "\n".join(
    f"[{i}/40] Building C object a/rather/long/folder/with/many/names/CMakeFiles/rungs.dir/harness/module/file_number_{i}.c.o"
    for i in range(1, 41)
)
# Configures: makes the folder and the program. Builds: says the steps that are in the file `steps`, as Ninja does.
CMAKE = """#!/bin/sh
if [ "$1" = --build ]; then
    echo "$@" >>"$PLAYED/built"
    cat "$PLAYED/steps"
    exit
fi
mkdir -p "$PLAYED/build/bin"
touch "$PLAYED/build/build.ninja"
printf '#!/bin/sh\\necho the program got "$@"\\n' >"$PLAYED/build/bin/rungs"
chmod +x "$PLAYED/build/bin/rungs"
"""


class Checkout:
    def __init__(self, folder):
        self.played = folder
        self.played.chmod(0o755)
        self.root, self.bin = self.played / "checkout", self.played / "bin"
        for name in (
            "rungs",
            "cmake/install.sh",
            "docs/help.txt",
            "CMakeLists.txt",
            "CMakePresets.json",
            *(path.name for path in SOURCE.glob("requirements*.txt")),
        ):
            (self.root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(SOURCE / name, self.root / name)
        self.play("cmake", CMAKE)
        (self.played / "steps").write_text(STEPS)
        (self.played / "built").touch()

    def play(self, name, text):
        self.bin.mkdir(exist_ok=True)
        (self.bin / name).write_text(text)
        (self.bin / name).chmod(0o755)

    def environment(self, **more):
        return {
            "PATH": f"{self.bin}:{os.environ['PATH']}",
            "HOME": str(self.played),
            "PLAYED": str(self.played),
            "RUNGS_PRESET": "cpu-only",
            "RUNGS_PYTHON": shutil.which("python3"),
            "RUNGS_BUILD_DIR": str(self.played / "build"),
            "RUNGS_ALLOW_MISSING": "1",
            **more,
        }

    def start(self, *arguments, **more):
        return subprocess.run(
            [str(self.root / "rungs"), *arguments],
            env=self.environment(**more),
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            timeout=60,
        )

    def on_a_terminal(self, columns, **more):
        ours, theirs = pty.openpty()
        subprocess.run(["stty", "cols", str(columns)], stdin=theirs, check=True)
        child = subprocess.Popen(
            [str(self.root / "rungs"), "list"],
            env=self.environment(**more),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=theirs,
        )
        os.close(theirs)
        seen = b""
        while True:
            try:
                chunk = os.read(ours, 4096)
            except OSError:  # the other end has closed
                break
            if not chunk:
                break
            seen += chunk
        assert child.wait() == 0
        return seen.decode()

    def only(self, *names):
        """A PATH with these programs alone, and the stand-ins."""
        tools = self.played / "tools"
        tools.mkdir()
        for name in (
            *names,
            "bash",
            "sh",
            "env",
            "cat",
            "cut",
            "dirname",
            "readlink",
            "mkdir",
            "stat",
            "flock",
            "id",
            "uname",
            "sha256sum",
            "rm",
            "tail",
            "stty",
        ):
            (tools / name).symlink_to(shutil.which(name))
        return f"{self.bin}:{tools}"


@pytest.fixture
def checkout(folder):
    return Checkout(folder)


def test_the_program_gets_what_was_said(checkout):
    done = checkout.start("run", "double n=5")
    assert (done.returncode, done.stdout) == (0, "the program got run double n=5\n"), done.stderr
    assert "--target rungs rungs_measure_library\n" in (checkout.played / "built").read_text()
    assert "tests" not in (checkout.played / "built").read_text()


def test_a_phase_is_one_line_without_a_terminal(checkout):
    first = checkout.start("list").stderr.splitlines()
    assert [line.split()[2:] for line in first] == [["building"]], first
    assert re.search(r"^rungs: \d+:\d\d building$", first[0])


def test_nothing_is_said_where_nothing_is_built(checkout):
    checkout.start("list")
    (checkout.played / "steps").write_text("[0/2] Re-checking globbed directories...\nninja: no work to do.\n")
    assert checkout.start("list").stderr == ""


def test_a_terminal_line_is_never_wider_than_the_terminal(checkout):
    for columns in (40, 80, 200):
        shown = checkout.on_a_terminal(columns, TERM="xterm").split("\r\033[K")
        assert any("building: [40/40]" in line for line in shown), shown
        assert max(map(len, shown)) < columns, shown
        assert shown[-1] == ""  # nothing of it stays
        (checkout.played / "build" / ".rungs-ready").unlink()


def test_a_dumb_terminal_gets_plain_lines(checkout):
    assert re.search(r"^rungs: \d+:\d\d building\r\n$", checkout.on_a_terminal(80, TERM="dumb"))


def test_tests_are_built_for_the_tests_alone(checkout):
    checkout.play("ctest", '#!/bin/sh\necho ctest "$@"\n')
    done = checkout.start("test", "-R", "layers")
    if "missing:" in done.stderr:  # libraries of the tests: this machine has none, and they can't be done without
        assert done.returncode == 4
        return
    assert "--target all tests/all\n" in (checkout.played / "built").read_text()
    assert re.search(r"^ctest --test-dir \S+/build .*-R layers\n$", done.stdout)
    for words, slow in (((), False), (("-R", "."), True), (("--full",), True)):
        assert ("--label-exclude slow" in checkout.start("test", *words).stdout) != slow, words


def test_a_failed_build_shows_the_end_of_the_log(checkout):
    checkout.play("cmake", CMAKE.replace("    exit\n", "    exit 1\n"))
    done = checkout.start("list")
    assert done.returncode == 4
    assert "the build failed" in done.stderr
    assert "file_number_40.c.o" in done.stderr
    assert checkout.start("list").returncode == 4  # and again: nothing says that it is ready


def test_a_missing_package_is_named_and_how_to_get_it(checkout):
    tools = checkout.only("python3", "git", "grep", "sed", "find", "nproc")
    done = checkout.start("list", PATH=tools)
    assert done.returncode == 4, done.stderr
    assert "installing what is missing on this machine" in done.stderr
    assert "apt-get not found" in done.stderr
    assert re.search(
        r"install with: apt-get update && apt-get install --no-install-recommends .*\bgcc\b.*ninja-build", done.stderr
    )
    assert (checkout.played / "built").read_text() == ""


@pytest.mark.skipif(
    os.getuid() == 0 and not shutil.which("setpriv"), reason="root, and no setpriv to become somebody else"
)
def test_without_rights_it_says_which(checkout):
    checkout.play("apt-get", "#!/bin/sh\nexit 100\n")
    tools = checkout.only("python3", "git", "grep", "sed", "find", "nproc")
    other = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] if os.getuid() == 0 else []
    setpriv = shutil.which("setpriv")

    def as_other():
        command = [str(checkout.root / "rungs"), "list"]
        if other:
            command = [setpriv, *other[1:], *command]
        return subprocess.run(
            command,
            env=checkout.environment(PATH=tools),
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            timeout=60,
        )

    (checkout.root / "build").mkdir()
    if other:
        done = as_other()
        assert done.returncode == 4
        assert re.search(
            r"build belongs to root and you \(\S+\) cannot write there. Make a clone of your own: git clone /",
            done.stderr,
        )
    (checkout.root / "build").chmod(0o777)
    assert "you are not root and there is no sudo" in as_other().stderr
    checkout.play("sudo", "#!/bin/sh\nexit 1\n")
    done = as_other()
    assert "sudo asks for a password and there is no terminal to ask on" in done.stderr
    assert done.returncode == 4


class Help(Checkout):
    """Answered with bash, grep and sed alone."""

    def ask(self, *arguments):
        done = self.start(*arguments, PATH=self.tools)
        assert not (self.root / "build").exists(), "nothing is made"
        return done

    def __init__(self, folder):
        super().__init__(folder)
        self.tools = self.only("grep", "sed")


@pytest.fixture
def helper(folder):
    return Help(folder)


def test_the_file_is_what_the_program_says():
    def comparable(text):  # Google Benchmark's own part is that of the library's version
        return re.sub(r"(?s)(\nGoogle Benchmark's options:\n).*?(?=\n== )", r"\1", text)

    written = comparable((SOURCE / "docs/help.txt").read_text())
    assert written == comparable(call("help", "all").stdout), f"write it again: {RUNGS} help all >docs/help.txt"


def test_each_verb(helper):
    verbs = re.findall(r"(?m)^  ([a-z]+) ", call("--help").stdout)
    assert len(verbs) > 10
    assert "test" in verbs
    for verb in verbs:
        if verb == "benchmark":
            continue
        said = call(verb, "--help")
        assert said.returncode == 0
        for words in ((verb, "--help"), (verb, "some words", "-h"), ("help", verb)):
            done = helper.ask(*words)
            assert (done.returncode, done.stdout, done.stderr) == (0, said.stdout, ""), words
    assert helper.ask("benchmark", "--help").stdout.startswith("usage: rungs benchmark ")


def test_usage(helper):
    usage = call("--help").stdout
    for words in (("--help",), ("-h",), ("help",)):
        done = helper.ask(*words)
        assert (done.returncode, done.stdout, done.stderr) == (0, usage, "")
    done = helper.ask()
    assert (done.returncode, done.stdout, done.stderr) == (2, "", usage)


def test_no_such_verb(helper):
    for words in (("smok", "--help"), ("help", "smok"), ("r.*", "--help"), ("help", "rungs all")):
        done = helper.ask(*words)
        assert (done.returncode, done.stdout) == (2, ""), words
        assert "unknown verb" in done.stderr


def test_version(helper):
    version = call("--version").stdout.split()[1]
    done = helper.ask("--version")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"rungs {version}, not built yet\n", "")
    (helper.played / "build/bin").mkdir(parents=True)
    (helper.played / "build/bin/rungs").write_text("#!/bin/sh\necho the program says $1\n")
    (helper.played / "build/bin/rungs").chmod(0o755)
    assert helper.ask("-V").stdout == "the program says --version\n"


# As cmake, with the options of this project's CMakeLists.txt, by the real one. Building waits for the file `go`, if there is `wait`.
REAL_CMAKE = """#!/bin/sh
if [ "$1" = --build ]; then
    echo "$2" >>"$PLAYED/built"
    touch "$PLAYED/building"
    while [ -e "$PLAYED/wait" ] && [ ! -e "$PLAYED/go" ]; do sleep 0.05; done
    exit
fi
for word; do case $word in -D*) set -- "$@" "$word" ;; esac; [ "$last" = -B ] && to=$word; last=$word; shift; done
echo "$to $*" >>"$PLAYED/configured"
mkdir -p "$to/bin"
touch "$to/build.ninja"
printf '#!/bin/sh\necho the program got "$@"\n' >"$to/bin/rungs"
chmod +x "$to/bin/rungs"
exec REAL -S "$PLAYED/options" -B "$to" "$@"
"""


class OneCheckout(Checkout):
    """Several ./rungs in one checkout, on a machine with nvcc, clang and no GPU."""

    def __init__(self, folder):
        super().__init__(folder)
        real = shutil.which("cmake")
        self.play("cmake", REAL_CMAKE.replace("REAL", real))
        self.play("ctest", '#!/bin/sh\necho ctest "$@"\n')
        self.play("nvcc", "#!/bin/sh\necho release 13.0\n")
        self.play("nvidia-smi", "#!/bin/sh\nexit 9\n")
        self.play("clang", f"#!/bin/sh\necho {self.played}/resources\n")
        (self.played / "resources/lib").mkdir(parents=True)
        (self.played / "resources/lib/libclang_rt.asan-x86_64.a").touch()
        (self.played / "options").mkdir()
        options = re.findall(r"(?m)^(?:set\(RUNGS_\w+ \w+ CACHE|option\().*$", (SOURCE / "CMakeLists.txt").read_text())
        assert len(options) == 3
        (self.played / "options/CMakeLists.txt").write_text(
            "cmake_minimum_required(VERSION 3.24)\nproject(options NONE)\n" + "\n".join(options)
        )

    def environment(self, **more):
        return super().environment(RUNGS_PRESET="release", **more)

    def configuration(self, folder):
        text = (self.played / folder / "CMakeCache.txt").read_text()
        return {name: re.search(rf"(?m)^{name}:\w+=(.*)$", text)[1] for name in ("RUNGS_CUDA", "RUNGS_TESTS")}

    def run_tests(self):
        done = self.start("test")
        if "missing:" in done.stderr:
            pytest.skip(f"libraries of the tests are not installed: {done.stderr}")
        assert done.returncode == 0, done
        return re.search(r"--test-dir (\S+)", done.stdout)[1]


@pytest.fixture
def real(folder):
    return OneCheckout(folder)


def test_the_tests_leave_the_program_of_others_alone(real):
    assert real.start("run").returncode == 0
    assert real.configuration("build") == {"RUNGS_CUDA": "EMULATED", "RUNGS_TESTS": "OFF"}
    for _ in range(2):
        assert real.run_tests() == f"{real.played}/build-tests"
        assert real.start("run", "x").stdout == "the program got run x\n"
    assert real.configuration("build") == {"RUNGS_CUDA": "EMULATED", "RUNGS_TESTS": "OFF"}
    assert real.configuration("build-tests") == {"RUNGS_CUDA": "ON", "RUNGS_TESTS": "ON"}
    assert len((real.played / "configured").read_text().splitlines()) == 2, "each folder is configured once"


def test_what_is_installed_is_built_before(real):
    """Where a page or a workflow installs from a fresh clone, its ./rungs builds: --version and --help do not."""
    for name in ("docs/YOUR_KERNELS.md", "template/.github/workflows/rungs.yml"):
        (command,) = re.findall(
            r"&& (\./rungs [^)#\n]*?) *[)#].*\n *cmake --install \S*build/release ", (SOURCE / name).read_text()
        )
        (real.played / "built").write_text("")
        shutil.rmtree(real.played / "build", ignore_errors=True)
        real.start(*command.split()[1:])
        assert (real.played / "built").read_text() == f"{real.played}/build\n"


def test_who_comes_second_uses_what_the_tests_built(real):
    assert real.run_tests() == f"{real.played}/build"
    for stamp in (True, False):  # and where something that decides the configuration has changed
        if not stamp:
            (real.played / "build/.rungs-ready").unlink()
        assert real.start("run", "x").stdout == "the program got run x\n"
        assert real.configuration("build") == {"RUNGS_CUDA": "ON", "RUNGS_TESTS": "ON"}


def test_who_waits_says_for_whom(real):
    (real.played / "wait").touch()
    first = subprocess.Popen(
        [str(real.root / "rungs"), "list"],
        env=real.environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    while not (real.played / "building").exists():
        assert first.poll() is None
        time.sleep(0.05)
    second = subprocess.Popen(
        [str(real.root / "rungs"), "list"],
        env=real.environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    said = second.stderr.readline()
    assert said == f"rungs: waiting for another ./rungs (pid {first.pid}) that is building here\n"
    (real.played / "go").touch()
    assert (first.wait(), second.wait()) == (0, 0)
    second.stderr.close()


def test_what_is_imported_is_compiled():
    """Each start of a library's worker imports its packages and writes to no file."""
    python = SOURCE / "build/python/bin/python"
    if "RUNGS_PYTHON" in os.environ or python.is_symlink() is False:
        pytest.skip("the packages are not those of ./rungs")
    done = subprocess.run([python, "-v", "-c", "import scipy.signal"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    read = re.findall(r"# code object from '?([^'\n]*site-packages[^'\n]*)", done.stderr)
    assert read and all(path.endswith(".pyc") for path in read), [path for path in read if not path.endswith(".pyc")][
        :5
    ]


# As a Python whose pip unpacks nothing.
PIP = """#!/bin/sh
echo "$@" >>"$PLAYED/installed"
while [ "$1" != --target ] && [ $# -gt 1 ]; do shift; done
if [ -n "$NETWORK" ]; then mkdir -p "$2"; else echo ERROR: no network; exit 1; fi
"""


def test_the_newest_cub_is_fetched_once_where_there_is_a_gpu(real):
    real.play("python", PIP)
    python = {"RUNGS_PYTHON": f"{real.bin}/python"}
    assert real.start("list", **python).returncode == 0
    assert not (real.played / "installed").exists(), "there is no GPU"
    real.play("nvidia-smi", "#!/bin/sh\n")
    (real.played / "build/.rungs-ready").unlink()
    done = real.start("list", **python)
    assert done.returncode == 0 and "warning: CUB could not be fetched from PyPI" in done.stderr, done
    assert "ERROR: no network" in done.stderr
    for _ in range(2):
        (real.played / "build/.rungs-ready").unlink()
        done = real.start("list", NETWORK="1", **python)
        assert done.returncode == 0 and "warning" not in done.stderr, done
    calls = (real.played / "installed").read_text().splitlines()
    assert len(calls) == 2 and f"--target {real.root}/build/cccl -r {real.root}/requirements-cub.txt" in calls[1], calls
