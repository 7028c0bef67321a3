"""exec --check: exit 0 only where every output that was asked for is verified by the op's own bound, or by the variant's with --bounds
declared. What is right is decided here by rational arithmetic, not by the program's bounds."""

import fractions
import re

import numpy as np
from pyarrow import ipc

from program import EMULATOR, FULL, MUTANTS, RUNGS, SOURCE, call, needs_emulator

SHARE = r"not judgeable: [\d.e-]+% of its elements"
CLOSE = 1e-12


def exact_means(x, window):
    sums = [sum(map(fractions.Fraction, x[i - window + 1 : i + 1])) for i in range(window - 1, len(x))]
    return [float(s / window) for s in sums]


def spike():
    x = np.random.default_rng(3).random(400)
    x[3] = 1e16
    return x


def near_one():
    """One column whose spread is a few units in the last place."""
    return (1 + np.array([-6, -4, -2, 0, 0, 2, 4]) * 2.0**-53).reshape(7, 1)


def execute(folder, variant, x, *words, outs=("y",), program=RUNGS):
    np.save(folder / "x.npy", x)
    for name in outs:
        out(folder, name).unlink(missing_ok=True)
    emulated = ("--emulate",) if "/cuda_" in variant else ()
    return call(
        "exec",
        variant,
        "--in",
        f"x={folder}/x.npy",
        *(f"--out={name}={out(folder, name)}" for name in outs),
        *emulated,
        *words,
        program=program,
    )


def out(folder, name):
    return folder / f"out_{name}.npy"


def ends(done, code, *words):
    assert done.returncode == code, done
    for word in words:
        assert re.search(word, done.stdout + done.stderr)


def is_written(folder, *names):
    assert [name for name in names if out(folder, name).exists()] == list(names)


def is_not_written(folder, *names):
    assert [name for name in names if out(folder, name).exists()] == []


def test_passes_what_is_right_and_nothing_else(folder):
    variants = ["cpu_naive", "cpu_best", "peer_pandas"]
    if EMULATOR:
        variants += ["cuda_thread_tile", "cuda_thread_tile_stable"]
    verdicts = {}
    for name, x, window in (
        ("spike", spike(), 20),
        ("large", np.array([1200, 1.3e17, 1.5e17, 1995, 1990, 1234, 1.5, 1.25]), 2),
    ):
        expected = exact_means(x, window)
        for variant in variants:
            checked = execute(folder, f"rolling/{variant}", x, "--set", f"window={window}", "--check")
            if checked.returncode == 4 and variant.startswith("peer_"):  # not installed
                continue
            ends(checked, checked.returncode, SHARE, "bound 'window'")
            assert out(folder, "y").exists() == (checked.returncode == 0), checked
            if checked.returncode != 0:
                ends(execute(folder, f"rolling/{variant}", x, "--set", f"window={window}"), 0)
            y = np.load(out(folder, "y"))[window - 1 :]
            right = np.allclose(y, expected, rtol=CLOSE, atol=0)
            assert checked.returncode == (0 if right else 1), (
                f"{variant}, {name}: off by {np.max(np.abs(y - expected))}\n{checked}"
            )
            verdicts[name, variant] = right
    assert verdicts["spike", "cpu_naive"] and verdicts["spike", "peer_pandas"]
    if EMULATOR:
        assert [verdicts[name, "cuda_thread_tile"] for name in ("spike", "large")] == [False, False]


@needs_emulator
def test_the_declared_bound_only_if_asked(folder):
    words = ("--set", "window=20", "--check")
    for strict in ((), ("--bounds", "strict")):
        done = execute(folder, "rolling/cuda_thread_tile", spike(), *words, *strict)
        ends(
            done,
            1,
            r"check failed: y\[\d+\] is .* \(bound 'window'.*nothing was written",
            "looser bound, 'textbook': --bounds declared",
        )
        is_not_written(folder, "y")
    done = execute(folder, "rolling/cuda_thread_tile", spike(), *words, "--bounds=declared")
    ends(
        done,
        0,
        f"y passes: largest error .* of the bound 'textbook'; {SHARE}",
        rf"y passes only under 'textbook', the looser bound that rolling/cuda_thread_tile declares. Under the op's own: y\[\d+\] is .*{SHARE}",
    )
    is_written(folder, "y")
    assert float(re.search(r"'textbook'; not judgeable: ([\d.]+)%", done.stdout)[1]) > 0


def test_a_declared_bound_that_nothing_needs(folder):
    done = execute(folder, "rolling/peer_pandas", spike(), "--set", "window=20", "--check", "--bounds=declared")
    ends(done, 0, "y passes: largest error .* of the bound 'window'")
    assert "looser" not in done.stdout


def test_an_output_that_nothing_can_judge(folder):
    for bounds in ("strict", "declared"):
        done = execute(folder, "moments/peer_pandas", near_one(), "--check", "--bounds", bounds, outs=["kurtosis"])
        ends(done, 1, "check failed: kurtosis")
        is_not_written(folder, "kurtosis")
    ends(done, 1, "kurtosis: not judgeable .* 100% of the elements", "leave out --check")
    done = execute(folder, "moments/peer_pandas", near_one(), "--check", outs=["mean", "kurtosis", "skewness"])
    ends(done, 1, f"mean passes: .*{SHARE}", "kurtosis", "skewness")
    is_not_written(folder, "mean", "kurtosis", "skewness")


def test_float32_that_nothing_can_judge(folder):
    x = np.ones(40, np.float32)
    x[:2] = 1e8, -1e8
    done = execute(folder, "discounted_cumsum/cpu_sequential", x, "--set=gamma=1", "--set=direction=left", "--check")
    ends(done, 1, "check failed: y: not judgeable", "bound 'scan'", "Use f64")
    is_not_written(folder, "y")


def test_sums_out_of_range(folder):
    """docs/ops/rolling.md and moments.md say who adds before the division."""
    largest = np.full(2, np.finfo(float).max)
    kernels = {path.stem for path in SOURCE.glob("impls/rolling/c*_*.c*")} - {
        "cpu_apply",
        "cuda_apply",
        "cuda_published_tiles",
    }  # w=2 is too short for it
    assert len(kernels) > 10
    few = {"cpu_best", "cpu_online", "cuda_thread_tile", "peer_polars"}
    for variant in sorted({*kernels, *few, "peer_bottleneck"} if FULL else few):
        if EMULATOR or not variant.startswith("cuda_"):
            done = execute(folder, f"rolling/{variant}", largest, "--set=window=2", "--check")
            ends(done, 1, r"y\[1\] is -?(inf|nan), expected \S+ \(0x1.fffffffffffffp\+1023\)")
    ends(execute(folder, "rolling/peer_pandas", largest, "--set=window=2", "--check"), 0, "y passes")
    for variant, code in (("cpu_two_pass", 0), ("cuda_two_pass_grid", 0), ("cuda_two_pass", 1)):
        if EMULATOR or not variant.startswith("cuda_"):
            done = execute(folder, f"moments/{variant}", largest.reshape(2, 1), "--check", outs=["mean"])
            ends(done, code, r"mean\[0\] is inf, expected \S+ \(0x1.fffffffffffffp\+1023\)" if code else "mean passes")


def test_only_what_was_asked_for(folder):
    x = np.random.default_rng(4).normal(size=(50, 3))
    mutant = ("moments/cpu_mutants", x, "--check", "--set=wrong=ddof_one")
    ends(execute(folder, *mutant, outs=["mean", "max"], program=MUTANTS), 0, "mean passes", "max passes")
    is_written(folder, "mean", "max")
    ends(
        execute(folder, *mutant, outs=["mean", "var"], program=MUTANTS),
        1,
        "mean passes",
        r"check failed: var\[\d\] is",
    )
    is_not_written(folder, "mean", "var")
    done = execute(
        folder, "moments/cpu_mutants", x, "--check", "--set=wrong=float_sums", outs=[], program=MUTANTS
    )  # all outputs, as none is named
    ends(done, 1, r"check failed: mean\[\d\] is", r"var is not verified: var\[\d\] is", "max passes")


def test_strings(folder):
    (folder / "in.csv").write_text("names,visibilities\nJohn Lee,public\nAnna Sand,private\n,\n")
    out = folder / "out.arrow"

    def redact(variant, program, *words):
        return call(
            "exec",
            f"redact/{variant}",
            "--in",
            f"names={folder}/in.csv",
            "--in",
            f"visibilities={folder}/in.csv",
            "--out",
            f"redacted={out}",
            "--check",
            *words,
            program=program,
        )

    for words in ((), ("--bounds=declared",)):
        ends(redact("cpu_best", RUNGS, *words), 0, "redacted.chars passes: all 9 elements are exact")
        with open(out, "rb") as file:
            assert ipc.open_file(file).read_all()["redacted"].to_pylist() == ["L John", "X X", None]
        out.unlink()
        for wrong in ("wrong_byte", "wrong_null", "too_short"):
            done = redact("cpu_mutants", MUTANTS, f"--set=wrong={wrong}", *words)
            ends(done, 1, "check failed: redacted")
            assert not out.exists()


def test_nothing_to_verify(folder):
    ends(execute(folder, "rolling/cpu_naive", np.zeros(0), "--set=window=3", "--check"), 0, "y has no elements")
    is_written(folder, "y")


def test_words(folder):
    ends(
        execute(folder, "rolling/cpu_naive", np.ones(9), "--set=window=3", "--check", "--bounds=loose"),
        2,
        "--bounds 'loose': strict|declared is expected",
    )
    ends(
        execute(folder, "rolling/cpu_naive", np.ones(9), "--set=window=3", "--bounds=declared"),
        2,
        "--bounds needs --check",
    )
