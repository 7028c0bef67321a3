"""The CUDA ladder of ewm in the emulator, where edges does not reach: gaps that outlive every weight, NaN across blocks, infinities
behind weights that underflow; what the truncated tiles forget and the scans must not; the largest span that fits; what the
published tile refuses."""

import math

import numpy
import pytest

from program import call, emulate_each, expect, needs_emulator, same_bits_with_any_blocks

pytestmark = needs_emulator

SCANS = ("cuda_log_stage", "cuda_block_scan", "cuda_cub_scan")
ALL = ("cpu_sequential", "cpu_best", *SCANS)
TILE, PUBLISHED = "cuda_truncated_tile_closed_form", "cuda_truncated_tile"


def values(kind, n):
    import numpy

    x = numpy.random.default_rng(7).normal(size=n)
    if kind == "gap":  # 0.5^6000 is no double
        x[100:6100] = math.nan
    elif kind == "late":  # what comes after the gap is in a run with what was before it, whose weight is none
        x[2000:7997] = math.nan
    elif kind == "leading":
        x[:6000] = math.nan
    elif kind == "one":
        x[:] = math.nan
        x[4000] = 3
    elif kind == "inf":
        x[50] = math.inf
    elif kind == "sparse":
        x[numpy.random.default_rng(8).random(n) < 0.95] = math.nan
    return x


def check(folder, variant, *settings, starts=None):
    """On folder/x.npy, in the emulator if need be; the program's answer is right if it says so."""
    words = ["exec", f"ewm/{variant}", "--check", "--in", f"x={folder}/x.npy", "--out", f"y={folder}/y.npy"]
    words += ["--emulate"] if variant.startswith("cuda_") else []
    words += ["--bounds", "declared"] if variant == TILE else []
    words += ["--in", f"starts={starts}"] if starts else []
    return call(*words, *(word for setting in settings for word in ("--set", setting)))


@pytest.mark.parametrize("kind", ["gap", "late", "leading", "one", "inf", "sparse"])
def test_scans_over_gaps_and_infinities(folder, kind):
    numpy.save(folder / "x.npy", values(kind, 8000))
    for agg in ("mean", "var"):
        for adjust in ("true", "false"):
            for variant in (*SCANS, "cuda_agent_scan"):
                done = check(folder, variant, "span=3", f"agg={agg}", f"adjust={adjust}")
                expect(done.returncode == 0, f"{variant}, agg={agg} adjust={adjust}", done)


@pytest.mark.parametrize("agg", ["mean", "var", "std"])
def test_a_gap_of_half_lives_beyond_the_range(folder, agg):
    """At its end nothing weighs any more, and the output before it stays: in a tile that begins within it, too."""
    x = numpy.random.default_rng(1).normal(size=160000)
    begin, end = 1000, 112800
    x[begin:end] = x[130000:130400] = math.nan
    numpy.save(folder / "x.npy", x)
    done = check(folder, "cuda_agent_scan", "span=300", f"agg={agg}", "threads=32")
    expect(done.returncode == 0, f"agg={agg}", done)
    y = numpy.load(folder / "y.npy")
    assert numpy.allclose(y[begin:end], y[begin - 1], rtol=1e-14, atol=0)


@pytest.mark.parametrize("segments", ["none", "mask"])
@pytest.mark.parametrize("begin, length", [(90, 60), (70, 20), (20, 75), (0, 40), (100, 79)])
def test_the_truncated_tile_sees_the_end_of_a_gap(folder, begin, length, segments):
    """Gaps that begin before a thread's window of 80 elements and end within it, and scattered observations."""
    numpy.save(folder / "s.npy", (numpy.arange(400) % 131 == 130).astype("u1"))
    x = numpy.random.default_rng(9).normal(size=400) + 5
    x[begin : begin + length] = math.nan
    x[begin + length + 1 : begin + length + 40 : 3] = math.nan
    numpy.save(folder / "x.npy", x)
    starts = folder / "s.npy" if segments == "mask" else None
    for agg, adjust in (("mean", "true"), ("mean", "false"), ("var", "true"), ("std", "false")):
        done = check(folder, TILE, "span=8", f"agg={agg}", f"adjust={adjust}", starts=starts)
        expect(done.returncode == 0, f"{TILE}, agg={agg} adjust={adjust}", done)


@pytest.mark.parametrize("agg", ["var", "std"])
def test_the_truncated_tile_forgets_an_impulse(folder, agg):
    """What the window drops counts in the correction, where few observations make up most of the weight."""
    impulse = 1e-3 * numpy.random.default_rng(9).normal(size=2000)
    impulse[1000] = 1
    numpy.save(folder / "x.npy", impulse)
    expect((done := check(folder, TILE, "span=1.5", f"agg={agg}")).returncode == 0, "an impulse at span 1.5", done)


def within(done):
    """Where a tolerance has 1.7e308 in it, or a spread is 0, most elements are not judgeable; none is outside its tolerance."""
    return done.returncode == 0 or "check failed: y: not judgeable" in done.stderr


@pytest.mark.parametrize("adjust", ["true", "false"])
def test_the_largest_double_fades(folder, adjust):
    """To what its weight is, or to nothing, from each state."""
    x = numpy.random.default_rng(10).normal(size=6000) * 1e-12
    x[[10, 3999]] = 1.7e308
    x[4000:5000] = math.nan
    numpy.save(folder / "x.npy", x)
    for variant in ALL:
        done = check(folder, variant, "span=3", f"adjust={adjust}")
        expect(within(done), f"{variant} forgets 1.7e308", done)


@pytest.mark.parametrize("agg, adjust", [("var", "true"), ("std", "false"), ("mean", "false")])
def test_weights_around_2_to_the_minus_1000_count_as_none(folder, agg, adjust):
    """Those of half-lives that meet it, and behind scattered observations."""
    rng = numpy.random.default_rng(11)
    gappy = rng.normal(size=2000)
    gappy[rng.random(2000) < 0.9] = math.nan
    small = numpy.concatenate([1e-10 * rng.normal(size=30), numpy.full(960, math.nan), [0.0]])
    cases = (
        (rng.normal(size=40), "halflife=0.001"),
        (gappy, "halflife=0.01"),
        (gappy, "halflife=0.0103"),
        (gappy, "halflife=0.0513"),
        (small, "span=3"),
    )
    for number, (x, setting) in enumerate(cases):
        numpy.save(folder / "x.npy", x)
        for variant in ALL:
            done = check(folder, variant, setting, f"agg={agg}", f"adjust={adjust}")
            expect(within(done), f"{variant} on faded weights, case {number}, {setting}", done)


@pytest.mark.parametrize("setting", ["span=1", "alpha=1", "com=0"])
def test_1e300_is_forgotten_at_once(folder, setting):
    numpy.save(folder / "x.npy", numpy.array([1e300, 1e-150, 2, math.nan, 1e-160, -1e300, 1e-300]))
    for variant in ALL:
        expect(within(done := check(folder, variant, setting)), f"{variant} forgets 1e300 at once", done)


@pytest.mark.parametrize(
    "case, verdict, words",
    [
        ("n=8000 span=307", "pass", ""),
        ("n=8000 span=308", "skip", "49208 bytes"),
        ("n=100 span=308", "skip", "49208 bytes"),
        ("n=8000 span=1e15", "skip", "the published launch gets 49152"),
        ("n=10 span=1", "pass", ""),
        ("n=11 span=1", "skip", "divides 0 by 0"),
        ("n=8000 span=30 min_periods=300", "pass", ""),
        ("n=8000 span=30 min_periods=301", "skip", "sees only 300 elements"),
        ("n=100 span=3 agg=var", "skip", "no variances"),
        ("n=100 span=3 adjust=false", "skip", "adjust=false"),
        ("n=100 span=3 segments=mask", "skip", "one series"),
        ("n=0 span=3", "pass", ""),
    ],
)
def test_where_the_published_kernel_has_an_answer(folder, case, verdict, words):
    done, found = emulate_each(folder, f"ewm {case} input=ones", PUBLISHED)
    row = found[PUBLISHED]
    expect(row["verdict"] == verdict and words in (row["reason"] or ""), f"{case}: {verdict} {words}", done)


@pytest.mark.parametrize("mode", ["nan=decay", "nan=propagate"])
@pytest.mark.parametrize("agg, adjust", [("mean", "true"), ("mean", "false"), ("var", "true"), ("std", "false")])
def test_blocks_in_any_order(folder, agg, adjust, mode):
    """A block that starts alone finds nothing published, and finds by itself what it waits for. 47 tiles, two with NaN."""
    x = numpy.random.default_rng(7).normal(size=40003)
    x[[20000, 33000]] = math.nan
    numpy.save(folder / "x.npy", x)
    settings = ("span=1e5", "threads=32", f"agg={agg}", f"adjust={adjust}", mode)
    same_bits_with_any_blocks(folder, "ewm/cuda_agent_scan", *settings)


@pytest.mark.parametrize("case", ["input=naninf nan=decay", "input=naninf nan=propagate", "input=ramp"])
def test_scans_remember_what_truncated_tiles_forget(folder, case):
    """NaN and infinities; on a ramp the tile fails the op's own bound: what is left out, which its declared one allows."""
    done, found = emulate_each(folder, f"ewm n=8000 span=30 {case}", TILE, PUBLISHED, *SCANS)
    expect(all(found[variant]["verdict"] == "pass" for variant in SCANS), "scans remember", done)
    expect(found[TILE]["verdict"] == found[PUBLISHED]["verdict"] == "fail", "the truncated tiles forget", done)


@pytest.mark.parametrize(
    "case, verdict, words",
    [
        ("n=30000 span=2598", "pass", ""),  # 227 KiB: 64 x 48 + 25980 - 1 doubles
        ("n=30000 span=2599", "skip", "25990 elements"),
        ("n=20000 span=1e12", "pass", ""),  # a window longer than the array is the array
        ("n=30000 span=30 min_periods=301", "skip", "min_periods"),
    ],
)
def test_the_largest_span_that_fits(folder, case, verdict, words):
    done, found = emulate_each(folder, f"ewm {case} input=ones", TILE)
    row = found[TILE]
    expect(row["verdict"] == verdict and words in (row["reason"] or ""), f"{case}: {verdict} {words}", done)
