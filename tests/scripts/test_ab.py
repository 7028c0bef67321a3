"""`rungs ab` and `rungs calibrate`: order, number and circumstances of the processes, with programs whose speed is known; and, with the
program itself, that real rows get through. Nothing here depends on how fast this machine is."""

import fcntl
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import time
import uuid

import pytest
from program import BUILD, HAS_GPU, RELEASE, SOURCE, call, rows_of
from stand_in import stand_in

pytest.importorskip("scipy")


class Programs:
    def __init__(self, folder):
        self.folder = folder

    def program(self, name, factor=1.0, fails=False, help="--out --no-ceilings --no-counts"):
        return stand_in(self.folder / name, self.folder / "diary", factor, fails, help)

    def choosy(self, name, *refused, help="--out --skip-unknown"):
        """A program that does not know some words, and leaves them out as rungs does."""
        path = self.program(name, help=help)
        path.write_text(
            path.read_text().replace(
                "out = pathlib",
                f"""for word in filter({list(refused)!r}.__contains__, words):
    print(f"left out: {{word}}\\n    no op in {{word}}")
    if "--skip-unknown" not in words or all(w in {list(refused)!r} for w in words[1:words.index("--out")]):
        sys.exit(print("supports none of the requested cases") or 2)
out = pathlib""",
                1,
            )
        )
        return path

    def diary(self):
        return [json.loads(line) for line in (self.folder / "diary").read_text().splitlines()]

    def ab(self, *words, code):
        stage = () if "--second-stage" in words else ("--second-stage", "0s")
        done = call("ab", *words, *stage, "--out", self.folder / "out")
        assert done.returncode == code, done.stdout + done.stderr
        return done


@pytest.fixture
def programs(folder):
    return Programs(folder)


def test_slower_build_is_found(programs):
    done = programs.ab(
        programs.program("base"),
        programs.program("new", 1.05),
        "smoke/rolling",
        "--seed",
        4,
        "--quick",
        "--variants",
        "cuda_*",
        "--json",
        programs.folder / "c.json",
        code=1,
    )
    told = json.loads((programs.folder / "c.json").read_text())
    assert (told["counts"]["slower"], told["counts"]["same"]) == (1, 4), done.stdout
    assert "window=30 " in told["comparisons"][0]["case"]
    assert "5 comparisons: 1 slower, 4 same" in done.stdout
    for line in programs.diary():
        assert line[1:3] == ["run", str(SOURCE / "scenarios/smoke/rolling.yaml")]
        assert re.fullmatch(r"--out /proc/self/fd/\d+", " ".join(line[3:5]))
        assert line[5:9] == ["--variants", "cuda_*", "--quick", "--no-ceilings"] and line[9:] in ([], ["--no-counts"])
    counted = [line[0] for line in programs.diary() if "--no-counts" not in line]
    assert sorted(counted) == ["base", "new"], "one process of each: what the builds changed"


def test_equal_builds_pass_and_may_go_on(programs):
    same = programs.program("same")
    programs.ab(same, same, "smoke/rolling", "--seed", 1, "--repetitions", 9, code=0)
    for name in ("base", "new"):
        assert len(rows_of(programs.folder / f"out/{name}.jsonl", "environment")) == 9
    programs.ab(same, same, "smoke/rolling", "--seed", 2, "--repetitions", 9, code=0)
    assert len(rows_of(programs.folder / "out/new.jsonl", "environment")) == 18


def test_second_stage(programs):
    """One row scatters by 3% and is 6% slower: the first stage leaves it ambiguous, the second runs its variant again and finds it. The
    rows say which stage they are of, so that `compare` alone comes to the same verdict; a budget that is too small leaves it at that."""
    for name, factor in (("base", 1), ("new", 1.06)):
        path = programs.program(name, factor)
        path.write_text(
            path.read_text()
            .replace(
                "rows = [",
                """if "--variants" in words and words[words.index("--variants") + 1] != "rolling/cuda_shared":
    sys.exit(print("no such variant") or 2)
scatter = random.Random(len(lines)).lognormvariate(0, 0.03)
rows = [""",
                1,
            )
            .replace(f"({float(factor)} if", f"({factor} * scatter if")
            .replace(f"({factor} if", f"({factor} * scatter if")
        )
    words = (
        programs.folder / "base",
        programs.folder / "new",
        "smoke/rolling",
        "--seed",
        3,
        "--json",
        programs.folder / "c.json",
    )
    done = programs.ab(*words, "--second-stage", "0.01s", code=0)
    assert re.search(
        r"no second stage: 1 ambiguous row that seems slower would take \d+ s or more \(20 processes of each build, \S+ s to start one\), "
        r"longer than 0 s; --second-stage \d+s has time for it",
        done.stderr,
    )
    assert ["--budget" in line for line in programs.diary()] == [False] * 20 + [True] * 2, "the start was measured"
    shutil.rmtree(programs.folder / "out")
    (programs.folder / "diary").unlink()
    done = programs.ab(*words, "--second-stage", "10m", code=1)
    assert re.search(
        r"second stage: 1 ambiguous rows seem slower; 20 more processes of each build, about \d+ min \d\d s",
        done.stderr,
    )
    assert re.search(r"process 3 of 20, seed 3, stage 1 of 2, about \d+ (s|min) left", done.stderr)
    told = json.loads((programs.folder / "c.json").read_text())["comparisons"]
    assert [(c["verdict"], c["base_processes"], c["stage"]) for c in told if "window=30 " in c["case"]] == [
        ("slower", 30, 2)
    ]
    assert [line.count("--variants") for line in programs.diary()] == [0] * 22 + [1] * 40
    again = call("compare", programs.folder / "out/base.jsonl", programs.folder / "out/new.jsonl")
    assert (again.returncode, again.stdout.splitlines()[1].split()[0]) == (1, "slower")


def test_interrupted(programs):
    """What the interrupted process left is removed, and the message says where the rest is."""
    slow = programs.program("slow")
    slow.write_text(
        slow.read_text().replace(
            "out = pathlib",
            "if len(lines) >= 3: import time; open(words[words.index('--out') + 1], 'a').write('{}'); "
            "time.sleep(60)\nout = pathlib",
            1,
        )
    )
    ab = subprocess.Popen(
        [os.environ["RUNGS"], "ab", slow, slow, "smoke/rolling", "--seed", "1", "--out", programs.folder / "out"],
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    for line in ab.stderr:
        if "process 4 of" in line:
            time.sleep(1)
            ab.send_signal(signal.SIGINT)
            break
    _, errors = ab.communicate(timeout=60)
    assert ab.returncode == 130, errors
    assert f"rungs ab: interrupted; rows of the processes that ended are in {programs.folder}/out" in errors
    assert sum(len(rows_of(path, "environment")) for path in (programs.folder / "out").glob("*.jsonl")) == 3


def test_rows_removed_between_two_processes(programs):
    """A process of NEW does it to the file of BASE; the next process of BASE must not begin a new one as if nothing had been there."""
    rows = f"pathlib.Path({str(programs.folder / 'out/base.jsonl')!r})"
    for deed, words, kept in (
        (f"{rows}.unlink()", r"base\.jsonl: was removed .* they are saved in (\S+)$", True),
        (f"{rows}.rename({str(programs.folder / 'moved')!r})", r"base\.jsonl: was moved .* they are in (\S+)$", True),
        (
            f"({rows}.unlink(), {rows}.write_text(''))",
            r"base\.jsonl: was removed .* they are saved in (\S+)$",
            True,
        ),
        (f"os.truncate({rows}, 10)", r"base\.jsonl: was cut from \d+ to 10 bytes", False),
    ):
        new = programs.program("new")
        new.write_text(new.read_text() + f"if len(lines) >= 7 and {rows}.exists(): {deed}\n")
        done = programs.ab(programs.program("base"), new, "smoke/rolling", "--seed", 1, code=4)
        found = re.search(words, done.stderr, re.M)
        assert found, done.stderr
        if kept:
            processes = [line[0] for line in programs.diary() if "0.000001" not in line]
            assert len(rows_of(found[1], "environment")) == processes.count("base"), deed
        shutil.rmtree(programs.folder / "out")
        (programs.folder / "diary").unlink()


def test_a_commit_made_meanwhile(programs):
    """The programs stay what they were: their rows are compared, and the new label is told of."""
    path = programs.program("same")
    path.write_text(
        path.read_text().replace(
            'environment["variables"]',
            'environment["commit"] = ("d" if len(lines) < 9 else "e") * 40\nenvironment["variables"]',
            1,
        )
    )
    done = programs.ab(path, path, "smoke/rolling", "--seed", 1, "--repetitions", 9, code=0)
    assert re.search("commit changed while .* dddddddddddd, eeeeeeeeeeee", done.stdout)


def test_rows_of_another_commit_are_noticed_first(programs):
    """Not after an hour of measuring, and they stay what they were."""
    base, new = programs.program("base"), programs.program("new")
    programs.ab(base, new, "smoke/rolling", "--seed", 1, "--repetitions", 9, code=0)
    before = (programs.folder / "out/new.jsonl").read_text()
    (programs.folder / "diary").unlink()
    new.write_text(
        new.read_text().replace(
            'environment["variables"]', f'environment["commit"] = "{"b" * 40}"\nenvironment["variables"]'
        )
    )
    done = programs.ab(base, new, "smoke/rolling", "--seed", 1, "--repetitions", 9, code=2)
    assert re.search(r"out/new\.jsonl holds rows of [0-9a-f]{12}, but new is b{12}", done.stderr)
    assert all("--budget" in line for line in programs.diary()), "only asked for their commits"
    assert (programs.folder / "out/new.jsonl").read_text() == before
    assert {path.name for path in (programs.folder / "out").iterdir()} == {"base.jsonl", "new.jsonl"}


def test_order_is_random_seeded_and_recorded(programs):
    orders, sessions = {}, set()
    for seed in (1, 1, 2):
        shutil.rmtree(programs.folder / "out", ignore_errors=True)
        (programs.folder / "diary").unlink(missing_ok=True)
        programs.ab(
            programs.program("base"), programs.program("new"), "x=1 y", "--seed", seed, "--repetitions", 9, code=0
        )
        order = tuple(line[0] for line in programs.diary())
        assert (order.count("base"), order.count("new")) == (9, 9)
        assert orders.setdefault(seed, order) == order
        for name in ("base", "new"):
            stamps = [e["ab"] for e in rows_of(programs.folder / f"out/{name}.jsonl", "environment")]
            assert [(s["side"], s["process"], s["of"], s["seed"], s["stage"], s["stages"]) for s in stamps] == [
                (name, i + 1, 18, seed, 1, 1) for i, side in enumerate(order) if side == name
            ]
            sessions |= {s["session"] for s in stamps}
    assert (len(set(orders.values())), len(sessions)) == (2, 3), "one session a call, whatever its seed"
    assert all(order != ("base",) * 9 + ("new",) * 9 for order in orders.values())


def test_an_older_build_does_not_know_the_options_of_today(programs):
    programs.ab(
        programs.program("base", help="--out --quick"),
        programs.program("new"),
        "smoke/rolling",
        "--seed",
        1,
        "--repetitions",
        9,
        code=0,
    )
    for line in programs.diary():
        assert ("--no-ceilings" in line) == (line[0] == "new")


def test_a_folder_is_one_list_for_both(programs):
    """Its files, as they are in this checkout: a worktree of another commit may hold others below that name."""
    programs.ab(
        programs.program("base"),
        programs.program("new"),
        "smoke",
        "gate/kernels",
        "--seed",
        1,
        "--repetitions",
        9,
        code=0,
    )
    files = [str(path) for path in sorted((SOURCE / "scenarios/smoke").rglob("*.yaml"))] + [
        str(SOURCE / "scenarios/gate/kernels.yaml")
    ]
    for line in programs.diary():
        assert line[2 : line.index("--out")] == files


def test_what_one_build_does_not_know_is_told_of(programs):
    """It leaves it out; the other runs it. Both are asked before the first process."""
    done = programs.ab(
        programs.choosy("base", "strange n=3"),
        programs.choosy("new"),
        "strange n=3",
        "smoke/rolling",
        "--seed",
        1,
        "--repetitions",
        9,
        code=0,
    )
    assert (
        "base does not know this and leaves it out; only new runs it: strange n=3\n    no op in strange n=3\n"
        in done.stderr
    )
    assert [(line[0], "--budget" in line) for line in programs.diary()][:2] == [("base", True), ("new", True)]
    assert all("--skip-unknown" in line for line in programs.diary())
    for name in ("base", "new"):
        assert len(rows_of(programs.folder / f"out/{name}.jsonl", "environment")) == 9
    assert {path.name for path in (programs.folder / "out").iterdir()} == {"base.jsonl", "new.jsonl"}


def test_what_no_build_knows_is_an_error(programs):
    base, new = programs.choosy("base", "strange n=3"), programs.choosy("new", "strange n=3", "novel n=3")
    assert (
        "neither build runs strange n=3: no op in strange n=3"
        in programs.ab(base, new, "strange n=3", "x=1 y", "--seed", 1, code=2).stderr
    )
    assert "supports none of the requested cases" in programs.ab(base, new, "novel n=3", "--seed", 1, code=2).stderr
    old = programs.choosy("old", "novel n=3", help="--out")
    assert "no op in novel n=3" in programs.ab(old, base, "novel n=3", "x=1 y", "--seed", 1, code=2).stderr


def test_skip_unknown(programs):
    """The planner leaves out cases, suites and patterns that it does not know, says so, and runs the rest; claims are about all of it."""
    scenario, rows = programs.folder / "mixed.yaml", programs.folder / "rows.jsonl"
    suites = "".join(
        f"  - {{op: {op}, axes: {{n: [{n}]}}, variants: [{variant}]}}\n"
        for op, n, variant in (
            ("double", 5, "cpu_loop"),
            ("novel", 5, "cpu_loop"),
            ("double", 5, "cpu_novel"),
            ("double", "x", "cpu_loop"),
            ("double", 6, "cpu_loop"),
        )
    )
    scenario.write_text(f"title: t\nsuites:\n{suites}claims: nonsense\n")
    words = ("run", scenario, "novel n=3", "double n=7", "--verify-only", "--no-ceilings", "--out", rows)
    assert call(*words).returncode == 2
    done = call(*words, "--skip-unknown", "--variants", "cpu_loop,cpu_other")
    assert done.returncode == 0, done.stderr
    told = [line.removeprefix("left out: ") for line in done.stderr.splitlines() if line.startswith("left out: ")]
    assert told == [*(f"{scenario}, suite {k}" for k in (2, 3, 4)), "novel n=3", "cpu_other"]
    assert re.search(rf"suite 2\n    {scenario}:4:\d+: .*novel", done.stderr)
    assert [row["params"]["n"] for row in rows_of(rows)] == [5, 6, 7]
    done = call("run", "novel n=3", "--skip-unknown", "--out", rows)
    assert (done.returncode, "supports none of the requested cases" in done.stderr) == (2, True), done.stderr


def test_bad_words_and_programs(programs):
    base, new = programs.program("base"), programs.program("new")
    assert "at least 9 are needed" in programs.ab(base, new, "smoke/rolling", "--repetitions", 8, code=2).stderr
    assert "two programs" in programs.ab(base, "smoke/rolling", code=2).stderr
    assert "cannot be started" in programs.ab(base, programs.folder / "none", "smoke/rolling", code=4).stderr
    for other in ("false", "true"):
        assert "is it a rungs program?" in programs.ab(base, shutil.which(other), "smoke/rolling", code=2).stderr
    assert not (programs.folder / "diary").exists(), "nothing runs before all is known to be there"
    assert "is not a commit" in programs.ab("--base", "no-such-ref", "smoke/rolling", code=2).stderr


@pytest.mark.skipif(HAS_GPU, reason="needs a machine without a GPU")
def test_nothing_to_time_is_told_first(programs):
    """Before anything runs; rows that do have times are compared all the same."""
    rungs = os.environ["RUNGS"]
    words = ("rolling n=1000 window=3", "--repetitions", 9)
    done = programs.ab(rungs, rungs, *words, "--variants", "peer_cupy", code=3)
    assert re.search(r"^rungs ab: nothing would be timed: 1 of 1 rows need a GPU: .+\n$", done.stderr)
    assert list((programs.folder / "out").glob("*.jsonl")) == [], "no process ran"
    done = call("calibrate", *words, "--variants", "peer_cupy")
    assert done.returncode == 3, done.stderr
    assert "rungs calibrate: nothing would be timed" in done.stderr
    programs.ab(
        programs.program("base"), programs.program("new"), *words, "--seed", 1, "--variants", "peer_cupy", code=0
    )  # no rungs: they may know better


def test_a_build_that_breaks_ends_it(programs):
    done = programs.ab(
        programs.program("base"), programs.program("new", fails=True), "smoke/rolling", "--seed", 1, code=4
    )
    assert "new: " in done.stderr
    assert "a bad day" in done.stderr
    assert done.stdout == ""
    assert [line[0] for line in programs.diary()].count("new") == 1


def test_calibrate(programs):
    """This build against itself, on a case that takes no time; what it writes is what compare takes."""
    if not RELEASE:
        pytest.skip("only release builds take times")
    noise = programs.folder / "noise.json"
    words = ("double n=1000", "--variants", "cpu_loop", "--quick")
    done = call("calibrate", *words, "--repetitions", 9, "--out", noise)
    assert done.returncode == 0, done.stderr
    told = json.loads(noise.read_text())
    assert "hot" in {row["mode"] for row in told["rows"]}
    assert all(row["processes"] == 9 and row["spread"] > 0 for row in told["rows"]), told
    assert os.uname().nodename not in noise.read_text()
    rows = programs.folder / "rows.jsonl"
    call("run", *words, "--no-ceilings", "--out", rows)
    assert rows_of(rows, "ceilings") == []
    done = call("compare", rows, rows, "--noise", noise)
    assert done.returncode == 0, done.stdout + done.stderr
    done = call("calibrate", *words, "--repetitions", 9)
    default = pathlib.Path(done.stdout.splitlines()[-1].removeprefix("noise: "))
    assert default.parent == BUILD / "noise"
    assert "at least 9 are needed" in call("calibrate", *words, "--repetitions", 8).stderr


def test_ab_of_this_build(programs):
    """Real rows: every process is one run with its own environment, and the files are whole."""
    if not RELEASE:
        pytest.skip("only release builds take times")
    rungs = os.environ["RUNGS"]
    done = call(
        "ab",
        rungs,
        rungs,
        "double n=1000",
        "--variants",
        "cpu_loop",
        "--quick",
        "--repetitions",
        9,
        "--second-stage",
        "0s",
        "--out",
        programs.folder / "out",
        "--json",
        programs.folder / "c.json",
        env={**os.environ, "RUNGS_COMMIT": "c" * 40},
    )  # somebody may commit meanwhile
    assert done.returncode in (0, 1), done.stderr
    told = json.loads((programs.folder / "c.json").read_text())
    assert len(told["comparisons"]) >= 2
    assert all(c["base_processes"] == c["new_processes"] == 9 for c in told["comparisons"]), told
    assert {c["mode"]: c["judged_by"] for c in told["comparisons"] if c["mode"] in ("cold", "hot")} == {
        "cold": "code",
        "hot": "code",
    }
    assert all(c["judged_by"] == "code" or c["tested_on"] == "processes" for c in told["comparisons"]), told


class Source:
    """cmake/build_ref.sh in a small repository, with a cmake that only notes how it was called."""

    def __init__(self, folder):
        self.root = folder
        self.repository, self.tools, self.own = (self.root / name for name in ("repository", "tools", "own"))
        for path in (self.repository, self.tools, self.own):
            path.mkdir(parents=True)
        (self.own / "CMakeCache.txt").write_text("RUNGS_CUDA:BOOL=OFF\nCMAKE_C_COMPILER:FILEPATH=/usr/bin/my cc\n")
        (self.tools / "cmake").write_text(f"""#!/bin/sh
echo "$@" >> {self.root}/calls
if [ -e {self.root}/broken ]; then echo "no rule to make rungs"; exit 1; fi
if [ "$1" = --build ]; then mkdir -p "$2/bin" && cp "$2/../../version" "$2/bin/kernels"; fi
""")
        (self.tools / "cmake").chmod(0o755)
        self.git("init", "-q")

    def git(self, *words):
        return subprocess.run(
            ["git", "-C", self.repository, "-c", "user.name=t", "-c", "user.email=t@t", *words],
            check=True,
            capture_output=True,
            text=True,
        ).stdout.strip()

    def commit(self, *versions):
        for version in versions:
            (self.repository / "version").write_text(version)
            self.git("add", ".")
            self.git("commit", "-q", "-m", version)

    def build(self, ref, **variables):
        return subprocess.run(
            [SOURCE / "cmake/build_ref.sh", self.repository, "kernels", ref, self.root / "builds", self.own],
            capture_output=True,
            text=True,
            env={**os.environ, "PATH": f"{self.tools}:{os.environ['PATH']}", **variables},
        )

    def built(self, ref, **variables):
        done = self.build(ref, **variables)
        assert done.returncode == 0, done.stdout + done.stderr
        return pathlib.Path(done.stdout.strip())

    def there(self):
        """What the programs say that are there, however the files beside them are called."""
        return sorted(path.read_text() for path in (self.root / "builds").glob("*/build/release/bin/kernels"))


@pytest.fixture
def source(folder):
    return Source(folder)


def test_worktree(source):
    source.commit("one", "two")
    for ref, version in (("HEAD~1", "one"), ("HEAD", "two"), ("HEAD~1", "one")):
        assert source.built(ref).read_text() == version
    calls = (source.root / "calls").read_text()
    assert "-DRUNGS_CUDA=OFF -DCMAKE_C_COMPILER=/usr/bin/my cc" in calls
    assert "--target kernels" in calls
    assert len(source.git("worktree", "list").splitlines()) == 3, "the worktree of a commit is kept"
    tree = next(
        path
        for path in (source.root / "builds").iterdir()
        if (path / "version").exists() and (path / "version").read_text() == "two"
    )
    (tree / "version").unlink()
    pathlib.Path(f"{tree}.whole").unlink()
    assert (source.build("HEAD").returncode, (tree / "version").read_text()) == (0, "two"), (
        "a checkout that was cut off is made anew"
    )
    assert source.build("nonsense").returncode == 2
    (source.root / "broken").touch()
    done = source.build("HEAD")
    assert done.returncode == 1
    assert re.search(r"^[0-9a-f]{12} does not compile: no rule to make rungs; the log is \S+\n$", done.stdout)


def test_only_the_last_used_are_kept(source):
    """Of seven commits, as many pushes make them: the disk does not fill. What git and the folder hold of the others goes, too."""
    source.commit(*"abcdefg")
    for back in (6, 5, 4, 3):
        source.built(f"HEAD~{back}")
    source.built("HEAD~6")  # the oldest has been used again
    source.built("HEAD~2")
    assert source.there() == ["a", "c", "d", "e"]
    assert len(source.git("worktree", "list").splitlines()) == 5
    assert len([path for path in (source.root / "builds").iterdir() if path.suffix == ".lock"]) == 4
    assert source.built("HEAD~5").read_text() == "b", "what was removed can be built again"
    source.built("HEAD", RUNGS_AB_BUILDS="2")
    assert source.there() == ["b", "g"]
    assert "a number of at least 1" in source.build("HEAD", RUNGS_AB_BUILDS="none").stdout


def test_what_is_in_use_is_not_removed(source):
    source.commit(*"abc")
    with open(source.built("HEAD~2")) as measured:
        fcntl.flock(measured, fcntl.LOCK_SH)  # as rungs ab does until it ends
        source.built("HEAD~1", RUNGS_AB_BUILDS="1")
        assert source.there() == ["a", "b"]
        with open(f"{source.built('HEAD~1').parents[3]}.lock") as building:
            fcntl.flock(building, fcntl.LOCK_EX)
            source.built("HEAD", RUNGS_AB_BUILDS="1")
            assert source.there() == ["a", "b", "c"]
    source.built("HEAD", RUNGS_AB_BUILDS="1")
    assert source.there() == ["c"]


needs_repository = pytest.mark.skipif(not (SOURCE / ".git").exists(), reason="takes commits: a repository")


class TwoCommits(Programs):
    """`rungs ab --base`, with a git that knows two commits and a cmake that makes programs of known speed."""

    def __init__(self, folder):
        super().__init__(folder)
        self.commits = {"before": uuid.uuid4().hex + "0" * 8, "HEAD": uuid.uuid4().hex + "0" * 8}
        (self.folder / "changes").write_text("")
        self.tools = self.folder / "tools"
        self.tools.mkdir()
        self.tool(
            "git",
            f"""words="$*"
case $words in
*"before^{{commit}}" | *{self.commits["before"]}"^{{commit}}") echo {self.commits["before"]} ;;
*{self.commits["HEAD"]}"^{{commit}}") echo {self.commits["HEAD"]} ;;
*"rev-parse --verify"*) if [ -e {self.folder}/moved ]; then echo {"c" * 40}; else echo {self.commits["HEAD"]}; fi ;;
*"worktree add"*) for word; do before=$tree tree=$word; done; mkdir -p "$before" && touch "$before/.git" ;;
*" status "*) cat {self.folder}/changes ;;
esac""",
        )
        self.tool(
            "cmake",
            f"""if [ "$1" = --build ]; then
    case $2 in *{self.commits["HEAD"][:12]}*) name=new ;; *) name=base ;; esac
    echo "$name" >>{self.folder}/built
    if [ -e {self.folder}/moves ]; then touch {self.folder}/moved; fi
    mkdir -p "$2/bin" && cp {self.folder}/$name "$2/bin/rungs"
fi""",
        )
        self.program("base")
        self.program("new")

    def tool(self, name, text):
        (self.tools / name).write_text(f"#!/bin/sh\n{text}\n")
        (self.tools / name).chmod(0o755)

    def remove_builds(self):
        for commit in self.commits.values():
            for path in (BUILD / "ab/builds").glob(commit[:12] + "*"):
                shutil.rmtree(path) if path.is_dir() else path.unlink()

    def words(self, *words):
        return [
            os.environ["RUNGS"],
            "ab",
            *words,
            "smoke/rolling",
            "--seed",
            "1",
            "--repetitions",
            "9",
            "--second-stage",
            "0s",
            "--out",
            self.folder / "out",
        ]

    def variables(self):
        return {
            **os.environ,
            "PATH": f"{self.tools}:{os.environ['PATH']}",
            "RUNGS_AB_BUILDS": "100",
        }  # the builds of others stay

    def commits_compared(self, *words):
        done = subprocess.run(self.words(*words), capture_output=True, text=True, env=self.variables())
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stderr


@pytest.fixture
def both(folder):
    made = TwoCommits(folder)
    yield made
    made.remove_builds()


@needs_repository
def test_what_is_not_measured_is_told_of(both):
    assert "warning" not in both.commits_compared("--base", "before")
    assert {line[0] for line in both.diary()} == {"base", "new"}
    (both.folder / "changes").write_text(" M impls/op/cuda_a.cu\n M impls/op/cuda_b.cu\n")
    assert "uncommitted changes ( M impls/op/cuda_a.cu, ...) are in neither build" in both.commits_compared(
        "--base", "before"
    )
    assert "warning" not in both.commits_compared("--base", "before", "--new", both.commits["HEAD"])


@needs_repository
@pytest.mark.skipif(HAS_GPU, reason="needs a machine without a GPU")
def test_nothing_to_time_is_told_before_the_builds(both):
    cuda = any(variant["backend"] == "cuda" for variant in json.loads(call("list", "variants", "--json").stdout))
    for what, options in [
        ("rolling n=1000 window=3", ("--variants", "peer_cupy")),
        *([("gate/kernels", ())] if cuda else []),
    ]:
        words = [what if word == "smoke/rolling" else word for word in both.words("--base", "before", *options)]
        done = subprocess.run(words, capture_output=True, text=True, env=both.variables())
        assert done.returncode == 3, done.stdout + done.stderr
        assert "nothing would be timed" in done.stderr
        assert not (both.folder / "built").exists(), "nothing was built"


@needs_repository
def test_a_commit_against_itself_is_told_of(both):
    """Also where somebody commits while the first is being built."""
    (both.folder / "moves").touch()
    assert "BASE and NEW are the same commit" in both.commits_compared("--base", "HEAD")


@needs_repository
def test_builds_do_not_wait_for_the_lock(both):
    lock = both.folder / "lock"
    with open(lock, "w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        ab = subprocess.Popen(
            both.words("--base", "before", "--lock", lock),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=both.variables(),
        )
        for line in ab.stderr:
            if "waiting for" in line:
                break
        assert (both.folder / "built").read_text().split() == ["base", "new"]
        assert not (both.folder / "diary").exists(), "somebody else measures"
    out, errors = ab.communicate(timeout=120)
    assert ab.returncode == 0, out + errors
    assert len(both.diary()) == 18
