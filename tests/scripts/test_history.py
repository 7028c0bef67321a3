"""`rungs report --history` on histories whose changes are known, and on some that have none: what is marked, in which order, for which machine."""

import base64
import gzip
import itertools
import json
import math
import os
import random
import re
import shutil
import subprocess
import sys
import time
from unittest import mock

import pytest
import numpy
from compare_rows import Machine
from program import BUILD, RUNGS, SOURCE, call, rows_of, needs_release

pytest.importorskip("ruptures")
from report_page import drawn

from analysis.history import __main__ as history
from analysis.history import changes, commits
from analysis.history.series import Point, Series, in_order


def commit(number):
    return f"{(number + 1) * 2654435761 % 2**32:08x}" * 5


class Results:
    def __init__(self, folder):
        self.folder = folder
        (self.folder / "results").mkdir()

    def runs(
        self,
        count,
        level,
        seed=1,
        name="runs",
        windows=(10,),
        commit=commit,
        date=lambda i: f"2026-{3 + i // 28:02d}-{1 + i % 28:02d}T00:00:00Z",
        mhz=lambda i: 1980.0,
        **gpu,
    ):
        """One run for each commit; level(i, window): its time as a factor."""
        machine, lines = Machine(seed), []
        for i in range(count):
            environment = machine.environment(**gpu)
            environment.update(commit=commit(i), dirty=False, date=date(i))
            lines += [
                environment,
                *(machine.row(environment["run"], window=w, seconds=1e-3 * level(i, w), mhz=mhz(i)) for w in windows),
            ]
        (self.folder / f"results/{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))

    def report(self, code=0):
        """By the program; in this process where the page alone is looked at, for starting it takes longer than a page."""
        out = self.folder / "HISTORY.md"
        done = call("report", "--history", self.folder / "results", "--out", out, "--figures", self.folder / "figures")
        assert done.returncode == code, done.stdout + done.stderr
        assert "Traceback" not in done.stderr
        self.text = out.read_text() if code == 0 else done.stderr
        return self.text

    def page(self):
        out = self.folder / "HISTORY.md"
        assert (
            history.main([str(self.folder / "results"), "--out", str(out), "--figures", str(self.folder / "figures")])
            == 0
        )
        self.text = out.read_text()
        return self.text

    def marked(self):
        """(percent, commit, commit before, window, machine) of the tables of commits."""
        found, at = [], None
        for line in self.text.splitlines():
            if heading := re.match(r"### \[?(\w+)", line):
                at = heading[1]
            if line.startswith("| **"):
                c = [cell.strip() for cell in line.strip("|").split(" | ")]
                found.append((float(c[0].strip("*%")), at, c[1], int(re.search(r"window=(\d+)", c[7]).group(1)), c[8]))
        return found

    def first_line(self):
        """Of the table of commits."""
        return self.text.splitlines()[self.text.splitlines().index("| commit | change | of | subject |") + 2]


@pytest.fixture
def results(folder):
    return Results(folder)


def test_known_changes(results):
    """Three cases: one that slows down, one that gets faster and then slower, one that stays as it is."""

    def level(i, window):
        return {10: 1.07 if i >= 11 else 1, 20: 1 if i < 6 else 0.8 if i < 19 else 0.9, 30: 1}[window]

    results.runs(30, level, windows=(10, 20, 30))
    results.report()
    found = sorted(results.marked(), key=lambda m: (m[3], m[1]))
    expected = sorted([(7.0, 11, 10), (-20.0, 6, 20), (12.5, 19, 20)], key=lambda m: (m[2], commit(m[1])[:7]))
    assert len(found) == 3, results.text
    for (percent, at, before, window, machine), (true_percent, index, true_window) in zip(found, expected):
        assert percent == pytest.approx(true_percent, abs=1.0)
        assert (at, before, window) == (commit(index)[:7], commit(index - 1)[:7], true_window)
        assert machine == "NVIDIA H200, driver 580, 700 W"
    figures = [results.folder / link for link in re.findall(r"!\[[^\]]*\]\((.*?)\)", results.text)]
    assert len(figures) == 3
    before = [path.read_bytes() for path in figures]
    with drawn() as pictures:
        history.main(
            [
                str(results.folder / "results"),
                "--out",
                str(results.folder / "HISTORY.md"),
                "--figures",
                str(results.folder / "figures"),
            ]
        )
    assert sorted(pictures) == sorted(path.stem for path in figures), "the figures that are looked at"
    assert [path.read_bytes() for path in figures] == before
    assert all(path.suffix == ".svg" and path.stat().st_size > 5000 for path in figures)


def test_nothing_changed(results):
    results.runs(40, lambda i, w: 1, windows=range(10, 90, 10))
    assert "No change was found in a single variant." in results.page()
    assert results.marked() == []


def test_a_bad_day_and_a_small_change_are_not_marked(results):
    """Two commits measured on a busy machine; a change of 2%; a change that only the last commit shows."""
    results.runs(
        30,
        lambda i, w: {10: 1.4 if i in (9, 10) else 1, 20: 1.02 if i >= 15 else 1, 30: 1.3 if i == 29 else 1}[w],
        windows=(10, 20, 30),
    )
    results.page()
    assert results.marked() == []


def test_noise():
    """changes.find alone, over many histories: false marks in at most 1%, changes of 5% found where they are in at least 99%."""
    rng = random.Random(6)

    def history(count, spread, step=1.0, at=0):
        return [(step if i >= at else 1.0) * rng.lognormvariate(0, spread) for i in range(count)]

    for count, spread in itertools.product((8, 20, 50), (0.003, 0.01)):
        found = [changes.find(history(count, spread)) for _ in range(200)]
        assert sum(map(bool, found)) <= 2, (count, spread)
    for count, step in itertools.product((20, 50), (1.05, 1 / 1.05)):
        right = 0
        for _ in range(200):
            at = rng.randrange(4, count - 4)
            found = changes.find(history(count, 0.006, step, at))
            right += len(found) == 1 and abs(found[0] - at) <= 1
        assert right >= 198, (count, step)


def test_similar_days_and_machine_steps():
    """No mark in 95% of series whose commits resemble the one before (AR(1), 0.7); nor where all series step together, which is told of as
    such, while the one that steps alone is found."""
    rng = numpy.random.default_rng(5)
    for count, spread in itertools.product((20, 50, 200), (0.01, 0.03)):
        marked = 0
        for _ in range(60):
            noise = rng.standard_normal(count)
            for i in range(1, count):
                noise[i] = 0.7 * noise[i - 1] + math.sqrt(1 - 0.49) * noise[i]
            marked += bool(changes.find(numpy.exp(spread * noise)))
        assert marked <= 3, (count, spread)
    order = [str(i) for i in range(40)]
    day = 0.02 * rng.standard_normal(40) + numpy.where(numpy.arange(40) >= 25, 0.15, 0)
    series = [
        Series(
            ("one machine",),
            {"case": str(k), "spec": ""},
            "cold",
            [
                Point(
                    c,
                    math.exp(k + day[i] + 0.005 * rng.standard_normal() + 0.06 * (k == 7 and i >= 12)),
                    1,
                    1,
                    None,
                    1,
                )
                for i, c in enumerate(order)
                if k or i > 20
            ],
        )
        for k in range(30)
    ]
    (told,) = changes.find_changes(series, order)
    assert (told.bounds, [one.bounds for one in series]) == ([25], [[12] if k == 7 else [] for k in range(30)])


def test_a_machine_that_steps(results):
    """The page says so, once, and marks no variant."""
    results.runs(24, lambda i, w: 1.2 if i >= 10 else 1, windows=range(10, 130, 10))
    text = results.page()
    assert results.marked() == []
    assert re.search(
        rf"\| {commit(10)[:7]} \| \*\*\+(19|20)\.\d%\*\* \| all series of NVIDIA H200, driver 580, 700 W \| - \|",
        results.first_line(),
    )
    assert "the machine, its settings, or what all variants share" in text


def test_the_interactive_page_has_the_same_marks(results):
    """One machine step: no series is marked, but the machine's is told of; and the one that steps alone."""
    results.runs(
        24, lambda i, w: (1.2 if i >= 10 else 1) * (1.1 if w == 40 and i >= 16 else 1), windows=range(10, 130, 10)
    )
    results.page()
    html = results.folder / "report.html"
    done = call("report", results.folder / "results/runs.jsonl", "--out", results.folder / "REPORT.md", "--html", html)
    assert done.returncode == 0, done.stderr
    packed = re.search(r'<script id="data"[^>]*>([^<]*)<', html.read_text())[1]
    told = json.loads(gzip.decompress(base64.b64decode(packed)))["history"]
    marks = [
        (100 * (ratio - 1), one["points"][index][0], one["case"])
        for one in told["series"]
        for index, ratio in one["steps"]
    ]
    ((percent, at, _, window, _),) = results.marked()
    assert [(at, f"window={window} " in case) for _, at, case in marks] == [(at, True)]
    assert marks[0][0] == pytest.approx(percent, abs=0.1)
    assert [(step["commit"], round(step["ratio"], 1)) for step in told["machines"]] == [(commit(10)[:7], 1.2)]


def test_page_first_and_changed_cases_first(results):
    """A figure that cannot be drawn leaves the page; of many cases those with a change are drawn, the others up to a number."""
    results.runs(8, lambda i, w: 1.3 if w == 70 and i >= 4 else 1, windows=range(10, 90, 10))
    drawn_first = []
    with (
        mock.patch.object(history, "MOST_FIGURES", 2),
        mock.patch.object(
            history.figures_history,
            "draw",
            lambda h, group, out: drawn_first.append(group[0].row["params"]["window"]) or 1 / 0,
        ),
        pytest.raises(ZeroDivisionError),
    ):
        folder = results.folder
        history.main([str(folder / "results"), "--out", str(folder / "HISTORY.md"), "--figures", str(folder / "f")])
    results.text = (results.folder / "HISTORY.md").read_text()
    assert (drawn_first, [m[3] for m in results.marked()]) == ([70], [70])
    assert "6 cases without a change not drawn" in results.text


def test_many_rows(results):
    """Memory is that of medians, not of samples: 40 times as many rows as are read at once. With --full as many as a library has."""
    rows, commits = (5000, 200) if "RUNGS_TEST_FULL" in os.environ else (100, 40)
    machine_rows = Machine(3)
    path = results.folder / "results/many.jsonl"
    template = json.dumps(machine_rows.row("RUN", window=10))
    with open(path, "w") as file:
        for k in range(commits):
            environment = machine_rows.environment()
            environment.update(commit=commit(k), dirty=False, date=f"2026-{1 + k // 28:02d}-{1 + k % 28:02d}T00:00:00Z")
            file.write(json.dumps(environment) + "\n")
            text = template.replace('"RUN"', json.dumps(environment["run"]))
            for i in range(rows):
                file.write(
                    text.replace("window=10 ", f"window={i + 10} ").replace('"window": 10', f'"window": {i + 10}')
                    + "\n"
                )
    code = (
        "import resource, sys; sys.path.insert(0, sys.argv[1]); from analysis.history import changes, series; h = series.History([sys.argv[2]], sys.argv[1]); "
        "changes.find_changes(h.series, h.order); print(len(h.series), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
    )
    begin = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", code, SOURCE, results.folder / "results"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    count, kilobytes = map(int, done.stdout.split())
    print(
        f"{rows} rows x {commits} commits: {kilobytes / 2**20:.2f} GB, {time.monotonic() - begin:.0f} s, file {path.stat().st_size / 1e9:.2f} GB"
    )
    assert count == rows
    assert kilobytes < (2**21 if rows > 1000 else 2**18)


def test_machines_are_kept_apart(results):
    """Another driver branch is another series; a host name or a minor driver is none of its business."""
    results.runs(8, lambda i, w: 1, name="a", driver="580.95.05")
    results.runs(8, lambda i, w: 1.5, name="b", seed=2, driver="590.10", commit=lambda i: commit(8 + i))
    results.page()
    assert results.marked() == []
    assert re.findall(r"^## (.*)", results.text, re.M) == [
        "NVIDIA H200, driver 580, 700 W",
        "NVIDIA H200, driver 590, 700 W",
    ]
    assert os.uname().nodename not in results.text
    results.runs(
        8,
        lambda i, w: 1.5,
        name="b",
        seed=2,
        driver="580.126.09",
        commit=lambda i: commit(8 + i),
        date=lambda i: f"2026-05-{i + 1:02d}T00:00:00Z",
    )
    results.page()
    assert [(m[1], m[4]) for m in results.marked()] == [(commit(8)[:7], "NVIDIA H200, driver 580, 700 W")]


def test_parts_of_a_gpu_and_other_limits_are_kept_apart(results):
    """MIG, the size of its part, and what the clocks may reach at most: never one series with the whole GPU's."""
    for gpu, text in (
        ({"mig": True, "sm_count": 16}, "NVIDIA H200, driver 580, 700 W, MIG, 16 SMs"),
        ({"clocks_sm_max": 1200}, "NVIDIA H200, driver 580, 700 W"),
        ({"power_cap_watts": None, "mig": None}, "NVIDIA H200, driver 580 (unknown: power cap watts, mig)"),
    ):
        results.runs(8, lambda i, w: 1, name="a")
        results.runs(
            8,
            lambda i, w: 1.5,
            name="b",
            seed=2,
            commit=lambda i: commit(8 + i),
            date=lambda i: f"2026-05-{i + 1:02d}T00:00:00Z",
            **gpu,
        )
        results.page()
        assert results.marked() == [], gpu
        assert sorted(re.findall(r"^## (.*)", results.text, re.M)) == sorted(["NVIDIA H200, driver 580, 700 W", text])


def test_locked_clocks_are_kept_apart(results):
    """No environment tells a lock; the clocks during the samples do. One that only sags is no other machine."""
    results.runs(8, lambda i, w: 1, name="a", mhz=lambda i: 1980.0 - 10 * i)
    results.runs(
        8,
        lambda i, w: 1.65,
        name="b",
        seed=2,
        mhz=lambda i: 1200.0,
        commit=lambda i: commit(8 + i),
        date=lambda i: f"2026-05-{i + 1:02d}T00:00:00Z",
    )
    results.page()
    assert results.marked() == []
    assert sorted(re.findall(r"^## .*SM clock about (\d+) MHz", results.text, re.M)) == ["1200", "1940"]


def test_processes_of_a_commit_are_one_point(results):
    results.runs(16, lambda i, w: 1 + 0.1 * (i % 2), commit=lambda i: commit(i // 2))
    assert "over 8 commits" in results.page()
    assert results.marked() == []


def test_a_clock_is_named(results):
    results.runs(20, lambda i, w: 1 if i < 10 else 1.1, mhz=lambda i: 1980.0 if i < 10 else 1800.0)
    results.page()
    assert len(results.marked()) == 1
    assert "| -9.1% |" in results.text


def test_nothing_to_draw(results):
    assert "no rows" in results.report(code=3)
    results.runs(3, lambda i, w: 1, commit=lambda i: commit(0))
    assert "no case was measured at two commits" in results.report(code=3)
    (results.folder / "results/bad.jsonl").write_text("{oops\n")
    assert "bad.jsonl:1:" in results.report(code=2)
    assert not (results.folder / "HISTORY.md").exists()


class Project:
    """A project elsewhere, with a git of its own."""

    COUNT, AT = 200, 120

    def __init__(self, folder):
        self.folder, self.root = folder, folder / "kernels"

    def git(self, *words, text=None):
        return subprocess.run(
            ["git", "-C", self.root, "-c", "core.hooksPath=/dev/null", *words],
            input=text,
            capture_output=True,
            text=True,
            check=True,
        ).stdout

    def commits(self, subject, day=lambda k: 0):
        """A line of them; day(k): when each was made. -> their hashes, the oldest first."""
        self.root.mkdir()
        self.git("init", "-q")
        text = "".join(
            f"commit refs/heads/main\ncommitter a <a@b> {1700000000 + 86400 * day(k)} +0000\ndata {len(subject(k).encode())}\n{subject(k)}\n"
            for k in range(self.COUNT)
        )
        self.git("fast-import", "--quiet", text=text)
        return self.git("rev-list", "--reverse", "main").split()

    def program(self):
        """This one, as the project's: its build folder names the project."""
        build = self.folder / "build"
        (build / "bin").mkdir(parents=True)
        shutil.copy2(RUNGS, build / "bin/kernels")
        places = (BUILD / "rungs-places").read_text()
        (build / "rungs-places").write_text(re.sub("^project .*", f"project {self.root}", places, flags=re.M))
        return build / "bin/kernels"


@pytest.fixture
def project(folder):
    return Project(folder)


@needs_release
def test_two_hundred_commits(project):
    """Rows that the program wrote, at 200 commits that were made in any order of time and measured in another: three of twelve cases get slower at one."""
    rng = random.Random(4)
    known = project.commits(lambda k: f"kernels: change number {k} of [many] | `x`", day=lambda k: rng.randrange(1000))
    rows = project.folder / "rows.jsonl"
    done = call(
        "run",
        *(f"double n={1000 * n}" for n in range(1, 13)),
        "--variants",
        "cpu_loop",
        "--quick",
        "--no-ceilings",
        "--out",
        rows,
    )
    assert done.returncode == 0, done.stderr
    (environment,), real = rows_of(rows, "environment"), rows_of(rows)
    assert len([row for row in real if row["timing"]]) == 12, done.stdout
    slower = [row["case"] for row in real][2:5]
    measured = list(range(project.COUNT))
    rng.shuffle(measured)
    with open(project.folder / "history.jsonl", "w") as file:
        for day, k in enumerate(measured):
            run = f"{environment['run']}-{k}"
            file.write(
                json.dumps(
                    {
                        **environment,
                        "run": run,
                        "commit": known[k],
                        "dirty": False,
                        "date": f"2027-{1 + day // 28:02d}-{1 + day % 28:02d}T00:00:00Z",
                    }
                )
                + "\n"
            )
            for row in real:
                factor = rng.lognormvariate(0, 0.006) * (1.12 if k >= project.AT and row["case"] in slower else 1)
                timing = {
                    mode: t and {**t, **{key: t[key] and factor * t[key] for key in ("median", "low", "high")}}
                    for mode, t in row["timing"].items()
                }
                file.write(json.dumps({**row, "run": run, "timing": timing}) + "\n")
    done = call(
        "report",
        "--history",
        project.folder / "history.jsonl",
        "--out",
        project.folder / "HISTORY.md",
        "--figures",
        project.folder / "figures",
        program=project.program(),
    )
    assert done.returncode == 0, done.stderr
    text = (project.folder / "HISTORY.md").read_text()
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    assert lines[0] == "| commit | change | of | subject |"
    cells = re.split(r" (?<!\\)\| ", lines[2].strip("| "))
    assert cells[0] == known[project.AT][:7]
    assert all(11 < float(percent) < 13 for percent in re.findall(r"\+(\d+\.\d)%", cells[1])) and "%" in cells[1], (
        cells[1]
    )
    assert sorted(re.findall("`(double n.*?)`", cells[2])) == sorted(slower)
    assert cells[3] == rf"kernels: change number {project.AT} of \[many\] \| \`x\`"
    assert "1 commit with a change" in text
    assert f"over 200 commits, from {known[0][:7]} to {known[-1][:7]}" in text
    assert "secret" not in text


def test_the_newest_first(project):
    """Two steps; all commits of one second, so that no date tells their order. One is not known to git, one was measured with changes."""
    known = project.commits(lambda k: "")
    at = [*known[:20], "f" * 40, *known[20:40]]
    machine, lines = Machine(3), []
    for k in random.Random(7).sample(range(len(at)), len(at)):
        for dirty in (False, True)[: 1 + (k == 7)]:
            environment = machine.environment()
            environment.update(
                commit=at[k],
                dirty=dirty,
                date="2026-05-05T00:00:00Z" if at[k][:2] != "ff" else "2020-01-01T00:00:00Z",
            )
            lines += [
                environment,
                machine.row(environment["run"], window=10, seconds=1e-3 * (1 + (k > 12) + (k > 30))),
            ]
    (project.folder / "rows.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    words = [
        "--out",
        str(project.folder / "HISTORY.md"),
        "--figures",
        str(project.folder / "figures"),
        "--repository",
        str(project.root),
    ]
    assert history.main([str(project.folder / "rows.jsonl"), *words]) == 0
    text = (project.folder / "HISTORY.md").read_text()
    found = re.findall(r"^\| (\w{7}) \| \*\*(\+\d+\.\d)%\*\* .* \| - \|$", text, re.M)
    assert [(name, round(float(percent), -1)) for name, percent in found] == [(at[31][:7], 50), (at[13][:7], 100)]
    assert "does not know fffffff: placed by" in text
    assert "](http" not in text
    order, _ = in_order([line for line in lines if line["kind"] == "environment"], commits.Repository(project.root))
    assert order == [
        "fffffff",
        *(name for c in at if c[:2] != "ff" for name in [c[:7], f"{c[:7]}+changes"][: 1 + (c == at[7])]),
    ]


def test_names_that_are_no_commits(project):
    project.commits(lambda k: "")
    assert commits.Repository(project.root).find(["--all", "HEAD", "0" * 40]) == {}
    assert commits.Repository(project.folder).find(project.git("rev-list", "main").split()) == {}, (
        "no repository of its own"
    )
