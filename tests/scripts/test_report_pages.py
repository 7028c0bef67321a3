"""REPORT.md and the pages of ops hold to their limits and lead somewhere, whatever the rows: many, one op only, none timed, failed, claims not run.
The numbers in README.md and docs/ are those of the committed rows."""

import copy
import pathlib
import re
import subprocess

from checkout import SOURCE
from program import RUNGS
from report_page import GOLDEN, ROWS, TIMED, WORK, dead_links, links, report, section, written

from analysis import rows as r
from analysis import select
from analysis.report import numbers, page, rivals, standing

OPS = ("rolling", "ewm", "moments", "redact", "discounted_cumsum", "discounted_cumsum_grad", "double", "another")


def many_rows():
    """Eight ops with forty cases of ten variants each, and two hundred long claims."""
    lines = [line for line in GOLDEN if line["kind"] in ("environment", "ceilings")]
    claim = next(line for line in GOLDEN if line["kind"] == "claim")
    names = [
        "cuda_naive",
        "cuda_b",
        "cuda_c",
        "cpu_best",
        "peer_torch",
        "peer_cupy",
        "peer_numpy",
        "peer_jax_with_a_long_name",
        "peer_pandas",
        "peer_scipy",
    ]
    for op in OPS:
        for k in range(40):
            for at, name in enumerate(names):
                line = copy.deepcopy(TIMED)
                case = f"{op} agg=mean n={1000 * (k + 1)} window=3 incomplete=nan dtype=f64 input=ramp seed=1"
                line |= {
                    "op": op,
                    "case": case,
                    "params": {"agg": "mean", "n": 1000 * (k + 1), "window": 3, "incomplete": "nan"},
                    "variant": f"{op}/{name}",
                    "spec": f"{op}/{name}",
                    "backend": "peer" if name.startswith("peer") else name.split("_")[0],
                    "baseline": f"{op}/cuda_naive",
                }
                line["timing"]["cold"] |= {
                    key: factor * 1e-6 * (k + 1) * (1 + abs(at - k % 10))
                    for key, factor in (("median", 1), ("low", 0.99), ("high", 1.01))
                }
                lines.append(line)
        lines += [
            {
                **claim,
                "op": op,
                "id": f"{op}-{k}",
                "statement": f"number {k} " + "of a very long statement " * 6,
                "case": case,
                "variant": f"{op}/cuda_naive",
            }
            for k in range(25)
        ]
    return lines


MOST_WORDS, SECTIONS = 3000, 10  # words: with eight ops; tests/scripts/test_words.py has the committed page's limit


def check_limits(path):
    text = path.read_text()
    assert len(text.split()) <= MOST_WORDS, (path, len(text.split()))
    assert len(links(text)) <= 2 and text.count("\n## ") == SECTIONS, (links(text), text.count("\n## "))


def test_many_rows_stay_within_the_limits():
    text, _ = report(written(many_rows(), "many.jsonl"), out="many/REPORT.md")
    check_limits(WORK / "many/REPORT.md")
    assert not dead_links(WORK / "many/REPORT.md") and not any(map(dead_links, (WORK / "many/results").glob("*.md")))
    assert all(f"[{op}](results/{op}.md)" in text for op in OPS), "every op is there"
    assert {path.stem for path in (WORK / "many/results").glob("*.md")} == set(OPS)
    assert "200 tests" in text and "faster than `" in text, text[:1000]


def test_the_committed_report_stays_within_them():
    check_limits(SOURCE / "REPORT.md")
    for path in (SOURCE / "REPORT.md", *(SOURCE / "docs/results").glob("*.md")):
        assert not dead_links(path), (path, dead_links(path))
    shown = {
        (path.parent / link).resolve()
        for path in (SOURCE / "REPORT.md", SOURCE / "README.md", *(SOURCE / "docs").rglob("*.md"))
        for link in re.findall(r"(?:\]\(|src=\")([^)\"]+\.svg)", path.read_text())
    }
    assert not set((SOURCE / "docs/figures").resolve().glob("*.svg")) - shown, "a figure that no page shows"


def test_whatever_the_rows():
    circumstances = [line for line in GOLDEN if line["kind"] in ("environment", "ceilings")]
    failed = [{**row, "verdict": "fail", "reason": "wrong", "timing": None} for row in ROWS]
    skipped = [{**row, "verdict": "skip", "reason": "not run: not now", "timing": None, "errors": None} for row in ROWS]
    vague = copy.deepcopy(ROWS)
    for row in vague:
        for error in (row.get("errors") or {}).values():
            error["judgeable"] = False
    not_run = [
        {**line, "outcome": "not_run", "why": "no time left", "here": None, "low": None, "high": None}
        for line in GOLDEN
        if line["kind"] == "claim"
    ]
    for name, lines in (
        ("one", circumstances + ROWS[:1]),
        ("failed", circumstances + failed),
        ("skipped", circumstances + skipped),
        ("vague", circumstances + vague),
        ("not_run", circumstances + ROWS + not_run),
        ("no_environment", ROWS),
    ):
        text, _ = report(written(lines), out=f"{name}/REPORT.md")
        check_limits(WORK / name / "REPORT.md")
        assert not dead_links(WORK / name / "REPORT.md"), name
        if name == "failed":
            assert "Nothing was timed" in text and f"{len(ROWS)} rows of {len(ROWS)} failed" in text
        if name == "vague":
            assert "rolling y" in section(text, "Limits of this study")
        if name == "not_run":
            assert "3 not run" in text and "3 were not run" in section(text, "Limits of this study")


def test_who_is_behind():
    results = select.load([written(many_rows(), "many.jsonl")])
    found = rivals.standings(results, "ewm")
    case = next(
        case for case in found if " n=5000 " in case
    )  # the fifth: the fifth variant, peer_torch, is as fast as can be
    ratio = rivals.times_faster(
        rivals.fastest([row for row in found[case].rows if r.is_library(row)]), found[case].ours
    )
    assert (
        ratio.value == 0.5
        and ratio.side == -1
        and abs(ratio.low - 0.5 * 0.99 / 1.01) < 1e-9
        and str(ratio) == "**0.500x ±3%**"
    ), ratio
    assert (case, 0.5) in [(where, least.value) for where, least in standing.against_libraries(found)]
    swept, cases = standing.sweep_groups(found)[0]
    assert swept == ("n",) and len(cases) == 40 and len(standing.peers_of(found, cases)) == 6
    assert len(standing.peer_table(found, swept, cases, 8).splitlines()[0].split("|")) == 2 + 1 + 8


def test_rivals_have_versions_and_their_failures_are_told():
    packages = {
        "torch": "2.11.0",
        "numba": "0.65.1",
        "numba-cuda": "0.30.4",
        "cupy-cuda13x": "14.2.0",
        "fla-core": "0.6.0",
    }
    machine = {"python": {"packages": packages | {"accelerated-scan": "0.3.1", "jaxlib": "1"}}}
    for variant, library, said in (
        ("peer_torch_associative_scan", None, "torch 2.11.0"),
        ("peer_numba_cuda_tile", None, "numba-cuda 0.30.4"),
        ("peer_numba_cpu", None, "numba 0.65.1"),
        ("peer_cupy_lfilter", None, "cupy-cuda13x 14.2.0"),
        ("peer_fla_hgrn", None, "fla-core 0.6.0"),
        ("peer_accelerated_scan", None, "accelerated-scan 0.3.1"),
        ("peer_jax_associative_scan", None, ""),
        ("cuda_cub_scan", "CUB 3.5.0", "CUB 3.5.0"),
        ("cuda_torch", None, ""),
    ):
        row = {"variant": f"x/{variant}", "backend": variant.split("_")[0], "library": library}
        assert r.whose(row, machine) == said, variant
    environment = (
        next(line for line in GOLDEN if line["kind"] == "environment" and line["run"] == TIMED["run"]) | machine
    )
    ours, ahead = on_the_cpu("cuda_ours", 1e-3), on_the_cpu("peer_torch", 0.5e-3)
    wrong = on_the_cpu("peer_accelerated_scan", 1e-3) | {"verdict": "fail", "timing": None, "dtype": "bf16"}
    rows = [row | {"case": row["case"].replace(" n=", f" n={k}")} for k in range(1, 5) for row in (ours, ahead, wrong)]
    results = select.load([written([environment, *rows], "versions.jsonl")])
    text = standing.behind({"rolling": rivals.standings(results, "rolling")})
    assert text.count("`peer_torch`, torch 2.11.0, 2.00x") == 3 and "and 1 more" in text, text
    assert standing.wrong_libraries(results) == (
        f"No rivals where they failed verification: accelerated-scan 0.3.1 (bf16 {wrong['input']})."
    )


def on_the_cpu(variant, seconds, apart=0.1):
    row = copy.deepcopy(TIMED) | {
        "variant": f"rolling/{variant}",
        "spec": f"rolling/{variant}",
        "backend": variant.split("_")[0],
    }
    row["timing"] = {
        "cold": row["timing"]["cold"]
        | {"median": seconds, "low": seconds * (1 - apart), "high": seconds * (1 + apart), "clock": "host"}
    }
    return row


def test_the_same_cores():
    for ours, said in (
        (1e-3, "fastest in the case that a CPU library was timed in, by 4.00x, intervals apart."),
        (3.8e-3, "0 of 1 cases that a CPU library was timed in. *Not told apart*, intervals overlapping, at "),
        (8e-3, "fastest in 0 of 1 cases that a CPU library was timed in. **Behind**"),
    ):
        rows = [on_the_cpu("cpu_best", ours), on_the_cpu("peer_pandas", 6e-3), on_the_cpu("peer_numba_cpu", 4e-3)]
        found = rivals.standings(
            select.load([written([line for line in GOLDEN if line["kind"] == "environment"] + rows, "cpu.jsonl")]),
            "rolling",
        )
        assert said in standing.cpu_text(found), standing.cpu_text(found)
    assert "`peer_numba_cpu`, numba 0.62.1, 2.00x (1.64 to 2.44) faster than `cpu_best`" in standing.cpu_text(found)


def test_numbers():
    results = select.load([written(GOLDEN)])
    cold = next(row for row in ROWS if row["variant"] == "rolling/cuda_shared" and row["timing"])["timing"]["cold"][
        "median"
    ]
    base = next(row for row in ROWS if row["variant"] == "rolling/cuda_naive")["timing"]["cold"]["median"]
    case = "rolling n=1e9 window=3000 agg=mean"
    gain = numbers.answer(results, f"gain rolling/cuda_shared over rolling/cuda_naive on {case}")
    assert abs(float(gain.split("x")[0]) - base / cold) < 0.006 * base / cold and re.fullmatch(
        r"[\d.]+x (±\d+%|\([\d.]+ to [\d.]+\))", gain
    ), gain
    assert numbers.answer(results, "published rolling-naive-to-tile") == "15.4x"
    assert (
        numbers.answer(results, "here rolling-prefix-seconds")
        == numbers.answer(results, "time rolling/cuda_none on rolling n=7")
        == numbers.NOTHING
    )
    assert "speed-ups 1 of 2 in size" in numbers.answer(results, "claims")
    assert numbers.answer(results, "claims short").startswith("speed-ups 1 of 2 (")
    text = "before <!-- row: published rolling-naive-to-tile -->old<!-- /row --> after"
    assert numbers.filled(results, text, "x.md") == text.replace("old", "15.4x")
    for query in ("rubbish", "gain rolling/cuda_shared", "time"):
        try:
            numbers.filled(results, f"\n<!-- row: {query} -->1<!-- /row -->", pathlib.Path("x.md"))
            raise AssertionError(f"{query} was answered")
        except numbers.BadNumber as error:
            assert "x.md:2: " in str(error), error


def test_numbers_in_the_documentation_are_those_of_the_committed_rows():
    rows = sorted(path for path in (SOURCE / "results").glob("*.jsonl") if path.name != "claims.jsonl")
    claims = WORK / "committed-claims.jsonl"
    if (
        subprocess.run([RUNGS, "judge", *rows, "--out", claims], capture_output=True).returncode == 4
    ):  # a build without CUDA
        claims = SOURCE / "results/claims.jsonl"  # the same: test_claims.py
    results, seen = select.load([*rows, claims]), 0
    for path in numbers.pages(SOURCE):
        text = path.read_text()
        seen += len(numbers.MARKER.findall(text))
        assert numbers.filled(results, text, path) == text, (
            f"{path}: out of date: './rungs report --committed' writes it"
        )
    assert seen >= 5, "the README has numbers"
