"""Noise as machines make it, for simulated suites: process medians of some rows, relative to their true time, and their SM clock.

A model is called with a random generator, the numbers of the rows in the suite and when each process began: 0 is the beginning of the first stage,
1 its end. It returns times and clocks (None: not known), each (rows, processes). Rows run in their order.
"""

import numpy as np

SAMPLES = 15


def normal(rng, spread, *shape):
    return spread * rng.standard_normal(shape)


def medians(rng, level, sample):
    """Of samples that scatter around the level of their process."""
    return np.median(level[..., None] * np.exp(normal(rng, sample, *level.shape, SAMPLES)), axis=-1)


def scatter(spread):
    def model(rng, rows, when):
        return np.exp(normal(rng, spread, len(rows), len(when))), None

    return model


def pairs_disturbed(rng, rows, when):
    """2% of (row, process) pairs take 10 to 60% longer."""
    hit = rng.random((len(rows), len(when))) < 0.02
    return np.exp(normal(rng, 0.005, len(rows), len(when))) * np.where(hit, 1.1 + 0.5 * rng.random(hit.shape), 1), None


def processes_disturbed(rng, rows, when):
    """5% of whole processes take 10 to 60% longer."""
    hit = np.where(rng.random(len(when)) < 0.05, 1.1 + 0.5 * rng.random(len(when)), 1)
    return np.exp(normal(rng, 0.005, len(rows), len(when))) * hit, None


def machine_steps(rng, rows, when):
    """10% slower from the middle on."""
    return np.exp(normal(rng, 0.005, len(rows), len(when))) * np.where(when >= 0.5, 1.1, 1), None


def two_clocks(rng, shape):
    return np.where(rng.random(shape) < 0.5, 1755.0, 1980.0)


def follows(rng, mhz, exponent):
    return np.exp(normal(rng, 0.007, *mhz.shape)) * (1980 / mhz) ** exponent, mhz


def clock_of_process(exponent):
    def model(rng, rows, when):
        return follows(rng, np.tile(two_clocks(rng, len(when)), (len(rows), 1)), exponent)

    return model


def clock_of_row(exponent):
    def model(rng, rows, when):
        return follows(rng, two_clocks(rng, (len(rows), len(when))), exponent)

    return model


def clock_falls(rng, rows, when):
    """By 8% over the session."""
    return follows(rng, 1980 * (1 - 0.08 * np.minimum(when, 1)) * np.exp(normal(rng, 0.001, len(rows), len(when))), 1)


def drift(size):
    def model(rng, rows, when):
        return np.exp(size * when + normal(rng, 0.005, len(rows), len(when))), None

    return model


def outliers(rng, rows, when):
    """A tenth of the samples 1.2 to 5 times too long."""
    level = np.exp(normal(rng, 0.007, len(rows), len(when)))
    hit = rng.random((*level.shape, SAMPLES)) < 0.1
    return np.median(
        level[..., None] * np.exp(normal(rng, 0.015, *hit.shape)) * np.where(hit, 1.2 + 4 * rng.random(hit.shape), 1),
        axis=-1,
    ), None


def autocorrelated(rng, rows, when):
    """Samples of a process: AR(1), 0.9."""
    steps = normal(rng, 1, len(rows), len(when), SAMPLES)
    for k in range(1, SAMPLES):
        steps[..., k] = 0.9 * steps[..., k - 1] + np.sqrt(1 - 0.9**2) * steps[..., k]
    return np.exp(normal(rng, 0.004, len(rows), len(when))) * np.median(np.exp(0.008 * steps), axis=-1), None


def coarse_timer(rng, rows, when):
    return np.round(medians(rng, np.exp(normal(rng, 0.007, len(rows), len(when))), 0.02) * 200) / 200, None


def heavy_tails(rng, rows, when):
    return np.exp(np.clip(0.03 * rng.standard_t(2, (len(rows), len(when))), -2, 2)), None


def hidden_speeds(rng, rows, when):
    """Two speeds 8% apart that no clock shows, such as where the arrays came to lie."""
    return np.exp(0.08 * (rng.random((len(rows), len(when))) < 0.5) + normal(rng, 0.003, len(rows), len(when))), None


def clock_of_some(share, apart, known=False):
    """Two clocks of processes; a share of the kernels follows, the others are bound by memory. known: do the rows say which clock it was?"""

    def model(rng, rows, when):
        mhz = np.tile(1980 * np.exp(-apart * (rng.random(len(when)) < 0.5)), (len(rows), 1))
        times, _ = follows(rng, mhz, (rows % 10 < 10 * share)[:, None])
        return times, mhz if known else None

    return model


def periodic(size, shortest=0.5, longest=2, wave=np.sin):
    """A disturbance that comes and goes in `shortest` to `longest` processes, which differ in length by 5%."""

    def model(rng, rows, when):
        period, phase = np.exp(rng.uniform(np.log(shortest), np.log(longest))), rng.random()
        starts = np.cumsum(np.exp(normal(rng, 0.05, len(when))))
        turns = (starts + rows[:, None] / (rows.max() + 1)) / period + phase
        return np.exp(size * wave(2 * np.pi * turns) + normal(rng, 0.005, *turns.shape)), None

    return model


def families(size, own, sizes=(5, 10, 25)):
    """Rows come in families, each with a speed of its own in every process; every row has one too."""

    def model(rng, rows, when):
        family = np.repeat(np.arange(100), np.resize(sizes, 100))[rows]
        return np.exp(normal(rng, size, 100, len(when))[family] + normal(rng, own, len(rows), len(when))), None

    return model


# Name -> model. EXEMPT: those for which nothing is promised but few false alarms.
MODELS = {
    "quiet: processes scatter by 0.5%": scatter(0.005),
    "processes scatter by 1%": scatter(0.01),
    "processes scatter by 2%": scatter(0.02),
    "2% of (row, process) pairs disturbed": pairs_disturbed,
    "5% of whole processes disturbed": processes_disturbed,
    "machine 10% slower from the middle on": machine_steps,
    "two clocks of processes, kernels follow": clock_of_process(1),
    "two clocks of processes, kernels half follow": clock_of_process(0.5),
    "two clocks of rows, kernels follow": clock_of_row(1),
    "two clocks of rows, kernels half follow": clock_of_row(0.5),
    "two clocks of rows, kernels bound by memory": clock_of_row(0),
    "clock falls by 8% over the session": clock_falls,
    "drift of 2% over the session": drift(0.02),
    "drift of 30% over the session": drift(0.3),
    "a tenth of the samples 1.2 to 5 times too long": outliers,
    "samples autocorrelated (0.9)": autocorrelated,
    "timer of coarse steps (0.5%)": coarse_timer,
    "two clocks of processes 9% apart, recorded, half of the kernels follow": clock_of_some(0.5, 0.09, known=True),
    "two clocks of processes 9% apart, not recorded, half of the kernels follow": clock_of_some(0.5, 0.09),
    "disturbance by 4% with a period of half to two processes": periodic(0.04),
    "families of 5 to 25 rows scatter by 3%, each row by 1%": families(0.03, 0.01),
    "processes scatter by 4%": scatter(0.04),
    "processes scatter by 8%": scatter(0.08),
    "Student's t, 2 degrees, scale 3%": heavy_tails,
    "two speeds 8% apart that no clock shows": hidden_speeds,
}
EXEMPT = list(MODELS)[-4:]
