"""The CUDA ladder of ewm in the emulator, where edges does not reach: gaps that outlive every weight, NaN across blocks, infinities
behind weights that underflow; what the truncated tiles forget and the scans must not; the largest span that fits; what the
published tile refuses."""

import math
import pathlib
import sys
import tempfile

from program import EMULATOR, call, expect, rows_of, same_bits_with_any_blocks

SCANS = ("cuda_log_stage", "cuda_block_scan", "cuda_cub_scan")
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


def check_exact(folder):
    import numpy

    count = 0
    for kind in ("gap", "late", "leading", "one", "inf", "sparse"):
        numpy.save(folder / "x.npy", values(kind, 8000))
        for agg, adjust in (("mean", "true"), ("mean", "false"), ("var", "true"), ("var", "false")):
            for variant in SCANS:
                done = check(folder, variant, "span=3", f"agg={agg}", f"adjust={adjust}")
                if done.returncode != 0:
                    expect(False, f"{variant} on {kind}, agg={agg} adjust={adjust}", done)
                count += 1
    expect(count == 72, "72 gaps and infinities")


def check_tile(folder):
    """Gaps that begin before a thread's window of 80 elements and end within it, and scattered observations."""
    import numpy

    rng, cases = numpy.random.default_rng(9), 0
    numpy.save(folder / "s.npy", (numpy.arange(400) % 131 == 130).astype("u1"))
    for begin, length in ((90, 60), (70, 20), (20, 75), (0, 40), (100, 79)):
        x = rng.normal(size=400) + 5
        x[begin : begin + length] = math.nan
        x[begin + length + 1 : begin + length + 40 : 3] = math.nan
        numpy.save(folder / "x.npy", x)
        for agg, adjust in (("mean", "true"), ("mean", "false"), ("var", "true"), ("std", "false")):
            for starts in (None, folder / "s.npy"):
                done = check(folder, TILE, "span=8", f"agg={agg}", f"adjust={adjust}", starts=starts)
                if done.returncode != 0:
                    expect(
                        False,
                        f"{TILE} over {length} NaN from {begin}, agg={agg} adjust={adjust}, {'' if starts else 'no '}segments",
                        done,
                    )
                cases += 1
    expect(cases == 40, "40 gaps that the window of the truncated tile sees the end of")
    impulse = 1e-3 * rng.normal(size=2000)
    impulse[1000] = 1
    numpy.save(folder / "x.npy", impulse)
    for agg in (
        "var",
        "std",
    ):  # what the window drops counts in the correction, where few observations make up most of the weight
        done = check(folder, TILE, "span=1.5", f"agg={agg}")
        expect(done.returncode == 0, f"{TILE} forgets an impulse at span 1.5, {agg}", done)


def within(done):
    """Where a tolerance has 1.7e308 in it, or a spread is 0, most elements are not judgeable; none is outside its tolerance."""
    return done.returncode == 0 or "check failed: y: not judgeable" in done.stderr


def check_large(folder):
    """The largest double fades to what its weight is, or to nothing, from each state."""
    import numpy

    x = numpy.random.default_rng(10).normal(size=6000) * 1e-12
    x[[10, 3999]] = 1.7e308
    x[4000:5000] = math.nan
    numpy.save(folder / "x.npy", x)
    for adjust in ("true", "false"):
        for variant in ("cpu_sequential", "cpu_best", *SCANS):
            done = check(folder, variant, "span=3", f"adjust={adjust}")
            expect(within(done), f"{variant} forgets 1.7e308, adjust={adjust}", done)


def check_faded(folder):
    """Weights around 2^-1000, which count as none: of half-lives that meet it, and behind scattered observations."""
    import numpy

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
        for agg, adjust in (("var", "true"), ("std", "false"), ("mean", "false")):
            for variant in ("cpu_sequential", "cpu_best", *SCANS):
                done = check(folder, variant, setting, f"agg={agg}", f"adjust={adjust}")
                expect(
                    within(done),
                    f"{variant} on faded weights, case {number}, {setting} agg={agg} adjust={adjust}",
                    done,
                )
    numpy.save(folder / "x.npy", numpy.array([1e300, 1e-150, 2, math.nan, 1e-160, -1e300, 1e-300]))
    for setting in ("span=1", "alpha=1", "com=0"):
        for variant in ("cpu_sequential", "cpu_best", *SCANS):
            done = check(folder, variant, setting)
            expect(within(done), f"{variant} forgets 1e300 at once, {setting}", done)


def run(folder, what, *variants):
    out = folder / "rows.jsonl"
    out.unlink(missing_ok=True)
    done = call("run", what, "--variants", ",".join(variants), "--emulate", "--verify-only", "--out", out, cwd=folder)
    return done, {row["variant"].split("/")[1]: row for row in rows_of(out)}


def check_published(folder):
    """Where the published kernel has no answer, and the last cases where it has one."""
    for case, verdict, words in (
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
    ):
        out = folder / "rows.jsonl"
        out.unlink(missing_ok=True)
        done = call(
            "run",
            f"ewm {case} input=ones",
            "--variants",
            PUBLISHED,
            "--emulate",
            "--verify-only",
            "--out",
            out,
            cwd=folder,
        )
        (row,) = rows_of(out)
        expect(
            row["verdict"] == verdict and words in (row["reason"] or ""),
            f"{PUBLISHED}, {case}: {verdict} {words}",
            done,
        )


def main():
    if not EMULATOR:
        sys.exit(77)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        check_exact(folder)
        check_tile(folder)
        check_large(folder)
        check_faded(folder)

        # A block that starts alone, in any order, finds nothing published, and finds by itself what it waits for. 47 tiles, two with NaN.
        import numpy

        x = numpy.random.default_rng(7).normal(size=40003)
        x[[20000, 33000]] = math.nan
        numpy.save(folder / "x.npy", x)
        for agg, adjust in (("mean", "true"), ("mean", "false"), ("var", "true"), ("std", "false")):
            for mode in ("nan=decay", "nan=propagate"):
                same_bits_with_any_blocks(
                    folder, "ewm/cuda_agent_scan", "span=1e5", "threads=32", f"agg={agg}", f"adjust={adjust}", mode
                )

        for mode in ("nan=decay", "nan=propagate"):
            done, found = run(folder, f"ewm n=8000 span=30 input=naninf {mode}", TILE, PUBLISHED, *SCANS)
            expect(
                all(found[variant]["verdict"] == "pass" for variant in SCANS),
                f"scans remember NaN and inf, {mode}",
                done,
            )
            expect(
                found[TILE]["verdict"] == found[PUBLISHED]["verdict"] == "fail",
                f"the truncated tiles forget them, {mode}",
                done,
            )

        # The bound is what is left out: the tile fails the op's own and passes the declared one.
        done, found = run(folder, "ewm n=8000 span=30 input=ramp", TILE, PUBLISHED, *SCANS)
        expect(
            all(found[variant]["verdict"] == "pass" for variant in SCANS),
            "scans keep the op's own bound on a ramp",
            done,
        )
        expect(found[TILE]["verdict"] == found[PUBLISHED]["verdict"] == "fail", "the truncated tiles do not", done)

        # 227 KiB: 64 x 48 + 25980 - 1 doubles, and one span more.
        done, found = run(folder, "ewm n=30000 span=2598 input=ones", TILE)
        expect(found[TILE]["verdict"] == "pass", "the largest span that fits", done)
        done, found = run(folder, "ewm n=30000 span=2599 input=ones", TILE)
        expect(
            found[TILE]["verdict"] == "skip" and "25990 elements" in (found[TILE]["reason"] or ""), "and the next", done
        )
        done, found = run(folder, "ewm n=20000 span=1e12 input=ones", TILE)
        expect(found[TILE]["verdict"] == "pass", "a window longer than the array is the array", done)
        done, found = run(folder, "ewm n=30000 span=30 min_periods=301 input=ones", TILE)
        expect(
            found[TILE]["verdict"] == "skip" and "min_periods" in (found[TILE]["reason"] or ""),
            "min_periods beyond the window",
            done,
        )
        check_published(folder)


if __name__ == "__main__":
    main()
