"""errors.py - how small an error of one element is that each op's own bound catches, beside the largest error of any variant of this
repository that answers to that bound, on the same case. Kept in errors.json."""

import json
import pathlib
import re
import subprocess
import tempfile

KEPT = pathlib.Path(__file__).with_name("errors.json")
FEW_ULPS = 64  # the goal where few numbers are added
TIMES = 4  # elsewhere: the tolerance is at most so many times the largest error of a variant
# An output of one element, or of few, is one draw of an error; the largest of several seeds is compared.
SEEDS = {"discounted_cumsum_grad": 8, "moments": 4}

CASES = [
    f"{case} dtype={dtype}"
    for case in (
        "double n=10007 input=normal",
        "rolling agg=mean n=20011 window=30 input=uniform",
        "rolling agg=mean n=20011 window=300 input=uniform",
        "rolling agg=mean n=20011 window=300 input=normal",
        "rolling agg=sum n=20011 window=300 input=uniform",
        "rolling agg=var n=20011 window=300 input=normal",
        "rolling agg=std n=20011 window=300 input=offset1e3",
        "rolling agg=max n=20011 window=300 input=normal",
        "ewm agg=mean n=20011 span=30 input=uniform",
        "ewm agg=mean n=20011 span=300 input=uniform",
        "ewm agg=mean n=20011 span=300 input=normal",
        "ewm agg=var n=20011 span=300 input=normal",
        "ewm agg=std n=20011 span=300 input=uniform",
        "discounted_cumsum n=20011 input=uniform",
        "discounted_cumsum n=20011 input=normal",
        "discounted_cumsum n=20011 gamma=1 input=normal",
        "discounted_cumsum batch=3 n=3001 k=100 input=normal",
        "discounted_cumsum_grad n=20011 input=uniform",
        "discounted_cumsum_grad batch=5 n=3001 gamma_per=row input=normal",
        "moments rows=2011 cols=37 input=uniform",
        "moments rows=2011 cols=37 input=normal",
        "moments rows=1009 cols=5 weights=row input=normal",
    )
    for dtype in ("f64", "f32")
] + [
    f"{case} dtype={dtype}"
    for case in (
        "double n=10007 input=normal",
        "discounted_cumsum n=20011 input=uniform",
        "discounted_cumsum n=20011 input=normal",
    )
    for dtype in ("f16", "bf16")
]
CHEAP = [case for case in CASES if re.match(r"double|rolling agg=mean .*uniform|moments rows=1009", case)]


def smallest(program, case):
    """One entry for each output of the case that has numbers."""
    done = subprocess.run([program, case], capture_output=True, text=True, check=True, timeout=600)
    return [{"case": case, **output} for output in map(json.loads, done.stdout.splitlines()) if output["elements"]]


def without_term(entries):
    """Those whose goal is not met although nothing says which term of the bound prevents it."""
    return [entry for entry in entries if not goal(entry) and not entry.get("term")]


def looser(rungs):
    """The variants that declare a looser bound: what they err by says nothing about the op's own, even where they stay within it."""
    done = subprocess.run([rungs, "list", "variants", "--json"], capture_output=True, text=True, check=True, timeout=60)
    return {variant["id"] for variant in json.loads(done.stdout) if variant["bound"]}


def honest(rungs, case, left_out, folder):
    """{output: (ratio to the tolerance, ulps, variant)} of the variant that errs most under the op's own bound."""
    out = pathlib.Path(folder) / "rows.jsonl"
    out.unlink(missing_ok=True)
    seeds = [f"{case} seed={seed}" for seed in range(1, SEEDS.get(case.split()[0], 1) + 1)]
    subprocess.run(
        [rungs, "run", *seeds, "--verify-only", "--no-ceilings", "--no-counts", "--out", out],
        capture_output=True,
        text=True,
        timeout=3600,
    )
    worst = {}
    for row in map(json.loads, out.open()):
        if row["kind"] != "row" or row["verdict"] != "pass" or row["variant"] in left_out:
            continue
        for output, error in (row["errors"] or {}).items():
            found = (error["max_ratio"] or 0, error["max_ulp"] or 0, row["variant"].split("/")[1])
            worst[output] = max(worst.get(output, (0, 0, "")), found)
    return worst


def measure(build, cases):
    found, rungs = [], build / "bin" / "rungs"
    left_out = looser(rungs)
    with tempfile.TemporaryDirectory() as folder:
        for case in cases:
            worst = honest(rungs, case, left_out, folder)
            for entry in smallest(build / "tests" / "smallest_error", case):
                ratio, ulps, variant = worst.get(entry["output"], (0, 0, ""))
                found.append({**entry, "honest_ratio": ratio, "honest_ulps": ulps, "honest_variant": variant})
    return found


def keep(found):
    KEPT.write_text("[\n" + ",\n".join(" " + json.dumps(entry) for entry in found) + "\n]\n")


def read():
    return json.loads(KEPT.read_text()) if KEPT.exists() else []


def goal(entry):
    """How the goal is met; None: it is not."""
    if entry["median_ulps"] <= FEW_ULPS:
        return f"{FEW_ULPS} ulps"
    return f"{TIMES}x" if entry["honest_ratio"] * TIMES >= 1 else None
