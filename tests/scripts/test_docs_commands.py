"""Every command of the documentation works: each ./rungs line of README.md, CONTRIBUTING.md and docs/ is run by a shell, in a temporary
folder with the repository's examples and rows, and must end with the exit code that the text promises: 0, or what `# exit N: why` says.

Blocks are fenced with ```sh, or indented. Commands in running text are only parsed. RUNGS_TEST_FULL=1 also runs what takes minutes.
"""

import os
import pathlib
import re
import shlex
import shutil
import subprocess
import tempfile
import time

from program import EMULATOR, RUNGS, SOURCE, expect

PAGES = ["README.md", "CONTRIBUTING.md", "docs/*.md", "docs/ops/*.md"]
FULL = bool(os.environ.get("RUNGS_TEST_FULL"))
COMMAND = re.compile(r"(\./)?rungs ")
VERBS = set(
    "reproduce run benchmark exec list judge merge report plot export compare ab calibrate doctor new build".split()
)

# Not run here, and why; verb and options of each are parsed. The one that a page no longer has must leave this table too.
BUILDS = "builds the tree and runs ctest, which runs this"
AXPY = "needs the op that its page adds: test_adding_an_op.py runs it"
ELSEWHERE = "needs another commit: test_ab.py builds and compares two"
NOT_RUN = {
    "./rungs test": BUILDS,
    "./rungs test -R format": BUILDS,
    "./rungs run 'redact rows=6e5' --variants 'cuda_*' --timeline t.json": "needs a GPU: tests/gpu/check.sh",
    "./rungs ab --base origin/main gate/kernels": ELSEWHERE,
    "./rungs ab --base origin/main published/rolling": ELSEWHERE,
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
    if command.words[0] != "run":
        return ""
    out = "" if "--out" in command.words else f"--out rows-{number}.jsonl"
    return f"{QUICK} {SHARE.get(command.text, '')} {out}"


def check(pages, folder, run=True):
    """Everything that is wrong with the commands of these pages."""
    commands = [command for page, text in pages.items() for command in blocks(page, text)]
    problems = [
        f"{text}: in the table of this test, on no page"
        for text in [*NOT_RUN, *SLOW]
        if text not in {c.text for c in commands}
    ]
    told = [*commands, *(command for page, text in pages.items() for command in in_text(page, text))]
    problems += [problem for problem in (parse(command, folder) for command in told) if problem]
    seen = set()
    for number, command in enumerate(commands if run else []):
        if command.text in NOT_RUN or command.text in seen or (command.text in SLOW and not FULL):
            continue
        seen.add(command.text)
        begin = time.monotonic()
        done = start(command, folder, SLOW.get(command.text) or extra(command, number))
        if done.returncode != command.code:
            problems.append(
                f"{command}: exit {done.returncode}, the text promises {command.code}\n{done.stdout}{done.stderr}"
            )
        else:
            print(f"ok   {command} ({time.monotonic() - begin:.1f} s)", flush=True)
    return problems


def prepare(folder):
    """What a checkout has, where a command may write; and the two files of rows that docs/CI.md names."""
    shutil.copytree(SOURCE / "examples", folder / "examples")
    (folder / "results").mkdir()
    for path in (SOURCE / "results").glob("*.jsonl"):
        (folder / "results" / path.name).symlink_to(path)
    for name in ("base.jsonl", "new.jsonl"):
        shutil.copy(SOURCE / "tests/golden/rows.jsonl", folder / name)


def planted(pages, folder):
    """Each kind of broken command is noticed."""
    page = pages["README.md"]
    for what, text in {
        "unknown option": "    ./rungs list ops --jsom",
        "missing file": "```sh\n./rungs exec double/cpu_loop --in x=nowhere.npy --out y=y.npy\n```",
        "promised failure that succeeds": "    ./rungs list ops    # exit 1: it does not",
        "continued line": "    ./rungs list \\\n        opps",
        "unknown verb in running text": "See `./rungs list --jsom`.",
        "test that no file has": "    ./rungs test -R nonesuch",
    }.items():
        problems = [p for p in check({"planted.md": text}, folder) if "on no page" not in p]
        expect(problems and all(p.startswith("planted.md: ") for p in problems), f"planted: {what}")
    lost = page.replace("./rungs test ", "make test ")
    expect(
        any(p.startswith("./rungs test:") for p in check({"README.md": lost}, folder, run=False)),
        "planted: an entry of the table without its command",
    )
    try:
        check({"planted.md": "```\n./rungs list ops\n```"}, folder)
    except ValueError:
        print("ok   planted: a block without its language")
    else:
        raise SystemExit("BAD  a block without its language was not noticed")


def data(folder):
    """examples/data/ is what its script makes."""
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
    expect(names == there, f"examples/data/ has what make.py makes: {', '.join(names)}")
    for name in names:
        if not name.endswith(".arrow"):  # its bytes are pyarrow's, of one version
            expect(
                (folder / "made" / name).read_bytes() == (SOURCE / "examples/data" / name).read_bytes(),
                f"{name} is as make.py makes it",
            )


def main():
    pages = {
        str(path.relative_to(SOURCE)): path.read_text() for pattern in PAGES for path in sorted(SOURCE.glob(pattern))
    }
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name).resolve()
        prepare(folder)
        data(folder)
        planted(pages, folder)
        if not EMULATOR:
            print("SKIP: this build has no emulator, which the commands use without a GPU")
            raise SystemExit(77)
        commands = [command for page, text in pages.items() for command in blocks(page, text)]
        expect(len(commands) >= 30, f"{len(commands)} commands in blocks")
        problems = check(pages, folder)
        expect(
            not problems,
            f"every command does what its page says{''.join(f'{chr(10)}BAD  {problem}' for problem in problems)}",
        )


if __name__ == "__main__":
    main()
