"""peer_timing.py - samples of a peer's run() in the modes cold, hot and graph by the library's own events on a GPU (peer_clocks.py), enqueue and
complete by the host's clock."""
import time

from peer_clocks import CLOCKS

LONGEST_STALL = 0.02      # seconds
SHORTEST_HOT_SAMPLE = 2e-4  # seconds: shorter calls are timed several at once
MOST_HOT_CALLS = 64
LONG_CALL = 0.05  # seconds: nothing is gained by hiding the host's microseconds from it


def one_sample(clock, run, cold, stall, calls):
    if cold:
        clock.flush()
    clock.stall(stall)
    begin = clock.mark()
    for _ in range(calls):
        kept = run()
    end = clock.end(kept)
    clock.wait()
    del kept
    return clock.seconds(begin, end) / calls


def host_seconds(clock, run, done=False):
    """One call, until it returns or until it is done."""
    clock.wait()
    begin = time.perf_counter()
    kept = run()
    if done:
        clock.finish(kept)
    seconds = time.perf_counter() - begin
    clock.end(kept)
    clock.wait()
    del kept
    return seconds


def collect(take, limits):
    samples, begin = [], time.perf_counter()
    while len(samples) < limits["max_samples"]:
        if len(samples) >= limits["min_samples"] and time.perf_counter() - begin >= limits["seconds"]:
            break
        samples.append(take())
    return samples


def nothing(why):
    return {"samples": [], "sm_mhz": None, "calls_per_sample": 1, "clock": None, "why_none": why}


def arrays_in(kept):
    """The arrays of a result, whatever holds them."""
    if isinstance(kept, (list, tuple)):
        return [array for part in kept for array in arrays_in(part)]
    if isinstance(kept, dict):
        return arrays_in(list(kept.values()))
    return [] if kept is None else [kept]


def alike(given, expected):
    """Calls may add in another order each time; what was never computed is far off."""
    import numpy

    if given is None or expected is None or given.shape != expected.shape or given.dtype != expected.dtype:
        return given is expected
    if (given.reshape(-1).view("u1") == expected.reshape(-1).view("u1")).all():
        return True
    if given.dtype.kind != "f":
        return False
    finite = numpy.abs(expected[numpy.isfinite(expected)])
    half_the_digits = float(numpy.finfo(given.dtype).eps) ** 0.5
    return bool(numpy.allclose(given, expected, rtol=0, atol=half_the_digits * float(finite.max(initial=0)), equal_nan=True))


def captured(clock, run, fetch):
    """(replay, None), or (None, why not). Capture sees one stream: what a library launches elsewhere runs once, while capturing, and is in no
    replay, which would then be timed without it. So a replay is held to what the call gives, once that is overwritten where it leaves it."""
    try:
        replay, kept = clock.graph(run)
        if replay is None:
            return None, kept
        expected = fetch(run())
        clock.wait()
        for array in arrays_in(kept):
            clock.spoil(array)
        replay()
        clock.wait()
        given = fetch(kept)
    except Exception as error:  # whatever the library raises, it means that this call cannot be captured
        return None, f"could not be captured into a CUDA graph: {type(error).__name__}: {error}"[:240]
    wrong = [name for name in expected if not alike(given[name], expected[name])]
    if wrong:
        return None, f"a replay of the CUDA graph does not give {', '.join(wrong)}: the call works on more than the stream that is captured"
    return lambda: (replay(), kept), None


def time_mode(mode, clock, run, limits, long_call, fetch=None):
    calls, stall = 1, 0
    if mode in ("enqueue", "complete"):
        if not clock.enqueues:
            return nothing("a call on the CPU is done when it returns: see hot")
        samples, name = collect(lambda: host_seconds(clock, run, mode == "complete"), limits), "steady clock"
    else:
        if mode == "graph":
            run, why = captured(clock, run, fetch)
            if why:
                return nothing(why)
        # The stall covers what the host needs to queue the calls; without it short kernels would show the host's time.
        if clock.enqueues and not long_call:
            stall = min(LONGEST_STALL, 2 * host_seconds(clock, run))
        if mode != "cold" and not long_call:
            pilot = one_sample(clock, run, False, stall, 1)
            calls = max(1, min(MOST_HOT_CALLS, int(SHORTEST_HOT_SAMPLE / max(pilot, 1e-9))))
            stall = min(LONGEST_STALL, stall * calls)
        samples, name = collect(lambda: one_sample(clock, run, mode == "cold", stall, calls), limits), clock.name
    return {"samples": samples, "sm_mhz": None, "calls_per_sample": calls, "clock": name, "why_none": None}


def time_modes(clock_name, run, command, fetch):
    """fetch(kept) -> the result of a call as NumPy arrays by name."""
    clock = CLOCKS[clock_name]()
    # Calls before may have compiled and loaded modules; so may this one, unless it is short.
    long_call = all(host_seconds(clock, run, done=True) > LONG_CALL for _ in range(2))
    clock.flush()  # the first one allocates and compiles
    clock.stall(1e-5)
    clock.wait()
    limits = {"min_samples": command.get("min_samples", 9), "max_samples": command.get("max_samples", 101),
              "seconds": command.get("seconds", 2.0)}
    return {mode: time_mode(mode, clock, run, limits, long_call, fetch) for mode in command["modes"]}
