"""f16 and bf16 through the whole program: files, families, timed calls, verdicts. NumPy's float16 and the bits of float32 say what is right."""

import importlib.util
import json

import numpy as np
import pytest

from program import MUTANTS, SOURCE, call, expect, expect_error, needs_emulator, rows_of

ALL = np.arange(1 << 16, dtype=np.uint16)
VARIANT = "double/cpu_loop"
EACH = pytest.mark.parametrize(
    "words",
    [
        (VARIANT,),
        pytest.param(("double/cuda_naive", "--emulate"), marks=needs_emulator),
        pytest.param(("double/cuda_vector", "--emulate"), marks=needs_emulator),
    ],
)


def doubled_bf16(bits):
    """Of the upper halves of float32: doubling is exact, or overflows."""
    with np.errstate(over="ignore", invalid="ignore"):
        return ((bits.astype(np.uint32) << 16).view(np.float32) * np.float32(2)).view(np.uint32) >> 16


def same(a, b, is_nan):
    return np.array_equal(a[~is_nan], b[~is_nan])


@EACH
def test_every_f16(folder, words):
    np.save(folder / "x.npy", ALL.view(np.float16))
    done = call("exec", *words, "--in", "x=x.npy", "--out", "y=y.npy", "--check", cwd=folder)
    expect(done.returncode == 0 and "check: y passes" in done.stdout, "all f16", done)
    y = np.load(folder / "y.npy")
    assert y.dtype == np.float16
    with np.errstate(over="ignore", invalid="ignore"):
        expected = ALL.view(np.float16) * np.float16(2)
    assert np.array_equal(np.isnan(y), np.isnan(expected))
    assert same(y.view(np.uint16), expected.view(np.uint16), np.isnan(expected))


@EACH
def test_every_bf16(folder, words):
    """NumPy has no bfloat16: files hold two bytes an element, as ml_dtypes writes them."""
    np.save(folder / "x.npy", ALL.view("V2"))
    words = ("exec", *words, "--in", "x=x.npy", "--out", "y=y.npy", "--check")
    expect_error(call(*words, cwd=folder), 2, "x.npy: dtype '<V2' has no name", "--in x:bf16=", "--set dtype=bf16")
    for named in (tuple(word.replace("x=", "x:bf16=") for word in words), (*words, "--set", "dtype=bf16")):
        done = call(*named, cwd=folder)
        expect(done.returncode == 0 and "y.npy: bf16[65536]" in done.stdout, "all bf16", done)
    y = np.load(folder / "y.npy")
    assert y.dtype == np.dtype("V2")
    bits, expected = y.view(np.uint16), doubled_bf16(ALL)
    is_nan = (ALL & 0x7FFF) > 0x7F80
    assert ((bits[is_nan] & 0x7FFF) > 0x7F80).all()
    assert same(bits.astype(np.uint32), expected, is_nan)


def test_files_of_other_types(folder):
    np.save(folder / "x.npy", np.zeros(8, np.float16))
    words = ("--in", "x=x.npy", "--out", "y=y.npy", "--set")
    expect_error(
        call("exec", "moments/cpu_best", "--in", "x=x.npy", "--out", "mean=y.npy", cwd=folder), 4, "does not take f16"
    )
    for wrong in ("f32", "half"):
        expect_error(call("exec", VARIANT, "--in", f"x:{wrong}=x.npy", "--out", "y=y.npy", cwd=folder), 2, wrong)
    expect_error(call("exec", "rolling/cpu_best", *words, "window=2", cwd=folder), 4, "does not take f16")
    function = ("--set", "agg=apply", "--set", f"function={SOURCE / 'examples/apply/running_mean.cu'}")
    expect_error(call("exec", "rolling/cuda_apply", *words, "window=2", *function, cwd=folder), 2, "not of f16")
    np.save(folder / "x.npy", np.zeros(8, ">f2"))
    expect_error(call("exec", VARIANT, "--in", "x=x.npy", "--out", "y=y.npy", cwd=folder), 2, "big endian")


@pytest.mark.parametrize("dtype", ["f16", "bf16"])
@pytest.mark.parametrize("family", ["uniform", "normal", "ones", "mixed", "denormal", "naninf"])
def test_rows(folder, dtype, family):
    """Verified and timed, each sample on data of its own."""
    out = folder / "rows.jsonl"
    done = call(
        "run", f"double n=20011 dtype={dtype} input={family}", "--variants", "cpu_loop", "--quick", "--out", out
    )
    (row,) = rows_of(out)
    expect(done.returncode == 0 and row["verdict"] == "pass", f"{dtype} {family}", done)
    assert row["dtype"] == dtype and row["timing"]["cold"]["count"] >= 3
    assert row["work"]["bytes"] == 2 * 2 * 20011


@pytest.mark.parametrize("dtype, n", [("f16", 2000), ("bf16", 300)])
def test_a_ramp_ends_where_the_type_does(folder, dtype, n):
    out = folder / "rows.jsonl"
    call("run", f"double n={n} dtype={dtype} input=ramp", "--variants", "cpu_loop", "--quick", "--out", out)
    (row,) = rows_of(out)
    assert row["verdict"] != "pass" and "counts up to n" in row["reason"], row
    out.unlink()
    done = call("run", f"double n=200 dtype={dtype} input=ramp", "--variants", "cpu_loop", "--quick", "--out", out)
    expect(done.returncode == 0, "as far as whole numbers go", done)


def test_an_op_without_the_type():
    expect_error(call("run", "redact rows=1000 dtype=f16"), 2, "dtype='f16' is not allowed", "i32")


WRONG = """#include "base/narrow.h"
#include "variant.h"

static Status run(const VariantArgs *args) {
    const NarrowForm form = args->problem->dtype == DTYPE_F16 ? NARROW_F16 : NARROW_BF16;
    const uint16_t *x = args->in[0].data;
    uint16_t *y = args->out[0].data;
    for (size_t i = 0; i < array_count(&args->in[0]); i++) y[i] = (uint16_t)(narrow_bits(form, 2 * narrow_value(form, x[i])) + 1);
    return STATUS_OK;
}

static const DType DTYPES[] = {DTYPE_F16, DTYPE_BF16, DTYPE_COUNT};
RUNGS_VARIANT(double, cpu_one_up) = {
    .backend = BACKEND_CPU, .summary = "wrong", .origin = "a test", .dtypes = DTYPES, .run = run};
"""


@pytest.mark.parametrize("dtype", ["f16", "bf16"])
def test_one_unit_in_the_last_place_is_seen(folder, dtype):
    """Of the type: the error is counted in those."""
    (folder / "cpu_one_up.c").write_text(WRONG)
    out = folder / "rows.jsonl"
    words = ("--op", "double", f"n=20011 dtype={dtype}", "--no-sandbox", "--quick", "--out", out)
    done = call("try", folder / "cpu_one_up.c", *words)
    rows = {row["variant"]: row for row in rows_of(out)}
    wrong = next(row for name, row in rows.items() if "one_up" in name)
    expect(done.returncode == 1 and wrong["verdict"] == "fail", dtype, done)
    assert wrong["errors"]["y"]["max_ulp"] == 1, wrong


def test_a_variant_that_does_not_say_that_it_takes_the_type(folder):
    """It is skipped: it would take two bytes for four."""
    out = folder / "rows.jsonl"
    text = WRONG.replace(".dtypes = DTYPES, ", "").replace("static const DType DTYPES[]", "const DType SILENT[]")
    (folder / "cpu_silent.c").write_text(text)
    call("try", folder / "cpu_silent.c", "--op", "double", "n=1003 dtype=f16", "--no-sandbox", "--quick", "--out", out)
    silent = next(row for row in rows_of(out) if "silent" in row["variant"])
    assert silent["verdict"] == "skip" and "f16" in silent["reason"] and ".dtypes" in silent["reason"], silent


@pytest.mark.skipif(not MUTANTS.exists(), reason="the tests' variants are not built")
def test_numpy(folder):
    """f16 is its float16; bf16 takes ml_dtypes, without which the row says so."""
    out = folder / "rows.jsonl"
    cases = [f"double n=20011 dtype={dtype}" for dtype in ("f16", "bf16")]
    done = call("run", *cases, "--variants", "peer_right", "--quick", "--out", out, program=MUTANTS)
    f16, bf16 = rows_of(out)
    expect(f16["verdict"] == "pass" and f16["timing"]["hot"]["count"] >= 3, "float16", done)
    if importlib.util.find_spec("ml_dtypes"):
        assert bf16["verdict"] == "pass", bf16
    else:
        assert bf16["verdict"] == "skip" and "ml_dtypes" in bf16["reason"], bf16


# ---- Sums of f16 and bf16 are made in f32. What is right is said in float64, by the definition.


def discounted(x, gamma):
    y = np.zeros(len(x) + 1)
    for i in reversed(range(len(x))):
        y[i] = x[i] + gamma * y[i + 1]
    return y[:-1]


SUMS = pytest.mark.parametrize(
    "words",
    [
        ("discounted_cumsum/cpu_sequential",),
        pytest.param(("discounted_cumsum/cuda_agent_scan", "--emulate"), marks=needs_emulator),
        pytest.param(("discounted_cumsum/cuda_one_hop", "--emulate"), marks=needs_emulator),
        pytest.param(("discounted_cumsum/cuda_cub_scan", "--emulate"), marks=needs_emulator),
        pytest.param(("discounted_cumsum/cuda_warp_row", "--emulate"), marks=needs_emulator),
    ],
)


@SUMS
def test_sums_are_rounded_once(folder, words):
    """The discount is an f32: 0.999 is 1 in f16."""
    x = np.random.default_rng(5).standard_normal(1000).astype(np.float16)
    np.save(folder / "x.npy", x)
    options = ("--set", "gamma=0.9999", "--in", "x=x.npy", "--out", "y=y.npy", "--check")
    done = call("exec", *words, *options, cwd=folder)
    expect(done.returncode == 0, "f16", done)
    y, right = np.load(folder / "y.npy"), discounted(x.astype(float), float(np.float32(0.9999)))
    assert y.dtype == np.float16
    rounded = right.astype(np.float16)
    assert np.count_nonzero(y != rounded) <= 10, "but where the sum is halfway between two numbers"
    assert (np.abs(y - rounded) <= np.spacing(np.abs(rounded))).all()


def test_factors_of_elements_are_of_the_type(folder):
    """One for all is an f32."""
    rng = np.random.default_rng(6)
    x, gamma = rng.standard_normal((3, 50)).astype(np.float16), rng.uniform(0.5, 1, (3, 50))
    np.save(folder / "x.npy", x)
    words = ("exec", "discounted_cumsum/cpu_sequential", "--in", "x=x.npy", "--in", "gamma=g.npy", "--out", "y=y.npy")
    for factors, message in (
        (gamma.astype(np.float32), "gamma: f16 is expected, as x has it, not f32"),
        (np.array([0.5], np.float16), "gamma: f32 is expected, the type of sums, not f16"),
    ):
        np.save(folder / "g.npy", factors)
        expect_error(call(*words, cwd=folder), 2, message)
    for factors in (gamma.astype(np.float16), np.array([0.9], np.float32)):
        np.save(folder / "g.npy", factors)
        expect(call(*words, "--check", cwd=folder).returncode == 0, f"{factors.dtype}")


def test_sums_overflow_in_the_type(folder):
    """Where f32 has the sum, f16 has an infinity; a later sum is back in range."""
    np.save(folder / "x.npy", np.array([-6e4, 6e4, 6e4, 1], np.float16))
    words = ("--set", "gamma=1", "--in", "x=x.npy", "--out", "y=y.npy", "--check")
    expect(call("exec", "discounted_cumsum/cpu_sequential", *words, cwd=folder).returncode == 0, "checked")
    assert np.load(folder / "y.npy").tolist() == [60000.0, np.inf, 60000.0, 1.0]


@pytest.mark.parametrize("dtype", ["f16", "bf16"])
def test_sums_in_timed_calls(folder, dtype):
    out = folder / "rows.jsonl"
    case = f"discounted_cumsum batch=3 n=3001 gamma_per=row dtype={dtype} input=normal"
    done = call("run", case, "--variants", "cpu_sequential", "--quick", "--out", out)
    (row,) = rows_of(out)
    expect(done.returncode == 0 and row["verdict"] == "pass", dtype, done)
    assert row["work"]["bytes"] == 2 * (2 * 3 * 3001 + 3) and "shift" in row["tells"], row["tells"]


# ---- Numbers of 8 bits: OCP's definition, written down once more.


def e4m3(bits):
    sign, exponent, fraction = -1.0 if bits & 0x80 else 1.0, bits >> 3 & 15, bits & 7
    if bits & 0x7F == 0x7F:
        return np.nan
    return sign * (fraction / 8 * 2.0**-6 if exponent == 0 else (1 + fraction / 8) * 2.0 ** (exponent - 7))


EIGHT = {
    "e4m3": ("V1", np.array([e4m3(bits) for bits in range(256)], np.float32)),
    "e5m2": ("V1", (np.arange(256, dtype=np.uint16) << 8).view(np.float16).astype(np.float32)),
}
MOMENTS = pytest.mark.parametrize(
    "words",
    [
        ("moments/cpu_two_pass",),
        pytest.param(("moments/cuda_one_read_first_row", "--emulate"), marks=needs_emulator),
        pytest.param(("moments/cuda_welford", "--emulate"), marks=needs_emulator),
    ],
)


def save_as(path, bits, descr):
    """As ml_dtypes' arrays are saved: '<V1', and '<f1', which NumPy itself has no type for."""
    np.save(path, bits.view("V1"))
    path.write_bytes(path.read_bytes().replace(b"'|V1'", f"'{descr}'".encode()))


@MOMENTS
@pytest.mark.parametrize("dtype", ["e4m3", "e5m2"])
def test_every_number_of_8_bits(folder, words, dtype):
    """The mean of one row is the row."""
    expected, descr = EIGHT[dtype][1], {"e4m3": "<V1", "e5m2": "<f1"}[dtype]
    save_as(folder / "x.npy", np.arange(256, dtype=np.uint8).reshape(1, 256), descr)
    exec_words = ("exec", *words, "--in", "x=x.npy", "--out", "mean=m.npy", "--out", "max=b.npy", "--check")
    expect_error(call(*exec_words, cwd=folder), 2, f"dtype '{descr}' has no name", f"--in x:{dtype}=", f"dtype={dtype}")
    done = call(*exec_words, "--set", f"dtype={dtype}", cwd=folder)
    expect(done.returncode == 0, dtype, done)
    for name in ("m.npy", "b.npy"):
        given = np.load(folder / name)
        assert given.dtype == np.float32 and np.array_equal(given, expected, equal_nan=True), name


def test_bits_that_an_option_names(folder):
    """As PyTorch's view(torch.uint16) and view(torch.uint8) give them to NumPy, which has none of these types."""
    np.save(folder / "x.npy", ALL)
    words = ("exec", VARIANT, "--in", "x=x.npy", "--out", "y=y.npy", "--check")
    expect_error(call(*words, cwd=folder), 2, "x.npy: dtype u16; float64, float32, float16 or bfloat16 is expected")
    named = tuple(word.replace("x=", "x:bf16=") for word in words)
    expect(call(*named, cwd=folder).returncode == 0, "bf16")
    y = np.load(folder / "y.npy")
    assert y.dtype == np.dtype("V2")
    assert same(y.view(np.uint16).astype(np.uint32), doubled_bf16(ALL), (ALL & 0x7FFF) > 0x7F80)
    np.save(folder / "x.npy", np.arange(256, dtype=np.uint8).reshape(1, 256))
    for dtype, (_, expected) in EIGHT.items():
        words = ("--in", f"x:{dtype}=x.npy", "--out", "mean=m.npy", "--check")
        expect(call("exec", "moments/cpu_two_pass", *words, cwd=folder).returncode == 0, dtype)
        assert np.array_equal(np.load(folder / "m.npy"), expected, equal_nan=True)
    expect_error(call(*named, cwd=folder), 2, "x.npy: dtype u8, but --in says bf16")


@pytest.mark.parametrize(
    "array, words, message",
    [
        (np.zeros(8, "V2"), ("--in", "x=x.npy", "--set", "dtype=f16"), "dtype bf16, but --set dtype says f16"),
        (np.zeros(8, "V2"), ("--in", "x:f16=x.npy"), "dtype bf16, but --in says f16"),
        (np.zeros(8, "V1"), ("--in", "x:e5m2=x.npy"), "dtype e4m3, but --in says e5m2"),
        (np.zeros(8, "V1"), ("--in", "x:e4m3=x.npy"), "dtype e4m3; float64, float32, float16 or bfloat16 is expected"),
        (np.zeros(8, "V4"), ("--in", "x=x.npy"), "dtype '|V4' is not supported; '<f2', '<f4'"),
        (np.zeros(8, np.int16), ("--in", "x=x.npy"), "dtype '<i2' is not supported; '<f2', '<f4'"),
        (np.zeros(8, "f4,f4"), ("--in", "x=x.npy"), "dtype is structured; '<f2', '<f4'"),
        (np.zeros(8, bool), ("--in", "x=x.npy"), "dtype bool; float64, float32"),
        (np.zeros(8, np.float16), ("--in", "x:fp8=x.npy"), "--in x:fp8=...: a dtype is expected behind the colon"),
        (np.zeros(8, np.float32), ("--in", "x=x.npy", "--set", "dtype=bf16"), "--set dtype=bf16, but x.npy is f32"),
    ],
)
def test_files_that_are_not_what_is_said(folder, array, words, message):
    np.save(folder / "x.npy", array)
    expect_error(call("exec", VARIANT, *words, "--out", "y=y.npy", cwd=folder), 2, message)


def test_an_archive_is_no_array(folder):
    np.savez(folder / "x.npz", x=np.zeros(8))
    words = ("--in", "x=x.npz", "--out", "y=y.npy")
    expect_error(call("exec", VARIANT, *words, cwd=folder), 2, "not a .npy file but an archive", "numpy.save()")


def test_weights_beside_numbers_of_8_bits(folder):
    np.save(folder / "x.npy", np.zeros((4, 2), "V1"))
    np.save(folder / "w.npy", np.zeros(4, "V2"))
    words = ("--in", "x:e4m3=x.npy", "--in", "weights:bf16=w.npy", "--out", "mean=m.npy")
    done = call("exec", "moments/cpu_two_pass", *words, cwd=folder)
    expect_error(done, 2, "must be of one dtype, or f32 where that is the type of sums")


@MOMENTS
def test_moments_are_rounded_once(folder, words):
    x = np.random.default_rng(7).standard_normal((400, 33)).astype(np.float16)
    np.save(folder / "x.npy", x)
    done = call("exec", *words, "--in", "x=x.npy", "--out", "mean=m.npy", "--out", "var=v.npy", "--check", cwd=folder)
    expect(done.returncode == 0, "f16", done)
    for name, right in (("m.npy", x.astype(float).mean(0)), ("v.npy", x.astype(float).var(0))):
        given = np.load(folder / name)
        assert given.dtype == np.float16 and np.count_nonzero(given != right.astype(np.float16)) <= 1


def test_weights_of_8_bits_are_f32(folder):
    save_as(folder / "x.npy", np.full((5, 2), 0x38, np.uint8), "<V1")
    words = ("exec", "moments/cpu_two_pass", "--in", "x:e4m3=x.npy", "--in", "weights=w.npy", "--out", "mean=m.npy")
    np.save(folder / "w.npy", np.ones(5, np.float16))
    expect_error(call(*words, cwd=folder), 2, "f16")
    np.save(folder / "w.npy", np.ones(5, np.float32))
    expect(call(*words, "--check", cwd=folder).returncode == 0, "f32")
    assert np.load(folder / "m.npy").tolist() == [1, 1]


def test_masks_are_bools(folder):
    np.save(folder / "x.npy", np.ones(8, np.float32))
    np.save(folder / "s.npy", np.arange(8) == 4)
    words = ("--in", "x=x.npy", "--in", "starts=s.npy", "--out", "y=y.npy", "--check")
    expect(call("exec", "ewm/cpu_sequential", *words, cwd=folder).returncode == 0, "bool")


@pytest.mark.parametrize("dtype", ["e4m3", "e5m2"])
def test_timed_calls_of_8_bits(folder, dtype):
    out = folder / "rows.jsonl"
    done = call(
        "run",
        f"moments rows=3001 cols=5 dtype={dtype} input=normal",
        "--variants",
        "cpu_two_pass",
        "--quick",
        "--out",
        out,
    )
    (row,) = rows_of(out)
    expect(done.returncode == 0 and row["verdict"] == "pass", dtype, done)
    assert row["work"]["bytes"] == 3001 * 5


@pytest.mark.parametrize(
    "case", ["input=offset1e6 dtype=f16", "input=offset1e3 dtype=e4m3", "columns=scaled cols=300 dtype=e4m3"]
)
def test_inputs_stay_in_range(folder, case):
    """Families do not become infinities unseen."""
    out = folder / "rows.jsonl"
    call("run", f"moments rows=100 {case}", "--variants", "cpu_two_pass", "--verify-only", "--out", out)
    (row,) = rows_of(out)
    assert row["verdict"] != "pass" and "beyond the range" in row["reason"], row


# ---- `accumulate`: what sums are in, where it is not usual.


def verified(folder, case, *options, program=None):
    out = folder / "rows.jsonl"
    out.unlink(missing_ok=True)
    words = ("run", case, *options, "--verify-only", "--out", out)
    call(*words, program=program) if program else call(*words)
    return rows_of(out)


@pytest.mark.parametrize("dtype, n", [("f16", 400), ("bf16", 30)])
@pytest.mark.skipif(not MUTANTS.exists(), reason="the tests' variants are not built")
def test_sums_in_the_type_itself(folder, dtype, n):
    """Right where the case says so, wrong where it does not; what is right there is told from a sum that is shifted by one."""
    case = f"discounted_cumsum batch=40 n={n} gamma=0.9375 dtype={dtype} input=normal"
    (own,) = verified(folder, f"{case} accumulate={dtype}", "--variants", "cpu_sequential")
    assert own["verdict"] == "pass" and own["params"]["accumulate"] == dtype, own
    assert f" dtype={dtype} accumulate={dtype} input" in own["case"] and "shift" in own["tells"], own
    words = ("--variants", "cpu_mutants wrong=narrow_sums")
    assert verified(folder, case, *words, program=MUTANTS)[0]["verdict"] == "fail"


@pytest.mark.parametrize("words", ["", " accumulate=f32"])
def test_the_usual_type_is_not_said(folder, words):
    (row,) = verified(folder, f"discounted_cumsum n=1000 dtype=bf16{words}", "--variants", "cpu_sequential")
    assert row["verdict"] == "pass" and "accumulate" not in row["case"] and "accumulate" not in row["params"], row


FLOAT_SUMS = """#include "base/numbers.h"
#include "variant.h"

static Status run(const VariantArgs *args) {
    const float gamma = (float)*(const double *)args->in[1].data;
    float sum = 0;
    for (size_t i = array_count(&args->in[0]); i-- > 0;) {
        sum = (float)number_at(&args->in[0], i) + gamma * sum;
        number_put(&args->out[0], i, sum);
    }
    return STATUS_OK;
}

static const DType DTYPES[] = {DTYPE_F32, DTYPE_F16, DTYPE_COUNT}, SUMS[] = {DTYPE_F64, DTYPE_COUNT};
RUNGS_VARIANT(discounted_cumsum, cpu_float_sums) = {
    .backend = BACKEND_CPU, .summary = "wrong", .origin = "a test", .dtypes = DTYPES, .accumulates = SUMS, .run = run};
"""


def test_sums_in_double(folder):
    """Of floats: rounded once, so sums in float fail, and variants that do not say that they take such a case are skipped."""
    (folder / "cpu_float_sums.c").write_text(FLOAT_SUMS)
    case = "discounted_cumsum n=20011 gamma=0.999 dtype=f32 accumulate=f64 input=normal"
    out = folder / "rows.jsonl"
    call(
        "try",
        folder / "cpu_float_sums.c",
        "--op",
        "discounted_cumsum",
        case.split(" ", 1)[1],
        "--no-sandbox",
        "--quick",
        "--out",
        out,
    )
    wrong = next(row for row in rows_of(out) if "float_sums" in row["variant"])
    assert wrong["verdict"] == "fail" and "tolerance" in wrong["reason"], wrong
    rows = {row["variant"]: row for row in verified(folder, case, "--variants", "cpu_sequential,cpu_best")}
    right, other = (rows[f"discounted_cumsum/cpu_{name}"] for name in ("sequential", "best"))
    assert right["verdict"] == "pass" and other["verdict"] == "skip" and ".accumulates" in other["reason"], other
    for dtype in ("f32", "f16", "e4m3"):
        words = f"moments rows=3001 cols=5 dtype={dtype} accumulate=f64 input=normal"
        assert verified(folder, words, "--variants", "cpu_two_pass")[0]["verdict"] == "pass", dtype


OWN = {  # an op's case -> variants that take it; others are skipped
    "ewm n=5003 agg=mean": ("cpu_sequential", "cpu_best"),
    "ewm n=5003 agg=std segments=mask": ("cpu_sequential", "cpu_best"),
    "rolling n=5003 window=300 agg=mean": ("cpu_naive",),
    "rolling n=5003 window=30 agg=var": ("cpu_naive",),
    "moments rows=503 cols=7 weights=row": ("cpu_two_pass", "cpu_best"),
    "discounted_cumsum_grad batch=3 n=1000 gamma_per=row": ("cpu_sequential",),
    "discounted_cumsum_grad batch=3 n=1000 gamma_per=element reset=mask": ("cpu_sequential",),
}


@pytest.mark.parametrize("case, variants", OWN.items())
@pytest.mark.parametrize("dtype", ["f32", "bf16"])
def test_sums_in_double_of_the_other_ops(folder, dtype, case, variants):
    case = f"{case} dtype={dtype} accumulate=f64 input=normal"
    for row in verified(folder, case, "--variants", ",".join({*variants, "cpu_best"})):
        name = row["variant"].split("/")[1]
        takes = name in variants and (dtype == "f32" or name != "cpu_best")
        assert row["verdict"] == ("pass" if takes else "skip") and "accumulate=f64" in row["case"], row


@needs_emulator
def test_a_kernel_with_sums_in_double(folder):
    """Of floats: the same bits as NumPy's sums in double, rounded."""
    x = np.random.default_rng(9).standard_normal(3000).astype(np.float32)
    np.save(folder / "x.npy", x)
    words = (
        "--set",
        "accumulate=f64",
        "--set",
        "adjust=false",
        "--set",
        "alpha=0.25",
        "--in",
        "x=x.npy",
        "--out",
        "y=y.npy",
    )
    kernels = [(f"ewm/cuda_{name}", "--emulate") for name in ("cub_scan", "block_scan", "log_stage")]
    for variant in (*kernels, ("ewm/cpu_sequential",), ("ewm/cpu_best",)):
        done = call("exec", *variant, *words, "--check", cwd=folder)
        expect(done.returncode == 0, variant[0], done)
        state, right = float(x[0]), []
        for element in x.astype(float):
            state = 0.75 * state + 0.25 * element
            right.append(state)
        assert np.array_equal(np.load(folder / "y.npy"), np.array(right).astype(np.float32))


@pytest.mark.parametrize("dtype, batch, n", [("f16", 3, 300), ("bf16", 40, 20)])
@pytest.mark.parametrize("per", ["all", "row", "element"])
def test_gradients_of_sums_in_the_type_itself(folder, dtype, batch, n, per):
    """Right where the case says so; what is right there is told from a sum that is shifted by one."""
    case = f"discounted_cumsum_grad batch={batch} n={n} gamma=0.9375 gamma_per={per} dtype={dtype} accumulate={dtype} input=normal"
    (row,) = verified(folder, case, "--variants", "cpu_sequential")
    assert row["verdict"] == "pass" and "shift" in row["tells"], row


def test_a_discount_is_of_the_type_of_sums(folder):
    x = np.random.default_rng(8).standard_normal(5000).astype(np.float32)
    np.save(folder / "x.npy", x)
    np.save(folder / "g.npy", np.array([0.9999]))
    words = (
        "exec",
        "discounted_cumsum/cpu_sequential",
        "--in",
        "gamma=g.npy",
        "--in",
        "x=x.npy",
        "--out",
        "y=y.npy",
        "--check",
    )
    expect_error(call(*words, cwd=folder), 2, "f64")
    done = call(*words, "--set", "accumulate=f64", cwd=folder)
    expect(done.returncode == 0, "f64", done)
    y = np.load(folder / "y.npy")
    assert y.dtype == np.float32 and np.array_equal(y, discounted(x.astype(float), 0.9999).astype(np.float32))


@pytest.mark.parametrize(
    "case, words",
    [
        ("discounted_cumsum dtype=f32 accumulate=f16", ("accumulate=f16 is not allowed with dtype=f32", "f32, f64")),
        ("discounted_cumsum accumulate=i32", ("accumulate='i32' is not allowed", "f16, bf16, f32, f64")),
        ("moments dtype=f16 accumulate=f16", ("accumulate='f16' is not allowed", "f32, f64")),
        ("double accumulate=f32", ("unknown parameter 'accumulate' of double",)),
        ("ewm dtype=bf16 accumulate=bf16", ("accumulate='bf16' is not allowed", "f32, f64")),
        ("moments dtype=i32", ("dtype='i32' is not allowed", "f32, f64, f16, bf16, e4m3, e5m2")),
    ],
)
def test_types_that_an_op_does_not_have(case, words):
    """Refused with those that it has."""
    expect_error(call("run", case), 2, *words)


@pytest.mark.parametrize(
    "case, variant, words",
    [
        ("rolling agg=apply dtype=f32 accumulate=f64", "cpu_apply", "accumulate=f64: not with agg=apply"),
        ("discounted_cumsum_grad k=9 dtype=f16 accumulate=f16", "cpu_sequential", "of sums of all terms only, k=0"),
    ],
)
def test_sums_that_a_bound_is_not_of(folder, case, variant, words):
    (row,) = verified(folder, case, "--variants", variant)
    assert row["verdict"] != "pass" and words in row["reason"], row


@pytest.mark.parametrize("op", ["discounted_cumsum", "discounted_cumsum_grad"])
def test_own_files_with_sums_in_the_type_itself(folder, op):
    """Of so many terms as the files have, not as a case has by itself."""
    rng = np.random.default_rng(10)
    np.save(folder / "x.npy", rng.standard_normal((3, 400)).astype(np.float16))
    np.save(folder / "g.npy", np.array([0.9375], np.float16))
    files = ["--in", "x=x.npy", "--in", "gamma=g.npy", *(("--in", "dy=x.npy") if op.endswith("grad") else ())]
    out = "dgamma" if op.endswith("grad") else "y"
    words = ("exec", f"{op}/cpu_sequential", "--set", "accumulate=f16", "--out", f"{out}=y.npy", "--check")
    expect(call(*words, *files, cwd=folder).returncode == 0, op)
    assert np.load(folder / "y.npy").dtype == np.float16
    np.save(folder / "x.npy", np.zeros((3, 600), np.float16))
    expect_error(call(*words, *files, cwd=folder), 2, "accumulate=f16: sums of 600 terms have no bound")


def test_the_list_of_ops_has_both():
    ops = {op["name"]: (op["dtypes"], op["accumulates"]) for op in json.loads(call("list", "ops", "--json").stdout)}
    floats, wider = ["f64", "f32", "f16", "bf16"], ["f32", "f64"]
    assert ops["double"] == (floats, []) and ops["ewm"] == ops["rolling"] == (floats, wider)
    assert ops["moments"] == ([*floats, "e4m3", "e5m2"], wider)
    assert ops["discounted_cumsum"] == ops["discounted_cumsum_grad"] == (floats, ["f16", "bf16", *wider])


def test_sums_beyond_what_a_bound_knows(folder):
    (row,) = verified(folder, "discounted_cumsum n=3000 dtype=bf16 accumulate=bf16", "--variants", "cpu_sequential")
    assert (
        row["verdict"] != "pass" and "sums of 3000 terms have no bound; in rows of 3000, at most 28" in row["reason"]
    ), row
