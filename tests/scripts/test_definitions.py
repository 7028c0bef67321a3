"""Wrong definitions: where a mutant that has one passes, the row says that it does not tell it; some family of the same op rejects it."""

import collections
import json
import re
import subprocess

import pytest

from program import BUILD, MUTANTS, RUNGS, SOURCE, call, expect, needs_cuda, needs_release, rows_of

FAMILIES = ("uniform", "normal", "ones", "ramp", "offset1e3", "offset1e6", "offset1e8", "spike1e16")
# mutant: the definition that it has, its op, a case
SLIPS = {
    "window_off_by_one": ("window-1", "rolling", "rolling agg=mean n=5003 window=300"),
    "biased_variance": ("ddof=0", "rolling", "rolling agg=var n=5003 window=300"),
    "ewm biased_variance": ("bias", "ewm", "ewm agg=var n=2003 span=300"),
    "ddof_one": ("ddof=1", "moments", "moments rows=2011 cols=5"),
    "excess_kurtosis": ("excess", "moments", "moments rows=2011 cols=5"),
}


def run(folder, program, cases, variants):
    out = folder / "rows.jsonl"
    out.unlink(missing_ok=True)
    done = call("run", *cases, "--variants", variants, "--verify-only", "--out", out, program=program)
    return done, rows_of(out)


@pytest.mark.parametrize("dtype", ["f32", "f64"])
@pytest.mark.parametrize("slip", SLIPS)
def test_what_passes_is_marked(folder, slip, dtype):
    name, op, case = SLIPS[slip]
    families = [family for family in FAMILIES if op != "ewm" or family != "spike1e16"]
    cases = [f"{case} dtype={dtype} input={family}" for family in families]
    done, rows = run(folder, MUTANTS, cases, f"cpu_mutants wrong={slip.split()[-1]}")
    expect(len(rows) == len(cases), f"{len(rows)} rows", done)
    verdicts = {row["input"]: row["verdict"] for row in rows}
    assert "fail" in verdicts.values(), verdicts
    for row in rows:
        if row["verdict"] == "pass":
            assert name in row["does_not_tell"] and name not in row["tells"], row["case"]
        if row["verdict"] == "fail":
            assert row["does_not_tell"] is None


@pytest.mark.parametrize("dtype", ["f32", "f64"])
def test_no_more_is_marked_than_passes(folder, dtype):
    """The right one on the same cases: what its rows do not tell is what the mutant got through with."""
    for slip in ("biased_variance", "ddof_one"):
        name, _, case = SLIPS[slip]
        cases = [f"{case} dtype={dtype} input={family}" for family in FAMILIES if family != "spike1e16"]
        _, wrong = run(folder, MUTANTS, cases, f"cpu_mutants wrong={slip}")
        _, right = run(folder, MUTANTS, cases, "cpu_mutants wrong=nothing")
        through = {row["case"] for row in wrong if row["verdict"] == "pass"}
        for row in right:
            if row["verdict"] == "pass":
                assert (name in row["does_not_tell"]) == (row["case"] in through), row["case"]


def test_what_few_elements_tell(folder):
    """One more in the window changes one minimum in 300."""
    _, rows = run(folder, RUNGS, ["rolling agg=min n=10000 window=300 dtype=f64 input=uniform"], "cpu_naive")
    assert [row["does_not_tell"] for row in rows] == [[]]


def test_spans(folder):
    """f32: numbers far from 0, or all alike, do not tell one span from the next."""
    _, rows = run(
        folder,
        RUNGS,
        [f"ewm n=2003 span=300 dtype=f32 input={f}" for f in ("uniform", "offset1e6", "constant")],
        "cpu_best",
    )
    assert {row["input"]: "span+1" in row["does_not_tell"] for row in rows} == {
        "uniform": False,
        "offset1e6": True,
        "constant": True,
    }


def test_pages_name_them():
    """Each op's page has one line with the names in its source."""
    for folder in filter(lambda path: path.is_dir(), (SOURCE / "reference").iterdir()):
        page = SOURCE / "docs/ops" / f"{folder.name.removesuffix('_grad')}.md"
        for source in folder.glob("*.c"):
            for names in re.findall(r"\bconst \w*WRONG\[\] = \{(.*?)NULL\}", source.read_text(), re.S):
                named = set(re.findall(r'"(.+?)"', names))
                (line,) = re.findall(r"^\*\*Wrong definitions\*\*.*", page.read_text(), re.M)
                expect(named and named <= set(re.findall(r"`(.+?)`", line)), f"{page}: {named} in {line}")


GRADIENTS = [
    "n=2003",
    "n=2003 direction=left",
    "n=503 batch=3 gamma_per=row reset=mask",
    "n=503 batch=3 gamma_per=element direction=left",
    "n=503 batch=3 gamma_per=element reset=mask",
]
APPLY = f"agg=apply n=2003 window=5 function={SOURCE}/examples/apply/first_minus_last.cu"
# name: cases whose rows tell it, and cases in which it is the right definition (discounts of 0, equal numbers)
TOLD = {
    "no carry": (
        [f"discounted_cumsum_grad {case}" for case in GRADIENTS],
        [f"discounted_cumsum_grad {case} gamma=0" for case in GRADIENTS],
    ),
    "no state": (
        [
            "discounted_cumsum n=303 batch=5 gamma_per=element layout=time_major state=both",
            "discounted_cumsum n=50 state=both",
        ],
        ["discounted_cumsum n=303 batch=5 layout=time_major state=both gamma=0"],
    ),
    "no weights": (["moments rows=2011 cols=5 weights=row"], ["moments rows=2011 cols=5 weights=row input=constant"]),
    "shift": ([f"rolling {APPLY}"], [f"rolling {APPLY} input=constant"]),
}


@pytest.mark.parametrize("name", TOLD)
def test_more_definitions(folder, name):
    for cases, told in zip(TOLD[name], (True, False)):
        done, rows = run(folder, RUNGS, cases, "cpu_*")
        rows = [row for row in rows if row["verdict"] == "pass"]
        expect(rows, f"some pass: {cases}", done)
        for row in rows:
            assert (name in row["tells"], name in row["does_not_tell"]) == (told, not told), (row["case"], row["spec"])


DECLARED = """
title: looser bounds
suites:
  - op: moments
    axes: {rows: [%s], cols: [5], dtype: [f32], input: [uniform]}
    variants: [peer_numpy]
    modes: [cold]
    bounds: declared
"""


@needs_release
def test_a_declared_bound_hides_nothing(folder):
    """NumPy's sums along a column have the bound naive_sum, which at 2011 rows does not tell ddof=1 and in 97 rows does. The report
    ranks it only where some case of the campaign tells."""
    scenario, out = folder / "looser.yaml", folder / "declared.jsonl"
    for rows, verified in (("2011", False), ("97, 2011", True)):
        scenario.write_text(DECLARED % rows)
        out.unlink(missing_ok=True)
        done = call("run", scenario, "--out", out)
        found = rows_of(out)
        if any(row["verdict"] == "skip" for row in found):
            pytest.skip(found[0]["reason"])
        marks = {row["params"]["rows"]: row["does_not_tell"] for row in found}
        assert all(row["verdict"] == "pass" and row["bound"]["declared"] for row in found), done.stderr
        assert "ddof=1" in marks[2011] and "ddof=1" not in marks.get(97, ())
        page = folder / "REPORT.md"
        call("report", out, "--out", page)
        told = "".join(path.read_text() for path in folder.rglob("*.md"))
        assert "does not tell ddof=1" in told
        assert bool(re.search("definition not verified", told)) is not verified


HERE = ("without_gpu", "not_run")  # what a suite leaves out on this machine
SMALL_BYTES, SLOW_SECONDS = 1 << 16, 3


def planned_by_looser_bounds(folder, bounds):
    """Rows of all scenarios whose suites admit declared bounds, of the variants that declare one."""
    yaml, files, wanted = pytest.importorskip("yaml"), [], set(bounds)
    for path in (SOURCE / "scenarios").rglob("*.yaml"):
        suites = [suite for suite in yaml.safe_load(path.read_text())["suites"] if suite.get("bounds") == "declared"]
        suites = [{key: value for key, value in suite.items() if key not in HERE} for suite in suites]
        if suites:
            files.append(folder / f"{len(files)}.yaml")
            files[-1].write_text(yaml.safe_dump({"title": path.stem, "suites": suites}))
    while True:
        done = call("run", *files, "--variants", ",".join(sorted(wanted)), "--dry-run", "--json")
        if not (idle := re.search("'(.+?)' matches no variant", done.stderr)):
            return json.loads(done.stdout)
        wanted.remove(idle[1])


def told_and_not(case, bound, known={}):
    """What the tolerances of a case tell; nothing of one whose reference takes long."""
    if (case, bound) not in known:
        try:
            words = [BUILD / "tests" / "smallest_error", case, bound]
            done = subprocess.run(words, capture_output=True, text=True, timeout=SLOW_SECONDS)
            found = [json.loads(line) for line in done.stdout.splitlines()]
        except subprocess.TimeoutExpired:
            found = []
        known[case, bound] = [{name for out in found for name in out[key]} for key in ("tells", "does_not_tell")]
    return known[case, bound]


def form_of(row):
    """As analysis.rows.definition_of() has it: rows that verify one definition."""
    values = dict(word.split("=", 1) for word in row["case"].split()[1:])
    numbers = re.compile(r"-?[\d.]+(e[-+]?\d+)?$")
    words = (v for k, v in values.items() if k not in ("dtype", "input", "seed") and not numbers.match(v))
    return row["spec"], row["variant"], values["dtype"], tuple(words)


@needs_cuda
def test_what_no_case_of_a_looser_bound_tells_is_marked(folder):
    """Over all scenarios that admit declared bounds: nearly every form of a variant has a case there that tells each wrong definition. A row of one that
    has none names what it does not tell, by which reports and claims leave it out."""
    variants = json.loads(call("list", "variants", "--json").stdout)
    bounds = {v["id"]: v["bound"] for v in variants if v["bound"] and not v["id"].startswith("redact/")}
    forms, untold = collections.defaultdict(dict), {}
    for row in planned_by_looser_bounds(folder, bounds):
        if row["input_bytes"] <= SMALL_BYTES:
            forms[form_of(row)][row["case"]] = row["input_bytes"]
    for form, cases in forms.items():
        told, admitted = set(), set()
        for case in sorted(cases, key=lambda case: (cases[case] < 8000, cases[case])):
            found = told_and_not(case, bounds[form[1]])
            told, admitted = told | found[0], admitted | found[1]
            if told and admitted <= told:
                break
        if admitted - told:
            untold[form] = case, admitted - told
    assert len(forms) > 100 and len(untold) < len(forms) / 8, untold
    assert {variant.split("/")[0] for _, variant, *_ in forms} == {
        "rolling",
        "ewm",
        "moments",
        "discounted_cumsum_grad",
    }
    here = {form: found for form, found in untold.items() if form[1].split("/")[1].startswith("cpu_")}
    assert here
    for (spec, *_), (case, missing) in here.items():
        values = dict(word.split("=", 1) for word in case.split()[1:])
        axes = ", ".join(f"{name}: [{value}]" for name, value in values.items())
        head, op = "title: one case\nsuites:\n", case.split()[0]
        suite = f"  - {{op: {op}, axes: {{{axes}}}, variants: ['{spec.split('/')[1]}'], bounds: declared}}\n"
        (folder / "one.yaml").write_text(head + suite)
        done, (row,) = run(folder, RUNGS, [folder / "one.yaml"], spec.split()[0])
        expect(row["verdict"] == "pass" and missing <= set(row["does_not_tell"]), f"{spec} {case}: {missing}", done)
