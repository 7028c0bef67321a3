"""Gradients in the emulator, where edges/discounted_cumsum_grad.yaml does not reach: products of floats beyond the range of floats, whose sum comes
back, in every variant; blocks of cuda_agent_scan in any order, to the same bits; and what its sums over tiles cannot say: infinities where nothing is
carried, sums beyond the range of the dtype, factors that grow."""

import os

import numpy as np
import pytest
from program import call, expect, needs_emulator

pytestmark = needs_emulator

VARIANTS = (
    "cuda_log_stage",
    "cuda_log_stage_general",
    "cuda_log_stage_fused",
    "cuda_cub_scan",
    "cuda_block_scan",
    "cuda_two_reads",
    "cuda_agent_scan",
)
N = 2001  # tiles of 864 (f32) or 416 elements


def checked(folder, variant, arrays, *settings, env=None):
    """dx and dgamma of the variant, which pass the check."""
    words = [word for setting in settings for word in ("--set", setting)]
    for array, values in arrays.items():
        np.save(folder / f"{array}.npy", values)
        words += ["--in", f"{array}={folder / array}.npy"]
    done = call(
        "exec",
        f"discounted_cumsum_grad/{variant}",
        *words,
        "--out",
        f"dx={folder}/dx.npy",
        "--out",
        f"dgamma={folder}/dgamma.npy",
        "--check",
        "--emulate",
        env=os.environ | (env or {}),
    )
    expect(done.returncode == 0, f"{variant} {' '.join(settings)}: checked", done)
    return np.load(folder / "dx.npy"), np.load(folder / "dgamma.npy").ravel()


@pytest.mark.parametrize("variant", VARIANTS)
def test_products_beyond_the_range_of_floats(folder, variant):
    # Right, gamma 1: y[1] = 1e20, y[2] = -1e20 and dx = 1e20, so dgamma[0] = 1e20 * 1e20 - 1e20 * 1e20.
    x, dy = np.zeros((300, 4), np.float32), np.zeros((300, 4), np.float32)
    x[0], dy[0, 0] = (0, 2e20, -1e20, 0), 1e20
    x[1], dy[1] = (1, 2, 3, 4), (1, 0, 0, 0)
    _, dgamma = checked(folder, variant, {"x": x, "dy": dy, "gamma": np.ones(300, np.float32)}, "gamma_per=row")
    assert dgamma[0] == 0 and dgamma[1] == 9 + 7 + 4 and not dgamma[2:].any()


@pytest.mark.parametrize("variant", ["cuda_block_scan", "cuda_two_reads", "cuda_agent_scan"])
def test_an_infinite_dx_that_meets_nothing(folder, variant):
    """The tolerance of a gradient that is finite all the same: a rounding of its last bit passes."""
    dy = np.ones((2, 5))
    dy[1, 4] = np.inf
    dx, dgamma = checked(folder, variant, {"x": np.arange(1.0, 11).reshape(2, 5), "dy": dy}, "gamma=0.99")
    assert np.isinf(dx[1, 4]) and abs(dgamma[0] - 265.76634) < 1e-5


@pytest.mark.parametrize("direction", ["right", "left"])
def test_blocks_in_any_order(folder, direction):
    """A block that starts alone finds nothing published, and adds up by itself what it waits for."""
    random = np.random.default_rng(7)
    arrays = {"x": random.normal(size=(2, 24001)), "dy": random.normal(size=(2, 24001))}
    settings, outputs = ("gamma=0.9999", "threads=32", f"direction={direction}"), set()
    for blocks in ("1", "2", "4"):
        order = {"RUNGS_EMULATOR_BLOCKS": blocks, "RUNGS_EMULATOR_SEED": blocks}
        made = checked(folder, "cuda_agent_scan", arrays, *settings, env=order)
        outputs.add(b"".join(array.tobytes() for array in made))
    assert len(outputs) == 1, "the same bits"


@pytest.mark.parametrize("direction", ["right", "left"])
def test_tiles_that_meet_in_any_order(folder, direction):
    """A block that starts alone composes the row's other tiles by itself, an infinity among them, too."""
    random = np.random.default_rng(7)
    arrays = {name: random.normal(size=(2, 9001)) for name in ("x", "dy")} | {
        "gamma": random.uniform(0.9, 1, (2, 9001))
    }
    arrays["x"][1, 5000] = np.inf
    for blocks in ("1", "2", "16"):
        order = {"RUNGS_EMULATOR_BLOCKS": blocks, "RUNGS_EMULATOR_SEED": blocks}
        settings = ("gamma_per=element", "threads=128", "ahead=1", f"direction={direction}")
        checked(folder, "cuda_row_staged", arrays, *settings, env=order)


@pytest.mark.parametrize("direction", ["right", "left"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sums_over_tiles(folder, dtype, direction):
    """The sums begin at the end that is read first, dx at the other."""
    huge = float(np.finfo(dtype).max) * 0.7
    order = slice(None, None, -1 if direction == "right" else 1)  # from positions in the order of the sums to elements

    def gradient(gamma, x, dy, batch=2):
        rows = {
            "x": np.tile(x[order], (batch, 1)).astype(dtype),
            "dy": np.tile(dy[order], (batch, 1)).astype(dtype),
        }
        return checked(folder, "cuda_agent_scan", rows, f"gamma={gamma}", "threads=32", f"direction={direction}")[1][0]

    def at(position, value, others=0.0, n=N):
        array = np.full(n, others)
        array[position] = value
        return array

    ones = np.ones(N)
    expect(
        np.isfinite(gradient(0.99, ones, at(0, np.inf, 1.0))),
        "nothing is carried into the first element, whose dx is infinite",
    )
    expect(np.isfinite(gradient(0.99, at(N - 1, np.inf, 1.0), ones)), "an infinite last sum is carried nowhere")
    expect(
        gradient(0.99, at(3, -np.inf, 1.0), ones) == -np.inf,
        "an infinity in every tile, and all products of one sign",
    )
    expect(np.isnan(gradient(0.99, at(3, np.inf), at(5, 1.0))), "an infinity times a dx of 0 behind it")
    expect(np.isnan(gradient(0, at(N - 9, np.inf), ones)), "an infinity times a factor 0")
    expect(
        gradient(1, at(N - 2, huge) + at(9, huge), ones) == np.inf,
        "a sum that leaves the range of the dtype in the last tile",
    )
    for first, second in ((8, 9), (8, 50), (N - 60, N - 20)):
        expect(
            np.isnan(gradient(1, at(first, huge) + at(second, huge), at(1, 1.0))),
            f"{first}, {second}: a sum beyond the range times a dx of 0",
        )
    last = np.where(np.arange(N) < N - 200, 0.0, huge / 100)
    expect(np.isnan(gradient(1, last, at(1, 1.0))), "a sum beyond the range, within the last tile, of many small ones")
    expect(
        np.isnan(gradient(1, at(0, 0.0, huge / 6000, n=9001), at(1, 1.0, n=9001))),
        "a sum beyond the range, from many tiles whose sums are small",
    )
    expect(np.isfinite(gradient(-1, ones, ones)), "a factor of -1")
    expect(gradient(1.02, at(N - 40, 1.0), at(N - 1, 1.0)) > 2 * 39, "a factor that grows")
