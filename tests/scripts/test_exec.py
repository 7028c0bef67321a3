"""rungs exec on a user's own .npy files: right results, clear errors, nothing left behind."""

import pathlib
import tempfile

import numpy as np

from program import EMULATOR, call, expect, expect_error

VARIANT = "rolling/cpu_naive"


def rolling_mean(x, w):
    y = np.full(len(x), np.nan)
    for i in range(w - 1, len(x)):
        y[i] = x[i - w + 1 : i + 1].astype(np.float64).mean()
    return y


def good(folder):
    rng = np.random.default_rng(5)
    for dtype, tolerance in ((np.float64, 1e-13), (np.float32, 1e-5)):
        x = rng.standard_normal(1000).astype(dtype)
        np.save(folder / "x.npy", x)
        emulated = [["rolling/cuda_block_prefix_suffix", "--emulate"]] if EMULATOR else []
        for extra in ([VARIANT], ["rolling/cpu_best"], *emulated):
            out = folder / "y.npy"
            out.unlink(missing_ok=True)
            done = call(
                "exec",
                *extra,
                "--in",
                f"x={folder}/x.npy",
                "--set",
                "agg=mean",
                "--set",
                "window=30",
                "--out",
                f"y={out}",
                "--check",
            )
            expect(done.returncode == 0 and "check: y passes" in done.stdout, f"{extra[0]} on {dtype.__name__}", done)
            y = np.load(out)
            expect(y.dtype == dtype and y.shape == x.shape, "output has the input's dtype and shape")
            np.testing.assert_allclose(
                y.astype(np.float64), rolling_mean(x, 30), rtol=0, atol=tolerance, equal_nan=True
            )


def empty_and_odd(folder):
    np.save(folder / "x.npy", np.zeros(0))
    done = call("exec", VARIANT, "--in", f"x={folder}/x.npy", "--set", "window=3", "--out", f"y={folder}/e.npy")
    expect(done.returncode == 0 and np.load(folder / "e.npy").shape == (0,), "n = 0 is an empty output", done)
    np.save(folder / "x.npy", np.ones(5))
    done = call(
        "exec",
        VARIANT,
        "--in",
        f"x={folder}/x.npy",
        "--set",
        "window=9",
        "--set",
        "incomplete=inf",
        "--out",
        f"y={folder}/e.npy",
    )
    expect(
        done.returncode == 0 and np.isposinf(np.load(folder / "e.npy")).all(), "w > n: every window is incomplete", done
    )


def skips(folder):
    np.save(folder / "x.npy", np.ones(50))
    done = call(
        "exec",
        "rolling/cpu_best",
        "--in",
        f"x={folder}/x.npy",
        "--set",
        "agg=apply",
        "--set",
        "window=3",
        "--out",
        f"y={folder}/s.npy",
    )
    expect_error(done, 4, "skip: ", what="an unsupported case is a skip with exit 4")
    expect(not (folder / "s.npy").exists(), "a skip leaves no output")


def bad(folder):
    x = folder / "x.npy"
    np.save(x, np.arange(100.0))
    out = folder / "bad.npy"

    def attempt(*arguments, inputs=(f"x={x}",), variant=VARIANT, settings=("window=3",)):
        words = ["exec", variant]
        for item in inputs:
            words += ["--in", item]
        for item in settings:
            words += ["--set", item]
        return call(*words, *arguments, "--out", f"y={out}")

    files = {
        "int.npy": np.arange(10),
        "rank2.npy": np.ones((3, 4)),
        "complex.npy": np.ones(3, complex),
        "fortran.npy": np.asfortranarray(np.ones((3, 4))),
        "big.npy": np.ones(4, ">f8"),
    }
    for name, array in files.items():
        np.save(folder / name, array)
    whole = x.read_bytes()
    (folder / "cut.npy").write_bytes(whole[:-5])
    (folder / "magic.npy").write_bytes(b"NOTNUMPY" + whole[8:])
    (folder / "long.npy").write_bytes(whole + b"x")
    for name, words in {
        "int.npy": ["float32 or float64"],
        "rank2.npy": ["one dimension"],
        "complex.npy": [],
        "fortran.npy": [],
        "big.npy": ["endian"],
        "cut.npy": [],
        "magic.npy": ["magic"],
        "long.npy": [],
        "missing.npy": [],
    }.items():
        expect_error(
            attempt(inputs=(f"x={folder}/{name}",)), 2, name, *words, what=f"{name}: exit 2, the message names the file"
        )
    expect_error(attempt(settings=("window=nan",)), 2, "window", "nan", "integer")
    expect_error(attempt(settings=("window=0",)), 2, "window", "range")
    expect_error(attempt(settings=("windw=3",)), 2, "windw", "did you mean 'window'")
    expect_error(attempt(settings=("agg=meen",)), 2, "meen", "mean")
    expect_error(attempt(settings=("window=3", "n=7")), 2, "n=7", "n=100")
    expect_error(attempt(variant="rolling/cpu_nave"), 2, "cpu_nave", "cpu_naive")
    expect_error(attempt(inputs=(f"z={x}",)), 2, "z", "known: x")
    expect_error(attempt(inputs=()), 2, "input 'x' is missing")
    expect_error(attempt("--out", f"q={out}"), 2, "q", "known: y")
    expect_error(
        call("exec", VARIANT, "--in", f"x={x}", "--set", "window=3", "--out", f"y={folder}/nowhere/y.npy"),
        2,
        "nowhere/y.npy",
    )
    both = folder / "both.npy"
    expect_error(
        call(
            "exec",
            "discounted_cumsum_grad/cpu_best",
            "--in",
            f"x={x}",
            "--in",
            f"dy={x}",
            "--out",
            f"dx={both}",
            "--out",
            f"dgamma={both}",
        ),
        2,
        "each output needs its own file",
        "dgamma",
    )
    expect(not both.exists(), "nothing is written of outputs that would overwrite each other")
    expect_error(attempt(inputs=(f"x={folder}",)), 2, str(folder), "directory")
    expect_error(attempt(variant="cpu_naive"), 2, "did you mean 'rolling/cpu_naive'")
    expect(not out.exists(), "no attempt left an output")
    expect(not [p for p in folder.iterdir() if p.name.startswith("bad")], "no partial output is left")


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        good(folder)
        empty_and_odd(folder)
        skips(folder)
        bad(folder)


if __name__ == "__main__":
    main()
