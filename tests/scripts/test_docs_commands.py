"""Every command of the documentation works: each ./rungs line of README.md, CONTRIBUTING.md and docs/ is run by a shell, in a temporary
folder with the repository's examples and rows, and must end with the exit code that the text promises: 0, or what `# exit N: why` says.

Blocks are fenced with ```sh, or indented. Commands in running text are only parsed. RUNGS_TEST_FULL=1 also runs what takes minutes.
"""

import os
import re
import shlex
import shutil
import subprocess

import pytest

from program import FULL, RUNGS, SOURCE, needs_emulator

PAGES = {
    str(path.relative_to(SOURCE)): path.read_text()
    for pattern in ("README.md", "CONTRIBUTING.md", "docs/*.md", "docs/ops/*.md")
    for path in sorted(SOURCE.glob(pattern))
}
COMMAND = re.compile(r"(\./)?rungs ")
VERBS = set(
    "reproduce run score benchmark exec list sharpness judge merge report plot export compare ab bisect calibrate doctor new build".split()
)

# Not run here, and why; verb and options of each are parsed. The one that a page no longer has must leave this table too.
BUILDS = "builds the tree and runs ctest, which runs this"
AXPY = "needs the op that its page adds: test_adding_an_op.py runs it"
ELSEWHERE = "needs another commit: test_ab.py builds and compares two"
OWN = "a program of the reader's: test_program.py runs such"
NOT_RUN = {
    "./rungs try saxpy.cu": OWN,
    "./rungs try main.cu kernels.cu -I include -D N=64": OWN,
    "./rungs try mine.cu --op double 'n=10007' --variants cuda_naive --emulate": OWN,
    "./rungs compare before.jsonl after.jsonl": "needs a variant that was changed meanwhile",
    "./rungs test": BUILDS,
    "./rungs test -R format": BUILDS,
    "./rungs ab --base origin/main gate/kernels": ELSEWHERE,
    "./rungs ab --base origin/main published/rolling": ELSEWHERE,
    "./rungs bisect v1 HEAD 'rolling n=1e8 window=3000' --variants cuda_shared": ELSEWHERE,
    "./rungs ab OLD_PROGRAM NEW_PROGRAM published/rolling": "needs a second program, and minutes: test_ab.py",
    "./rungs calibrate published/rolling": "minutes: test_ab.py calibrates a smaller scenario",
    "./rungs run 'axpy n=1e5'": AXPY,
    "./rungs exec axpy/cpu_loop --in x=examples/data/x.npy --in y=examples/data/y.npy --set a=0.5 --out z=z.npy --check": AXPY,
}
# Run with RUNGS_TEST_FULL only.
SLOW = {
    "./rungs reproduce": "--budget 20s --out reproduced",
    "./rungs report --history results/": "--out HISTORY.md --figures figures",
    "./rungs report results/*.jsonl --html report.html": "--out REPORT.md --figures figures",
}
# Small enough for two cores without a GPU; a share of the cases, not a budget, so that a busy machine runs the same.
QUICK = "--emulate --quick --no-ceilings --no-counts"
SHARE = {"./rungs run smoke": "--shard 1/20"}


class Command:
    def __init__(self, page, line):
        self.page = page
        self.text, _, comment = (part.strip() for part in re.sub(r"\s+#", "\0", line, count=1).partition("\0"))
        promised = re.match(r"exit (\d+):", comment)
        self.code = int(promised[1]) if promised else 0
        self.words = shlex.split(self.text)[1:]

    def __str__(self):
        return f"{self.page}: {self.text}"


def blocks(page, text):
    """The commands of a page's blocks, whole lines of a shell."""
    fence, held = None, ""
    for line in text.split("\n"):
        marker = re.match(r"\s*```(\w*)", line)
        if marker:
            fence = marker[1] if fence is None else None
            continue
        line = held + line.strip() if held or fence is not None or line.startswith("    ") else ""
        held = ""
        if not COMMAND.match(line) or fence not in (None, "sh"):
            if line.startswith("./rungs "):
                raise ValueError(f"{page}: a block of commands is fenced with ```sh: {line}")
            continue
        if line.endswith("\\"):
            held = line[:-1]
        else:
            yield Command(page, line)


def in_text(page, text):
    """`rungs VERB ...` in running text, with its brackets and dots: to be parsed."""
    outside = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    for span in re.findall(r"(?<!`)`((?:\./)?rungs [^`]+)`(?!`)", outside):
        words = span.split()
        if words[1] in VERBS or words[1] == "test":
            yield Command(page, re.sub(r"\[|\]|\.\.\.", " ", span))


def start(command, folder, more):
    """By a shell, as a reader would. Rows and all that a command writes under a relative name land in the folder."""
    text = re.sub(r"^(\./)?rungs", '"$RUNGS"', command.text)
    return subprocess.run(
        ["bash", "-c", f"{text} {more}"],
        cwd=folder,
        env={**os.environ, "RUNGS": RUNGS, "TMPDIR": str(folder)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=600,
    )


def parse(command, folder):
    """Why verb and options do not parse, or None. --help comes last, so that every option before it has been read; text may name an option
    without its value."""
    if command.words[0] == "test":
        rest = [word for word in command.words[1:] if word != "--full"]
        if rest[:1] == ["-R"] and len(rest) == 2:
            known = rest[1] == "NAME" or any(
                re.search(rest[1], path.name) for path in (SOURCE / "tests").glob("*/test_*")
            )
            return None if known else f"{command}: no test matches"
        return f"{command}: not an option that the pages use" if rest else None
    for more in (["--help"], ["value", "--help"]):
        done = subprocess.run([RUNGS, *command.words, *more], cwd=folder, capture_output=True, text=True, timeout=60)
        if done.returncode == 0 and f"rungs {command.words[0]}" in done.stdout:
            return None
        if not command.words[-1].startswith("--"):
            break
    return f"{command}: exit {done.returncode}: {done.stdout}{done.stderr}"


def extra(command, number):
    if command.words[0] == "try":
        return "--no-sandbox"  # that is test_sandbox.py's
    if command.words[0] != "run":
        return ""
    out = "" if "--out" in command.words else f"--out rows-{number}.jsonl"
    return f"{QUICK} {SHARE.get(command.text, '')} {out}"


def lost(commands):
    """Entries of the tables that no page has."""
    return {*NOT_RUN, *SLOW} - {command.text for command in commands}


def run(command, folder, number=0):
    """What is wrong with the command once it has run, or None."""
    done = start(command, folder, SLOW.get(command.text) or extra(command, number))
    if done.returncode != command.code:
        return f"{command}: exit {done.returncode}, the text promises {command.code}\n{done.stdout}{done.stderr}"


COMMANDS = [command for page, text in PAGES.items() for command in blocks(page, text)]
TOLD = COMMANDS + [command for page, text in PAGES.items() for command in in_text(page, text)]
RUN = {}
for command in COMMANDS:
    if command.text not in NOT_RUN:
        RUN.setdefault(command.text, command)


@pytest.fixture(scope="module")
def workplace(shared_folder):
    """What a checkout has, where a command may write; and the two files of rows that docs/CI.md names. Some commands read what those before
    them on their page wrote."""
    folder = shared_folder
    shutil.copytree(SOURCE / "examples", folder / "examples")
    (folder / "results").mkdir()
    for path in (SOURCE / "results").glob("*.jsonl"):
        (folder / "results" / path.name).symlink_to(path)
    for name in ("base.jsonl", "new.jsonl"):
        shutil.copy(SOURCE / "tests/golden/rows.jsonl", folder / name)
    return folder


def test_tables_name_commands_of_pages():
    assert not lost(COMMANDS)


@pytest.mark.parametrize("page", PAGES)
def test_commands_parse(workplace, page):
    wrong = filter(None, (parse(command, workplace) for command in TOLD if command.page == page))
    assert not (told := "\n".join(wrong)), told


@needs_emulator
@pytest.mark.parametrize("number, command", list(enumerate(RUN.values())), ids=str)
def test_a_command_does_what_its_page_says(workplace, number, command):
    if command.text in SLOW and not FULL:
        pytest.skip("minutes: with --full")
    assert not (wrong := run(command, workplace, number)), wrong


def test_pages_have_commands():
    assert len(COMMANDS) >= 30


@pytest.mark.parametrize(
    "check, text",
    [
        (run, "    ./rungs list ops --jsom"),  # an unknown option
        (run, "```sh\n./rungs exec double/cpu_loop --in x=nowhere.npy --out y=y.npy\n```"),
        (run, "    ./rungs list ops    # exit 1: it does not"),
        (run, "    ./rungs list \\\n        opps"),
        (parse, "See `./rungs list --jsom`."),
        (parse, "    ./rungs test -R nonesuch"),
    ],
    ids=["option", "missing file", "promised failure", "continued line", "running text", "no such test"],
)
def test_a_broken_command_is_noticed(folder, check, text):
    (command,) = [*blocks("planted.md", text), *in_text("planted.md", text)]
    assert check(command, folder).startswith("planted.md: ")


def test_an_entry_of_a_table_without_its_command_is_noticed():
    assert "./rungs test" in lost(blocks("README.md", PAGES["README.md"].replace("./rungs test ", "make test ")))


def test_a_block_without_its_language_is_noticed():
    with pytest.raises(ValueError, match="fenced"):
        list(blocks("planted.md", "```\n./rungs list ops\n```"))


def test_the_data_of_the_examples_is_what_its_script_makes(folder):
    (folder / "made").mkdir()
    subprocess.run(
        [SOURCE / "cmake/python", SOURCE / "examples/data/make.py", folder / "made"], check=True, timeout=120
    )
    names = sorted(path.name for path in (folder / "made").iterdir())
    there = sorted(
        path.name
        for path in (SOURCE / "examples/data").iterdir()
        if path.suffix not in (".py", ".pyc") and path.name != "__pycache__"
    )
    assert names == there
    for name in names:
        if not name.endswith(".arrow"):  # its bytes are pyarrow's, of one version
            assert (folder / "made" / name).read_bytes() == (SOURCE / "examples/data" / name).read_bytes()
