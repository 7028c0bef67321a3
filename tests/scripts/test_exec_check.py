"""exec --check: exit 0 only where every output that was asked for is verified by the op's own bound, or by the variant's with --bounds
declared. What is right is decided here by rational arithmetic, not by the program's bounds."""

import fractions
import os
import pathlib
import re
import tempfile
import unittest

import numpy as np
from pyarrow import ipc

from program import EMULATOR, MUTANTS, RUNGS, SOURCE, call

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


class Check(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))

    def execute(self, variant, x, *words, outs=("y",), program=RUNGS):
        np.save(self.folder / "x.npy", x)
        for name in outs:
            self.out(name).unlink(missing_ok=True)
        emulated = ("--emulate",) if "/cuda_" in variant else ()
        return call(
            "exec",
            variant,
            "--in",
            f"x={self.folder}/x.npy",
            *(f"--out={name}={self.out(name)}" for name in outs),
            *emulated,
            *words,
            program=program,
        )

    def out(self, name):
        return self.folder / f"out_{name}.npy"

    def expect(self, done, code, *words):
        self.assertEqual(done.returncode, code, done)
        for word in words:
            self.assertRegex(done.stdout + done.stderr, word)

    def written(self, *names):
        self.assertEqual([name for name in names if self.out(name).exists()], list(names))

    def not_written(self, *names):
        self.assertEqual([name for name in names if self.out(name).exists()], [])

    def test_passes_what_is_right_and_nothing_else(self):
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
                checked = self.execute(f"rolling/{variant}", x, "--set", f"window={window}", "--check")
                if checked.returncode == 4 and variant.startswith("peer_"):  # not installed
                    continue
                self.expect(checked, checked.returncode, SHARE, "bound 'window'")
                self.assertEqual(self.out("y").exists(), checked.returncode == 0, checked)
                if checked.returncode != 0:
                    self.expect(self.execute(f"rolling/{variant}", x, "--set", f"window={window}"), 0)
                y = np.load(self.out("y"))[window - 1 :]
                right = np.allclose(y, expected, rtol=CLOSE, atol=0)
                self.assertEqual(
                    checked.returncode,
                    0 if right else 1,
                    f"{variant}, {name}: off by {np.max(np.abs(y - expected))}\n{checked}",
                )
                verdicts[name, variant] = right
        self.assertTrue(verdicts["spike", "cpu_naive"] and verdicts["spike", "peer_pandas"])
        if EMULATOR:
            self.assertEqual([verdicts[name, "cuda_thread_tile"] for name in ("spike", "large")], [False, False])

    @unittest.skipUnless(EMULATOR, "no emulator in this build")
    def test_the_declared_bound_only_if_asked(self):
        words = ("--set", "window=20", "--check")
        for strict in ((), ("--bounds", "strict")):
            done = self.execute("rolling/cuda_thread_tile", spike(), *words, *strict)
            self.expect(
                done,
                1,
                r"check failed: y\[\d+\] is .* \(bound 'window'.*nothing was written",
                "looser bound, 'textbook': --bounds declared",
            )
            self.not_written("y")
        done = self.execute("rolling/cuda_thread_tile", spike(), *words, "--bounds=declared")
        self.expect(
            done,
            0,
            f"y passes: largest error .* of the bound 'textbook'; {SHARE}",
            rf"y passes only under 'textbook', the looser bound that rolling/cuda_thread_tile declares. Under the op's own: y\[\d+\] is .*{SHARE}",
        )
        self.written("y")
        self.assertGreater(float(re.search(r"'textbook'; not judgeable: ([\d.]+)%", done.stdout)[1]), 0)

    def test_a_declared_bound_that_nothing_needs(self):
        done = self.execute("rolling/peer_pandas", spike(), "--set", "window=20", "--check", "--bounds=declared")
        self.expect(done, 0, "y passes: largest error .* of the bound 'window'")
        self.assertNotIn("looser", done.stdout)

    def test_an_output_that_nothing_can_judge(self):
        for bounds in ("strict", "declared"):
            done = self.execute("moments/peer_pandas", near_one(), "--check", "--bounds", bounds, outs=["kurtosis"])
            self.expect(done, 1, "check failed: kurtosis")
            self.not_written("kurtosis")
        self.expect(done, 1, "kurtosis: not judgeable .* 100% of the elements", "leave out --check")
        done = self.execute("moments/peer_pandas", near_one(), "--check", outs=["mean", "kurtosis", "skewness"])
        self.expect(done, 1, f"mean passes: .*{SHARE}", "kurtosis", "skewness")
        self.not_written("mean", "kurtosis", "skewness")

    def test_float32_that_nothing_can_judge(self):
        x = np.ones(40, np.float32)
        x[:2] = 1e8, -1e8
        done = self.execute("discounted_cumsum/cpu_sequential", x, "--set=gamma=1", "--set=direction=left", "--check")
        self.expect(done, 1, "check failed: y: not judgeable", "bound 'scan'", "Use f64")
        self.not_written("y")

    def test_sums_out_of_range(self):
        """docs/ops/rolling.md and moments.md say who adds before the division."""
        largest = np.full(2, np.finfo(float).max)
        kernels = {path.stem for path in SOURCE.glob("impls/rolling/c*_*.c*")} - {
            "cpu_apply",
            "cuda_apply",
            "cuda_published_tiles",
        }  # w=2 is too short for it
        self.assertGreater(len(kernels), 10)
        few = {"cpu_best", "cpu_online", "cuda_thread_tile", "peer_polars"}
        for variant in sorted({*kernels, *few, "peer_bottleneck"} if os.environ.get("RUNGS_TEST_FULL") else few):
            if EMULATOR or not variant.startswith("cuda_"):
                done = self.execute(f"rolling/{variant}", largest, "--set=window=2", "--check")
                self.expect(done, 1, r"y\[1\] is -?(inf|nan), expected 0x1.fffffffffffffp\+1023")
        self.expect(self.execute("rolling/peer_pandas", largest, "--set=window=2", "--check"), 0, "y passes")
        for variant, code in (("cpu_two_pass", 0), ("cuda_two_pass_grid", 0), ("cuda_two_pass", 1)):
            if EMULATOR or not variant.startswith("cuda_"):
                done = self.execute(f"moments/{variant}", largest.reshape(2, 1), "--check", outs=["mean"])
                self.expect(
                    done, code, r"mean\[0\] is inf, expected 0x1.fffffffffffffp\+1023" if code else "mean passes"
                )

    def test_only_what_was_asked_for(self):
        x = np.random.default_rng(4).normal(size=(50, 3))
        mutant = ("moments/cpu_mutants", x, "--check", "--set=wrong=ddof_one")
        self.expect(self.execute(*mutant, outs=["mean", "max"], program=MUTANTS), 0, "mean passes", "max passes")
        self.written("mean", "max")
        self.expect(
            self.execute(*mutant, outs=["mean", "var"], program=MUTANTS),
            1,
            "mean passes",
            r"check failed: var\[\d\] is",
        )
        self.not_written("mean", "var")
        done = self.execute(
            "moments/cpu_mutants", x, "--check", "--set=wrong=float_sums", outs=[], program=MUTANTS
        )  # all outputs, as none is named
        self.expect(done, 1, r"check failed: mean\[\d\] is", r"var is not verified: var\[\d\] is", "max passes")

    def test_strings(self):
        (self.folder / "in.csv").write_text("names,visibilities\nJohn Lee,public\nAnna Sand,private\n,\n")
        out = self.folder / "out.arrow"

        def redact(variant, program, *words):
            return call(
                "exec",
                f"redact/{variant}",
                "--in",
                f"names={self.folder}/in.csv",
                "--in",
                f"visibilities={self.folder}/in.csv",
                "--out",
                f"redacted={out}",
                "--check",
                *words,
                program=program,
            )

        for words in ((), ("--bounds=declared",)):
            self.expect(redact("cpu_best", RUNGS, *words), 0, "redacted.chars passes: all 9 elements are exact")
            with open(out, "rb") as file:
                self.assertEqual(ipc.open_file(file).read_all()["redacted"].to_pylist(), ["L John", "X X", None])
            out.unlink()
            for wrong in ("wrong_byte", "wrong_null", "too_short"):
                done = redact("cpu_mutants", MUTANTS, f"--set=wrong={wrong}", *words)
                self.expect(done, 1, "check failed: redacted")
                self.assertFalse(out.exists())

    def test_nothing_to_verify(self):
        self.expect(self.execute("rolling/cpu_naive", np.zeros(0), "--set=window=3", "--check"), 0, "y has no elements")
        self.written("y")

    def test_words(self):
        self.expect(
            self.execute("rolling/cpu_naive", np.ones(9), "--set=window=3", "--check", "--bounds=loose"),
            2,
            "--bounds 'loose': strict|declared is expected",
        )
        self.expect(
            self.execute("rolling/cpu_naive", np.ones(9), "--set=window=3", "--bounds=declared"),
            2,
            "--bounds needs --check",
        )


if __name__ == "__main__":
    unittest.main(verbosity=2)
