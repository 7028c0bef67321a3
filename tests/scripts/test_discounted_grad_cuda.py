"""dgamma of short rows in the emulator: products of floats beyond the range of floats, whose sum comes back, in every variant of the gradient."""
import pathlib
import sys
import tempfile

import numpy as np

from program import EMULATOR, call, expect

VARIANTS = ("cuda_log_stage", "cuda_log_stage_general", "cuda_log_stage_fused", "cuda_cub_scan", "cuda_block_scan")


def main():
    if not EMULATOR:
        sys.exit(77)
    # Right, gamma 1: y[1] = 1e20, y[2] = -1e20 and dx = 1e20, so dgamma[0] = 1e20 * 1e20 - 1e20 * 1e20.
    x, dy = np.zeros((300, 4), np.float32), np.zeros((300, 4), np.float32)
    x[0], dy[0, 0] = (0, 2e20, -1e20, 0), 1e20
    x[1], dy[1] = (1, 2, 3, 4), (1, 0, 0, 0)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        words = []
        for array, values in {"x": x, "dy": dy, "gamma": np.ones(300, np.float32)}.items():
            np.save(folder / f"{array}.npy", values)
            words += ["--in", f"{array}={folder / array}.npy"]
        for variant in VARIANTS:
            out = folder / f"{variant}.npy"
            done = call("exec", f"discounted_cumsum_grad/{variant}", *words, "--out", f"dx={folder}/{variant}_dx.npy", "--out", f"dgamma={out}", "--check",
                        "--emulate")
            expect(done.returncode == 0, f"{variant}: checked", done)
            dgamma = np.load(out)
            expect(dgamma[0] == 0 and dgamma[1] == 9 + 7 + 4 and not dgamma[2:].any(), f"{variant}: {dgamma[:3]}")


if __name__ == "__main__":
    main()
