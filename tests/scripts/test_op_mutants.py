"""Mutants of the ops, tests/mutants/<op>/cpu_mutants.c: each is rejected where its mistake matters, for that mistake, and passes where it does not."""

import re
import sys

import numpy as np
import pytest
import test_mutants
from program import MUTANTS, SANITIZED, SOURCE, call, expect, expect_error, rows_of

sys.path.append(str(SOURCE / "tests/verification"))
import cheats

RIGHT = {"nothing"}
IN_ONE_CALL = {name.split("=")[1] for name in test_mutants.EXPECTED if name.startswith("cpu_mutants ")}


def run(folder, case, names, *options):
    """The rows of these mutants, by name."""
    out = folder / "rows.jsonl"
    variants = ",".join(f"cpu_mutants wrong={name}" for name in sorted(names))
    done = call("run", case, "--variants", variants, "--out", out, *options, program=MUTANTS)
    rows = {row["tunables"].get("wrong"): row for row in rows_of(out)}
    expect(rows.keys() == set(names), f"{case}: a row for each mutant", done)
    return done, rows


def check(folder, case, rejected, passing):
    """rejected: a set of names, or name -> a pattern of the reason."""
    reasons = rejected if isinstance(rejected, dict) else dict.fromkeys(rejected, "")
    done, rows = run(folder, case, {*reasons, *passing}, "--verify-only")
    verdicts = {name: row["verdict"] for name, row in rows.items()}
    expect(verdicts == dict.fromkeys(passing, "pass") | dict.fromkeys(reasons, "fail"), f"{case}: {verdicts}", done)
    for name, pattern in reasons.items():
        expect(re.search(pattern, rows[name]["reason"]), f"{case}: {name}: {pattern}: {rows[name]['reason']}", done)


# ---- rolling: case -> dtype -> those that are rejected; all others pass.

ALWAYS = {"window_off_by_one", "early", "zero"}
RUNNING = {"drifts", "keeps_spike"}
SPREADS = {"biased_variance"}
ROLLING = {
    "agg=mean n=5003 window=30 input=normal": {"f64": ALWAYS | {"drifts", "float_sums"}, "f32": ALWAYS},
    "agg=mean n=5003 window=30 input=spike1e16": {"f64": ALWAYS | RUNNING | {"float_sums"}, "f32": ALWAYS | RUNNING},
    "agg=mean n=5003 window=30 input=outlier": {"f64": ALWAYS | RUNNING | {"float_sums"}, "f32": ALWAYS | RUNNING},
    "agg=sum n=5003 window=30 input=naninf": {
        "f64": ALWAYS | RUNNING | {"swallows_nan", "float_sums"},
        "f32": ALWAYS | RUNNING | {"swallows_nan"},
    },
    "agg=var n=1503 window=300 input=uniform": {"f64": ALWAYS | SPREADS | {"float_sums"}, "f32": ALWAYS | SPREADS},
    "agg=var n=1503 window=300 input=outlier": {"f64": ALWAYS | SPREADS | {"float_sums"}, "f32": ALWAYS | SPREADS},
    "agg=var n=1503 window=300 input=offset1e6": {
        "f64": ALWAYS | SPREADS | {"float_sums", "textbook_variance"},
        "f32": {"early", "zero"},
    },
    # Tolerances that once let 0 pass.
    "agg=var n=3203 window=3000 input=offset1e3": {"f32": ALWAYS | SPREADS},
    "agg=std n=3203 window=3000 input=offset1e6": {"f32": {"early", "zero"}},
}

# Of f16 and bf16.
ROUNDED = {"narrow_sums", "narrow_inputs", "narrow_outputs"}
# Of f32, and where they show.
CUT = {"bf16_inputs", "tf32_inputs"}
FLOATS = {
    "discounted_cumsum n=300": r"y\[",
    "discounted_cumsum_grad batch=9 n=1000 gamma_per=row": r"dx\[",
    "ewm n=5003 span=300 adjust=false": r"y\[",
    "moments rows=301 cols=33": r"mean\[",
    "rolling n=5003 window=300 agg=mean": r"y\[",
}

# ---- ewm: case -> those that are rejected in either dtype, beside zero; all others pass.

EWM = {
    "n=5003 span=20 input=normal": set(),
    "n=5003 span=20 adjust=false input=uniform": set(),
    "n=5003 span=20 segments=mask input=normal": {"leaks_across_series"},
    "n=20011 span=20 nan=decay segments=mask input=naninf": {"forgets_gaps", "leaks_across_series"},
    "n=20011 span=20 nan=propagate segments=mask input=gaps": {"leaks_across_series"},
    "agg=var n=5003 span=20 input=normal": {"biased_variance"},
    "agg=std n=5003 span=300 adjust=false input=offset1e6": {"biased_variance", "textbook_variance"},
    "agg=std n=5003 span=300 input=offset1e6": {"biased_variance", "textbook_variance"},
    "agg=var n=5003 span=20 segments=mask input=offset1e6": {
        "biased_variance",
        "leaks_across_series",
        "textbook_variance",
    },
}

# ---- moments: case -> the output that a mutant spoils; None: it passes.

SPOILT = {
    "nothing": None,
    "ddof_one": "var",
    "unbiased_skewness": "skewness",
    "excess_kurtosis": "kurtosis",
    "last_row": "mean",
    "last_column": "mean",
}
MOMENTS = {
    "rows=301 cols=7 dtype=f32 input=uniform": {**SPOILT, "empty_part": "min", "raw_squares": None, "float_sums": None},
    "rows=20000 cols=5 dtype=f64 input=normal": {**SPOILT, "float_sums": "mean", "raw_squares": None},
    "rows=301 cols=4 dtype=f64 input=offset1e6": {
        **SPOILT,
        "raw_squares": "var",
        "float_sums": "mean",
        "empty_part": "min",
    },
    "rows=3000 cols=2 dtype=f64 input=naninf": {"nothing": None, "passes_over_nan": "min"},
}

# ---- discounted_cumsum: a lost stage and a power off by one, also where the published code loses its stage, one element past 2^21.

DISCOUNTED = {
    2: ({"lost_stage", "power_off_by_one"}, {"float_stages"}),
    3: ({"lost_stage", "power_off_by_one"}, {"float_stages"}),
    1025: ({"lost_stage", "power_off_by_one"}, {"float_stages"}),
    2097152: (set(), {"float_stages"}),
    2097153: ({"lost_stage", "float_stages"}, set()),
}

# Of f16 and bf16: what is rounded once too often, or not at all. From inputs that are cut, and factors (0.999 is 1 in bf16).

NARROW = {"narrow_sums", "narrow_inputs", "narrow_outputs", "narrow_factor"}

# ---- discounted_cumsum_grad: at the sizes, dtypes and input families of sweeps/, sizes/ and the gate, scaled to what a test can run. A row
# more or less shows in float32 too, where terms of both signs cancel (normal).

PART = {"zero_dgamma", "wrong_sign", "drops_part"}
ROW = PART | {"drops_row"}
GRADIENTS = {
    "batch=1 n=1e5 dtype=f32 input=normal": PART,
    "batch=1 n=1e6 dtype=f32 input=normal": PART,
    "batch=1 n=1e6 dtype=f64 input=normal": PART,
    "batch=1 n=1e6 dtype=f32 input=uniform": PART,
    "batch=1 n=1e6 dtype=f32 input=integers gamma=1": PART,
    "batch=1000 n=1024 dtype=f32 input=normal": ROW,
    "batch=1000 n=1024 dtype=f64 input=normal": ROW,
    "batch=1000 n=1024 dtype=f32 input=uniform": ROW,
    "batch=1000 n=1024 dtype=f32 input=integers gamma=1": ROW,
    "batch=1000 n=1024 dtype=f32 input=normal gamma_per=row": ROW,
    "batch=16384 n=64 dtype=f32 input=normal": ROW,
    "batch=16384 n=64 dtype=f64 input=uniform": ROW,
    "batch=16384 n=64 dtype=f32 input=integers gamma=1": ROW,
    "batch=3 n=2000 dtype=f32 input=normal": ROW,
}

# ---- double: what depends on what memory held before is rejected from one of three poisons.

DOUBLE = {"adds", "keeps_larger", "keeps_smaller", "dirty_scratch", "narrow_inputs"}

# ---- All of them as (case, rejected, passing).


def cases():
    yield "double n=1003 input=normal", DOUBLE, RIGHT
    for dtype in ("f32", "f16", "bf16"):
        yield f"double n=1003 dtype={dtype} input=normal", {"narrow_inputs"}, RIGHT
    rolling, ewm = cheats.named("rolling") - CUT, cheats.named("ewm") - CUT
    for case, by_dtype in ROLLING.items():
        for dtype, wrong in by_dtype.items():
            yield f"rolling {case} dtype={dtype}", wrong, rolling - wrong
    for dtype in ("f16", "bf16"):
        for case in ("agg=mean window=30 input=normal", "agg=sum window=300 input=uniform"):
            yield f"rolling n=5003 {case} dtype={dtype}", ROUNDED, RIGHT
    for dtype in ("f16", "bf16"):
        yield f"ewm n=5003 span=300 adjust=false dtype={dtype} input=normal", NARROW, RIGHT
    for case, wrong in EWM.items():
        for dtype in ("f64", "f32"):
            yield f"ewm {case} dtype={dtype}", wrong | {"zero"}, ewm - wrong - {"zero"}
    for case, spoilt in MOMENTS.items():
        rejected = {name: rf"{output}\[" for name, output in spoilt.items() if output}
        yield f"moments {case}", rejected, spoilt.keys() - rejected.keys()
    for dtype in ("f16", "bf16", "e4m3", "e5m2"):
        for case in ("rows=3001 cols=17 input=uniform", "rows=301 cols=33 input=normal"):
            eight = dtype in ("e4m3", "e5m2")  # outputs in f32
            yield f"moments {case} dtype={dtype}", ROUNDED - ({"narrow_outputs"} if eight else set()), RIGHT
    for case, output in FLOATS.items():
        yield f"{case} dtype=f32 input=normal", dict.fromkeys(CUT, output), RIGHT
        yield (
            f"{case} dtype=f32 accumulate=f64 input=normal",
            dict.fromkeys(("narrow_sums", "narrow_outputs"), ""),
            RIGHT,
        )
    for n, (wrong, passing) in DISCOUNTED.items():
        yield f"discounted_cumsum n={n} dtype=f32 input=uniform", wrong, passing | RIGHT
    for dtype in ("f16", "bf16"):
        for case in ("n=4099 gamma=0.999 input=normal", "n=4099 input=uniform", "n=65 gamma=0.9 input=mixed"):
            yield f"discounted_cumsum {case} dtype={dtype}", NARROW, RIGHT
    states = {"stateless": r"y\[", "stale_state": r"y\[", "early_final": r"final\[", "neighbour_factor": r"y\["}
    options = "layout=time_major state=both gamma_per=element direction=left"
    for size in ("batch=70 n=300", "batch=3 n=20011", "batch=2 n=2"):
        yield f"discounted_cumsum {size} {options} input=normal", states, RIGHT
    narrow = {"narrow_sums": "", "narrow_inputs": r"dx\[", "narrow_outputs": r"dx\[", "narrow_dx": "dgamma"}
    for dtype in ("f16", "bf16"):
        yield f"discounted_cumsum_grad batch=9 n=1000 gamma_per=row dtype={dtype} input=normal", narrow, RIGHT
    for case, wrong in GRADIENTS.items():
        yield f"discounted_cumsum_grad {case}", dict.fromkeys(wrong, "dgamma"), RIGHT


CASES = list(cases())


@pytest.mark.parametrize(("case", "rejected", "passing"), CASES, ids=[case for case, _, _ in CASES])
def test_rejected_where_it_matters(folder, case, rejected, passing):
    check(folder, case, rejected, passing)


# Where more than 64 terms are added up: seed after seed.
MANY = [
    "rolling agg=mean n=1003 window=300",
    "ewm n=1003 span=300 adjust=false",
    "moments rows=301 cols=7",
    "discounted_cumsum n=1200",
    "discounted_cumsum_grad batch=9 n=400 gamma_per=row",
]
SEEDS = range(1, 5)  # more: test_rates.py


def seeds_missed(folder, case, names, family, seeds):
    """By name: those of the seeds with which the mutant passes."""
    out = folder / f"{family}.jsonl"
    cases = [f"{case} input={family} seed={seed}" for seed in sorted(seeds)]
    variants = ",".join(f"cpu_mutants wrong={name}" for name in sorted(names))
    words = ("--variants", variants, "--verify-only", "--no-ceilings", "--out", out)
    done = call("run", *cases, *words, program=MUTANTS, timeout=3600)
    missed = {name: set() for name in names}
    for row in rows_of(out):
        expect(row["verdict"] in ("pass", "fail"), f"{row['spec']}: {row['reason']}", done)
        if row["verdict"] == "pass":
            missed[row["tunables"]["wrong"]].add(row["seed"])
    return missed


@pytest.mark.parametrize("dtype", ["f32", "f16", "bf16"])
@pytest.mark.parametrize("case", MANY)
def test_every_seed_tells_what_is_cut(folder, case, dtype):
    """In one of two families; of a thousand seeds one may miss it."""
    case, wrong = f"{case} dtype={dtype}", CUT if dtype == "f32" else ROUNDED
    missed = seeds_missed(folder, case, wrong | RIGHT, "normal", SEEDS)
    assert missed.pop("nothing") == set(SEEDS), "a right one passes"
    for name, seeds in missed.items():
        if seeds:
            seeds = seeds_missed(folder, case, {name}, "uniform", seeds)[name]
        assert 1000 * len(seeds) <= len(SEEDS), f"{name}: {seeds}"


@pytest.mark.parametrize(
    "op", ["double", "rolling", "ewm", "moments", "discounted_cumsum", "discounted_cumsum_grad", "redact"]
)
def test_every_mutant_has_an_expectation(op):
    told = {name for case, rejected, _ in CASES if case.split()[0] == op for name in rejected}
    told |= {"redact": REDACT.keys(), "double": {"leaves_poison", *IN_ONE_CALL}}.get(op, set())
    assert told | RIGHT == cheats.named(op)


def test_right_values_that_equal_poison(folder):
    """Who writes them passes, and who leaves what was there is found out, whichever of the patterns it is."""
    x = np.array([1] + [np.frombuffer(bytes([byte]) * 8, "<f8")[0] / 2 for byte in (0xFF, 0x7B, 0xFB)])
    np.save(folder / "x.npy", x)
    words = ("--in", f"x={folder}/x.npy", "--out", f"y={folder}/y.npy", "--check")
    done = call("exec", "double/cpu_mutants", *words, program=MUTANTS)
    expect(done.returncode == 0 and np.array_equal(np.load(folder / "y.npy"), 2 * x, equal_nan=True), "written", done)
    expect(done.stdout.count("y passes") == 1, "and it is said once", done)
    done = call("exec", "double/cpu_mutants", "--set", "wrong=leaves_poison", *words, program=MUTANTS)
    expect_error(done, 1, "check failed: y[", "was never written")


@pytest.mark.parametrize("wrong", ["adds", "keeps_larger", "keeps_smaller", "dirty_scratch"])
def test_exec_checks_from_every_poison(folder, wrong):
    np.save(folder / "x.npy", np.array([1.0, -2.0, 1e300]))
    words = ("--in", f"x={folder}/x.npy", "--out", f"y={folder}/y.npy", "--set", f"wrong={wrong}")
    expect_error(call("exec", "double/cpu_mutants", *words, "--check", program=MUTANTS), 1, "check failed: y[")
    assert not (folder / "y.npy").exists()


# ---- redact: outputs that a variant allocates. Name -> verdict, what its reason must say.

REDACT = {
    "nothing": ("pass", ""),
    "count_on_device": ("pass", ""),
    "count_unwritten": (
        "fail",
        r"output redacted\.chars: run\(\) made it u8\[\d{10,}\]; at most u8\[\d+\] is possible",
    ),
    "leaks_block": ("fail", r"leaks 1 block of 100 bytes in all: neither released nor returned"),
    "overruns_block": ("fail", r"redacted\.chars u8\[\d+\]: written past its end: the first changed byte is 0 after"),
    "overruns_scratch": ("fail", r"a block of 1000 bytes u8\[1000\]: written past its end"),
    "wrong_byte": (
        "fail",
        r'redacted\.chars\[\d+\] is 0x.., expected 0x..; row \d+ is ".+", expected ".+"; 1 of \d+ elements differ',
    ),
    "wrong_offset": (
        "fail",
        r"redacted\.offsets\[5004\] is (\d+), expected \d+; row 5003 is .+, expected .+; 1 of 10008 elements differ",
    ),
    "wrong_null": (
        "fail",
        r'redacted\.validity\[0\] is 0x.., expected 0x..; row \d is null, expected ".+"; 1 of 1251 elements differ',
    ),
    "too_short": ("fail", r"redacted\.chars has (\d+) elements, expected \d+"),
    "too_long": ("fail", r"output redacted\.chars u8\[\d+\]: larger than its block of \d+ bytes"),
    "too_many_rows": (
        "fail",
        r"output redacted\.offsets: run\(\) made it i32\[10009\]; at most i32\[10008\] is possible",
    ),
    "foreign_pointer": ("fail", r"output redacted\.chars .*not the start of a block that args->memory allocated"),
    "no_data": ("fail", r"output redacted\.chars .*run\(\) set elements but no data"),
    "hands_over_released": ("fail", r"output redacted\.chars .*its block of \d+ bytes was released"),
    "releases_input": ("fail", r"releases a pointer that args->memory did not allocate"),
    "releases_twice": ("fail", r"releases a block of 1000 bytes twice"),
    "unwritten": ("fail", r"output redacted\.chars: element \d+ was never written"),
    "unsteady": ("fail", r"output redacted\.chars: two runs on the same inputs differ, first in element 0"),
    "empty_later": ("fail", r"in timing, cold sample \d+|on the second data set|two runs on the same inputs"),
    "leaks_elsewhere": ("fail", r"leaks memory: one run ended with \d+ more bytes in use"),
    "cannot": ("skip", r"row 17 would become longer than it was"),
}
ENDED_BY_SANITIZER = {"leaks_elsewhere", "hands_over_released", "overruns_block", "overruns_scratch"}
REDACTED = sorted(REDACT.keys() - (ENDED_BY_SANITIZER if SANITIZED else set()))


@pytest.fixture(scope="module")
def redacted(shared_folder):
    done, rows = run(shared_folder, "redact rows=10007 nulls=some", REDACTED, "--quick")
    expect(done.returncode == 1, "failures end in exit code 1", done)
    return rows


@pytest.mark.parametrize("name", REDACTED)
def test_allocated_outputs(redacted, name):
    verdict, pattern = REDACT[name]
    row = redacted[name]
    assert row["verdict"] == verdict and re.search(pattern, row["reason"] or "", re.S), row["reason"]
    assert verdict == "pass" or row["timing"] is None


def test_mismatches_are_counted(redacted):
    errors = redacted["wrong_byte"]["errors"]["redacted.chars"]
    assert errors["count"] == errors["expected_count"] and errors["mismatches"] == 1
    assert errors["first_mismatch"] == errors["count"] // 2
    errors = redacted["too_short"]["errors"]["redacted.chars"]
    assert errors["expected_count"] - errors["count"] == 1 == errors["mismatches"]
    assert errors["first_mismatch"] == errors["count"]
