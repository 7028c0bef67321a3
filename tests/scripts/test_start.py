"""What ./rungs does before the program runs: packages, phases, advice. Each test has a checkout with the script and nothing else, and stand-ins
for cmake and the program, so that nothing is installed and nothing is built."""
import os
import pathlib
import pty
import shutil
import subprocess
import tempfile
import unittest

SOURCE = pathlib.Path(os.environ["RUNGS_SOURCE"])
STEPS = "\n".join(f"[{i}/40] Building C object a/rather/long/folder/with/many/names/CMakeFiles/rungs.dir/harness/module/file_number_{i}.c.o" for i in range(1, 41))
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


class Start(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.played = pathlib.Path(folder.name)
        self.played.chmod(0o755)
        self.root, self.bin = self.played / "checkout", self.played / "bin"
        for name in ("rungs", "cmake/install.sh", "CMakePresets.json", *(path.name for path in SOURCE.glob("requirements*.txt"))):
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
        return {"PATH": f"{self.bin}:{os.environ['PATH']}", "HOME": str(self.played), "PLAYED": str(self.played), "RUNGS_PRESET": "cpu-only",
                "RUNGS_PYTHON": shutil.which("python3"), "RUNGS_BUILD_DIR": str(self.played / "build"), "RUNGS_ALLOW_MISSING": "1", **more}

    def start(self, *arguments, **more):
        return subprocess.run([str(self.root / "rungs"), *arguments], env=self.environment(**more), capture_output=True, text=True, stdin=subprocess.DEVNULL,
                              timeout=60)

    def on_a_terminal(self, columns, **more):
        ours, theirs = pty.openpty()
        subprocess.run(["stty", "cols", str(columns)], stdin=theirs, check=True)
        child = subprocess.Popen([str(self.root / "rungs"), "list"], env=self.environment(**more), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                 stderr=theirs)
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
        self.assertEqual(child.wait(), 0)
        return seen.decode()

    def only(self, *names):
        """A PATH with these programs alone, and the stand-ins."""
        tools = self.played / "tools"
        tools.mkdir()
        for name in (*names, "bash", "sh", "env", "cat", "cut", "dirname", "readlink", "mkdir", "stat", "flock", "id", "uname", "sha256sum", "rm", "tail", "stty"):
            (tools / name).symlink_to(shutil.which(name))
        return f"{self.bin}:{tools}"

    def test_the_program_gets_what_was_said(self):
        done = self.start("run", "double n=5")
        self.assertEqual((done.returncode, done.stdout), (0, "the program got run double n=5\n"), done.stderr)
        self.assertIn("--target all\n", (self.played / "built").read_text())
        self.assertNotIn("tests", (self.played / "built").read_text())

    def test_a_phase_is_one_line_without_a_terminal(self):
        first = self.start("list").stderr.splitlines()
        self.assertEqual([line.split()[2:] for line in first], [["building"]], first)
        self.assertRegex(first[0], r"^rungs: \d+:\d\d building$")

    def test_nothing_is_said_where_nothing_is_built(self):
        self.start("list")
        (self.played / "steps").write_text("[0/2] Re-checking globbed directories...\nninja: no work to do.\n")
        self.assertEqual(self.start("list").stderr, "")

    def test_a_terminal_line_is_never_wider_than_the_terminal(self):
        for columns in (40, 80, 200):
            shown = self.on_a_terminal(columns, TERM="xterm").split("\r\033[K")
            self.assertTrue(any("building: [40/40]" in line for line in shown), shown)
            self.assertLess(max(map(len, shown)), columns, shown)
            self.assertEqual(shown[-1], "")  # nothing of it stays
            (self.played / "build" / ".rungs-ready").unlink()

    def test_a_dumb_terminal_gets_plain_lines(self):
        self.assertRegex(self.on_a_terminal(80, TERM="dumb"), r"^rungs: \d+:\d\d building\r\n$")

    def test_tests_are_built_for_the_tests_alone(self):
        self.play("ctest", "#!/bin/sh\necho ctest \"$@\"\n")
        done = self.start("test", "-R", "layers")
        if "missing:" in done.stderr:  # libraries of the tests: this machine has none, and they can't be done without
            self.assertEqual(done.returncode, 4)
            return
        self.assertIn("--target all tests/all\n", (self.played / "built").read_text())
        self.assertRegex(done.stdout, r"^ctest --test-dir \S+/build .*-R layers\n$")

    def test_a_failed_build_shows_the_end_of_the_log(self):
        self.play("cmake", CMAKE.replace("    exit\n", "    exit 1\n"))
        done = self.start("list")
        self.assertEqual(done.returncode, 4)
        self.assertIn("the build failed", done.stderr)
        self.assertIn("file_number_40.c.o", done.stderr)
        self.assertEqual(self.start("list").returncode, 4)  # and again: nothing says that it is ready

    def test_a_missing_package_is_named_and_how_to_get_it(self):
        tools = self.only("python3", "git", "grep", "sed", "find", "nproc")
        done = self.start("list", PATH=tools)
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertIn("installing what is missing on this machine", done.stderr)
        self.assertIn("apt-get not found", done.stderr)
        self.assertRegex(done.stderr, r"install with: apt-get update && apt-get install --no-install-recommends .*\bgcc\b.*ninja-build")
        self.assertEqual((self.played / "built").read_text(), "")

    @unittest.skipIf(os.getuid() == 0 and not shutil.which("setpriv"), "root, and no setpriv to become somebody else")
    def test_without_rights_it_says_which(self):
        self.play("apt-get", "#!/bin/sh\nexit 100\n")
        tools = self.only("python3", "git", "grep", "sed", "find", "nproc")
        other = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] if os.getuid() == 0 else []
        setpriv = shutil.which("setpriv")

        def as_other():
            command = [str(self.root / "rungs"), "list"]
            if other:
                command = [setpriv, *other[1:], *command]
            return subprocess.run(command, env=self.environment(PATH=tools), capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=60)

        (self.root / "build").mkdir()
        if other:
            done = as_other()
            self.assertEqual(done.returncode, 4)
            self.assertRegex(done.stderr, r"build belongs to root and you \(\S+\) cannot write there. Make a clone of your own: git clone /")
        (self.root / "build").chmod(0o777)
        self.assertIn("you are not root and there is no sudo", as_other().stderr)
        self.play("sudo", "#!/bin/sh\nexit 1\n")
        done = as_other()
        self.assertIn("sudo asks for a password and there is no terminal to ask on", done.stderr)
        self.assertEqual(done.returncode, 4)


if __name__ == "__main__":
    unittest.main(verbosity=2)
