"""tests/gpu/regression.sh and its table: what it says of rows whose truth is known, that it says what is missing, and that the table in
docs/data/gates.md is what the committed rows give."""

import json
import os
import re
import shutil
import subprocess
import sys

import pytest
from compare_rows import Machine
from program import BUILD, SOURCE
from real_order import stamps

pytest.importorskip("scipy")
sys.path.append(str(SOURCE / "tests/gpu"))
import regression_table  # noqa: E402

SCRIPT = SOURCE / "tests/gpu/regression.sh"
EXPECTED = {("cuda_shared", "cold")}
PAGE = "before\n<!-- rungs:begin regression -->\nold\n<!-- rungs:end regression -->\nafter\n"


def rows_with(folder, equal=36, slowed=None, processes=9):
    """Two variants; slowed: percent -> what it does to the times."""
    machine, lines = Machine(3, process=0.001), []

    def process(stamp=None, factor=1.0):
        environment = machine.environment()
        if stamp:
            environment["ab"] = stamp
        lines.extend(
            [environment, *(machine.row(environment["run"], window=w, seconds=1e-3 * factor) for w in (10, 20))]
        )

    for percent, factor in (slowed or {3: 1.03, 5: 1.05, 10: 1.1}).items():
        for stamp in stamps(9, percent)["base"][:processes]:
            process(stamp)
        for stamp in stamps(9, percent)["new"][:processes]:
            process(stamp, factor)
    for _ in range(equal):
        process()
    path = folder / "rows.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def report_of(path, expected=EXPECTED, suites=2):
    return regression_table.report(path, "results/rows.jsonl", suites, 9, expected)


def test_all_is_found(folder):
    text, code = report_of(rows_with(folder))
    assert code == regression_table.FOUND, text
    assert "NVIDIA H200, driver 580.95.05, commit 0123456" in text
    assert re.search(r"\| 63 \| 2 of 2 \| 4 \| 0 \| 4 \| 0 \| [+-]0\.\d% \|", text)
    for percent in (3, 5, 10):
        assert (
            len(
                re.findall(
                    rf"^\| {percent}% \| .* \| 9 and 9 \| \+{percent - 1}\.[5-9]%|^\| {percent}% \| .* \| 9 and 9 \| \+{percent}\.[0-5]%",
                    text,
                    re.M,
                )
            )
            == 2
        ), text
    assert len(re.findall(r"\| slower \| slower \|$", text, re.M)) >= 4, text
    assert "0 false alarms, 0 slow-downs not found." in text


def test_what_is_not_found_is_counted(folder):
    text, code = report_of(rows_with(folder, slowed={3: 1.03, 5: 1.05, 10: 1.0}))
    assert code == regression_table.LOST
    assert "2 slow-downs not found." in text


def test_a_false_alarm_is_counted(folder):
    """One suite whose sides the draw happens to part: the processes that become NEW are slower."""
    path = rows_with(folder)
    rows = regression_table.Rows(path)
    (equal,) = rows.equal.values()
    order = list(range(18))
    regression_table.random.Random(0).shuffle(order)
    for k in order[9:]:
        slow = [json.loads(text) for text in equal[k]]
        for line in slow[1:]:
            for timed in line["timing"].values():
                timed["samples"] = [1.1 * x for x in timed["samples"]]
        equal[k] = [json.dumps(line) for line in slow]
    lines, alarms, made = regression_table.equal_table(rows, 9, 2, EXPECTED)
    assert (alarms, made) == (1, 2), lines


def test_what_is_missing_is_told(folder):
    text, code = report_of(rows_with(folder, equal=20), suites=3)  # and 27 that the slow-downs are held against
    assert code == regression_table.INCOMPLETE
    assert "| 47 (neighbouring suites share some) | 3 of 3 |" in text
    for rows in ({"equal": 0, "processes": 8}, {"slowed": {3: 1.03, 5: 1.05}}, {"processes": 6}):
        text, code = report_of(rows_with(folder, **rows))
        assert code == regression_table.INCOMPLETE, text
        assert "not all was measured" in text
    empty = folder / "empty.jsonl"
    empty.touch()
    assert "Nothing was measured." in report_of(empty)[0]


def test_what_is_absent_is_told(folder):
    """Rows of a variant that are nowhere at all, and suites in which nothing could be compared, are no success."""
    text, code = report_of(rows_with(folder), EXPECTED | {("cuda_shared", "hot")})
    assert code == regression_table.INCOMPLETE, text
    assert "| 63 | 0 of 2 |" in text
    assert text.count("not all measured: `cuda_shared` hot") == 3, text
    path = rows_with(folder)
    lines = [json.loads(text) for text in path.read_text().splitlines()]
    equal = {line["run"] for line in lines if line["kind"] == "environment" and line.get("ab", {}).get("side") != "new"}
    for line in lines:
        if line["kind"] == "row" and line["run"] in equal:
            line["timing"] = None
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    text, code = report_of(path)
    assert code != regression_table.FOUND, text
    assert "| 63 | 0 of 2 |" in text


def test_equal_code_is_judged_by_its_times(folder):
    """The rows of a build tell launch and code, by which the gate would call them `same` unseen."""
    path = rows_with(folder, slowed={3: 1.0, 5: 1.0, 10: 1.0})
    lines = [json.loads(text) for text in path.read_text().splitlines()]
    for line in lines:
        if line["kind"] == "row":
            line["launch"] = {"device": "cuda", "launches": 1}
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    rows = regression_table.Rows(path)
    assert {json.loads(text).get("launch") for runs in rows.equal.values() for run in runs for text in run} == {None}
    assert report_of(path)[1] == regression_table.LOST


def test_suites_are_of_one_build(folder):
    """18 equal processes of each of two builds are two suites; 36 of which 9 are of another are one."""
    for first, made in ((18, 2), (9, 1)):
        path = rows_with(folder)
        rows = regression_table.Rows(path)
        (runs,) = rows.equal.values()
        rows.equal = {"a": runs[:first], "b": runs[first:36]}
        assert regression_table.equal_table(rows, 9, 2, EXPECTED)[2] == made


def test_page(folder):
    """Between the markers, nothing else; a second time changes nothing."""
    path, page = rows_with(folder), folder / "page.md"
    script = SOURCE / "tests/gpu/regression_table.py"
    words = [sys.executable, script, path, "--suites", "2", "--expect", "cuda_shared:cold", "--update", page]
    page.write_text(PAGE)
    for _ in range(2):
        done = subprocess.run(words, capture_output=True, text=True)
        assert (done.returncode, done.stdout) == (0, ""), done.stderr
        text = page.read_text()
        assert (text.split("<!--")[0], text.split("-->")[-1]) == ("before\n", "\nafter\n")
        assert report_of(path)[0].splitlines()[-1] in text
    page.write_text("no markers")
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode != 0
    assert page.read_text() == "no markers"


def test_the_page_is_what_the_rows_give():
    page = SOURCE / "docs/data/gates.md"
    told = (
        page.read_text().split("<!-- rungs:begin regression -->")[1].split("<!-- rungs:end regression -->")[0].strip()
    )
    files = sorted((SOURCE / "results/regression").glob("*.jsonl.gz"))
    if not files:
        assert told == "Not measured yet."
        return
    name = re.search(r"rows: `(\S+)`\.", told).group(1)
    assert SOURCE / name == files[-1], "the latest rows"
    assert told == regression_table.report(SOURCE / name, name, 20, 9)[0].strip()


def run_script(*words):
    """regression.sh as far as a machine without a GPU can; without a second of time it measures nothing and says so."""
    return subprocess.run(
        ["bash", SCRIPT, *map(str, words)],
        capture_output=True,
        text=True,
        env={**os.environ, "RUNGS_REGRESSION_SUITES": "2"},
    )


def test_words(folder):
    assert "usage: " in run_script("--help").stdout
    for words in ((), ("one",), ("--what", "one", "two"), ("1", "2", "3", "4")):
        assert run_script(*words).returncode == 2, words
    done = run_script("--cpu", folder, f"{folder}/out")
    assert (done.returncode, "rungs-regression-0 is not there" in done.stderr) == (4, True)


def play(folder, fails=False):
    """A build folder of programs that only write an environment and a row a process; `ab` is the real one."""
    (folder / "bin").mkdir()
    (folder / "tests").mkdir()
    program = folder / "bin/rungs"
    program.write_text(f"""#!{sys.executable}
import json, os, sys
sys.path.insert(0, {str(SOURCE / "tests/scripts")!r})
from compare_rows import Machine
words = sys.argv[1:]
if {fails}:
    sys.exit(print("a bad day") or 4)
if words[0] == "ab":
    os.execv({os.environ["RUNGS"]!r}, sys.argv)
if words == ["run", "--help"]:
    sys.exit(print("--out --no-ceilings"))
machine = Machine(os.getpid())
environment = machine.environment()
with open(words[words.index("--out") + 1], "a") as file:
    for line in (environment, machine.row(environment["run"], variant="double/cpu_chain", modes=("cold", "hot"))):
        file.write(json.dumps(line, separators=(",", ":")) + "\\n")
""")
    program.chmod(0o755)
    for percent in (0, 3, 5, 10):
        shutil.copy(program, folder / f"tests/rungs-regression-{percent}")


def test_no_time(folder):
    play(folder)
    done = run_script("--cpu", folder, f"{folder}/out", 0)
    assert done.returncode == 3, done.stdout + done.stderr
    assert done.stdout.count("not measured |") == 3
    assert "Nothing was measured." in done.stdout


def test_whole_and_again(folder):
    """All rows, each once and in order; a second call makes none anew."""
    play(folder)
    for _ in range(2):
        done = run_script("--cpu", folder, f"{folder}/out", 600)
        assert done.returncode == 1, done.stdout + done.stderr  # nothing is slower there
        rows = regression_table.Rows(f"{folder}/out/rows.jsonl")
        assert (
            sum(map(len, rows.equal.values())),
            {(len(s["base"]), len(s["new"])) for s in rows.slowed.values()},
        ) == (36 + 27, {(9, 9)})
    assert "2 of 2" in done.stdout
    assert "6 slow-downs not found" in done.stdout


def test_a_process_that_fails(folder):
    play(folder, fails=True)
    done = run_script("--cpu", folder, f"{folder}/out", 600)
    assert (done.returncode, "a process failed" in done.stderr) == (4, True), done.stdout + done.stderr


@pytest.mark.skipif(not (BUILD / "tests/rungs-regression-3").exists(), reason="the programs are not built")
def test_programs(folder):
    """The real ones take the words that the script gives them."""
    done = subprocess.run(
        [
            BUILD / "tests/rungs-regression-3",
            "run",
            SOURCE / "tests/regression/scenario.yaml",
            "--quick",
            "--no-ceilings",
            "--budget",
            "0.000001",
            "--out",
            f"{folder}/rows.jsonl",
        ],
        capture_output=True,
        text=True,
    )
    assert done.returncode in (0, 3), done.stdout + done.stderr
