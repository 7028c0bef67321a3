"""pandas 3's mean after a gap, with adjust=False and alpha = 1/2: the library's variant says so and is skipped, only there."""

import fractions

import numpy as np
import pandas

from program import call

X = [1.0, np.nan, 4.0, 2.0, np.nan, np.nan, 8.0]


def means(x, alpha):
    """adjust=False by its definition (docs/ops/ewm.md): after a gap of g steps the weights are q^g and alpha, divided by their sum."""
    alpha, mean, age, out = fractions.Fraction(alpha), None, 0, []
    for value in x:
        age += 1
        if not np.isnan(value):
            old = (1 - alpha) ** age
            mean = (
                fractions.Fraction(value)
                if mean is None
                else (old * mean + alpha * fractions.Fraction(value)) / (old + alpha)
            )
            age = 0
        out.append(float(mean))
    return out


def execute(folder, variant, x, *settings):
    np.save(folder / "x.npy", np.array(x))
    words = [word for setting in settings for word in ("--set", setting)]
    return call("exec", variant, "--in", f"x={folder}/x.npy", "--out", f"y={folder}/y.npy", "--check", *words)


def test_affected(folder):
    expected = means(X, "1/2")
    assert expected[2] == 3.0
    affected = not np.allclose(pandas.Series(X).ewm(com=1, adjust=False).mean(), expected, rtol=1e-12)
    if pandas.__version__ == "3.0.6":  # that of requirements.txt
        assert affected
    for decay in ("halflife=1", "alpha=0.5"):
        done = execute(folder, "ewm/peer_pandas", X, decay, "adjust=false")
        assert done.returncode == (4 if affected else 0), done
        if affected:
            assert f"skip: the mean of pandas {pandas.__version__} is wrong after a gap" in done.stderr
        done = execute(folder, "ewm/cpu_sequential", X, decay, "adjust=false")
        assert done.returncode == 0, done
        np.testing.assert_allclose(np.load(folder / "y.npy"), expected, rtol=1e-15)


def test_not_affected(folder):
    whole, late = [x for x in X if x == x] * 3, [np.nan, np.nan, *(x for x in X if x == x), np.nan]
    for x, settings in (
        (X, ("alpha=0.5", "adjust=false", "agg=std")),
        (X, ("alpha=0.25", "adjust=false")),
        (whole, ("alpha=0.5", "adjust=false")),
        (late, ("alpha=0.5", "adjust=false")),
    ):
        done = execute(folder, "ewm/peer_pandas", x, *settings)
        assert done.returncode == 0, f"{settings}: {done}"


def test_row():
    done = call(
        "run", "ewm n=5000 agg=mean span=3 adjust=false input=gaps", "--variants", "peer_pandas", "--verify-only"
    )
    assert done.returncode == (0 if "1 passed" in done.stdout else 3), done
    assert "1 failed" not in done.stdout
