"""tests/gpu/gate_evidence.py and gate_steps.py: what they say of rows whose truth is known; that the page's table is what the committed rows give; and that
the steps run, with a program that is built already."""

import json
import os
import re
import subprocess
import sys

import pytest
from program import RUNGS, SOURCE, call
from stand_in import stand_in

pytest.importorskip("ruamel.yaml")
pytest.importorskip("scipy")

sys.path.append(str(SOURCE / "tests/gpu"))
import gate_evidence  # noqa: E402

# In place of a program: `ab` is the real one, `run` gives each row the time of its elements.
KERNELS = """#!{python} -SE
import json, os, re, sys
sys.path.insert(0, {scripts!r})
from compare_rows import Machine
words = sys.argv[1:]
if words[0] == "ab":
    os.execv({rungs!r}, sys.argv)
if words == ["run", "--help"]:
    sys.exit(print("--out --no-ceilings"))
with open({diary!r}, "a") as diary:
    print(os.getpid(), file=diary)
machine = Machine(os.getpid())
environment = machine.environment()
lines = [environment]
for op, tied, variant in re.findall(r"op: (\\w+),.*tied: \\[(.*?)\\], variants: \\[(\\w+)\\]", open(words[1]).read()):
    for name, size, seed in re.findall(r"(\\w+): (\\d+), seed: (\\d)", tied):
        row = machine.row(environment["run"], variant=f"{{op}}/{{variant}}", seconds=1e-9 * int(size))
        row.update(op=op, params={{name: int(size)}}, seed=int(seed), case=f"{{op}} {{name}}={{size}} dtype=f64 input=uniform seed={{seed}}")
        lines.append(row)
with open(words[words.index("--out") + 1], "a") as file:
    file.writelines(json.dumps(line) + "\\n" for line in lines)
"""
SECTION = re.compile(r"<!-- rungs:begin gate_evidence -->\n(.*?)<!-- rungs:end gate_evidence -->", re.S)


def test_sessions(folder):
    """The real `rungs ab` in the random order of its own, with a program whose times are those of its elements: rows get the names of the sizes without more work,
    slow-downs are found and told in the right cells, and the rest is the same."""
    program, out, kept = folder / "program", folder / "out", folder / "kept.jsonl"
    program.write_text(
        KERNELS.format(
            python=sys.executable,
            scripts=str(SOURCE / "tests/scripts"),
            rungs=os.environ["RUNGS"],
            diary=str(folder / "diary"),
        )
    )
    program.chmod(0o755)
    take = [
        sys.executable,
        gate_evidence.__file__,
        "take",
        program,
        out,
        "--repetitions",
        "9",
        "--sessions",
        "1",
        "--second-stage",
        "0s",
    ]
    for _ in range(2):
        done = subprocess.run(take, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout == "", "a second time there is nothing left to do"
    assert len((folder / "diary").read_text().split()) == 18
    subprocess.run([sys.executable, gate_evidence.__file__, "keep", kept, out], check=True)
    lines = gate_evidence.lines_of(kept)
    rows = [line for line in lines if line["kind"] == "row"]
    assert {(row["op"], row["params"][gate_evidence.SIZES[row["op"]]]) for row in rows} == {
        (op, size) for op, _, size, *_ in gate_evidence.GPU
    }
    assert {len(row["timing"]["cold"]["samples"]) for row in rows} == {3}
    assert not any("code" in row for row in rows)
    text = gate_evidence.table(kept)
    found = {
        line.split("|")[1].strip(" `").split("/")[0]: [cell.strip() for cell in line.split("|")[3:6]]
        for line in text.splitlines()
        if line.startswith("| `")
    }
    assert set(found) == set(gate_evidence.SIZES), text
    for op, cells in found.items():
        percent = gate_evidence.percent_of(1, op)
        (cell,) = [cell for cell in cells if cell != "not measured"]
        assert gate_evidence.PERCENT[cells.index(cell)] == percent, text
        assert float(cell.split()[0].strip("+%")) == pytest.approx(percent, abs=1.5)  # of nine noisy processes
        assert cell.split()[1] in (["slower"] if percent > 3 else ["slower", "ambiguous", "same"])
    assert re.search(r"\n\| 8 \| 8 \| 0 \| 8 \| 0 \| 0\.\d% \| \d\.\d%, \d\.\d% \|\n", text)


def test_every_kernel_gets_every_percentage():
    for op in gate_evidence.SIZES:
        assert {gate_evidence.percent_of(session, op) for session in (1, 2, 3)} == set(gate_evidence.PERCENT)


def test_the_scenario_is_one(folder):
    """Of the CPU's variants, which every build has."""
    path = folder / "s.yaml"
    path.write_text(gate_evidence.scenario(gate_evidence.CPU, 1))
    done = call("run", path, "--dry-run", "--json")
    assert done.returncode == 0, done.stderr
    assert len(json.loads(done.stdout)) == 12


def test_the_page_is_what_the_rows_give():
    told = SECTION.search((SOURCE / "docs/data/gates.md").read_text()).group(1).strip()
    if told == "Not measured yet.":
        assert list((SOURCE / "results/gate").glob("*.jsonl")) == [], (
            "rows, but no table: gate_evidence.py table ... --update docs/data/gates.md"
        )
        return
    (name,) = re.findall(r"`(results/\S+)`", told.splitlines()[0])
    assert told == gate_evidence.table(SOURCE / name).strip()


def test_steps(folder):
    """All steps of the workflow's job, with programs of known speed; and a slow-down ends them with 1."""
    base = stand_in(folder / "base-program", folder / "diary")
    for name, factor in (("same", 1.0), ("slow", 1.2)):
        rungs, program = folder / name, stand_in(folder / f"{name}-program", folder / "diary", factor)
        rungs.write_text(
            f'#!/bin/sh\nif [ "$1" = ab ]; then shift 3; exec {RUNGS} ab {base} {program} "$@"; fi\nexec {RUNGS} "$@"\n'
        )
        rungs.chmod(0o755)
        done = subprocess.run(
            [
                sys.executable,
                SOURCE / "tests/gpu/gate_steps.py",
                folder / f"out-{name}",
                "--program",
                rungs,
                "REPETITIONS=9",
                "SECOND_STAGE=0s",
                f"LOCK={folder}/lock",
                "CLOCKS=keep",
            ],
            capture_output=True,
            text=True,
        )
        assert done.returncode == (name == "slow"), done.stdout + done.stderr
        text = (folder / f"out-{name}/steps.txt").read_text()
        assert re.findall(r"^== (.*): exit code (\d)", text, re.M) == [
            ("What this machine can do", "0"),
            ("Idle, and clocks locked where this runner may", "0"),
            ("Compare", "01"[name == "slow"]),
            ("Clocks as they were", "0"),
            ("Summary", "0"),
        ]
        assert len(gate_evidence.lines_of(folder / f"out-{name}/base.jsonl")) == 9 * 6
    done = subprocess.run(
        [sys.executable, SOURCE / "tests/gpu/gate_steps.py", folder / "out", "REPETITION=9"],
        capture_output=True,
        text=True,
    )
    assert (done.returncode, "there are: SCENARIOS" in done.stderr) == (2, True)
