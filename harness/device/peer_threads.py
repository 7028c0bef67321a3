"""peer_threads.py - counts the threads that a call of a CPU library used, as worker/threads.c does for variants in C."""

import contextlib
import os
import time

UNACCOUNTED_SECONDS = 20e-6  # CPU time of threads that have ended; starting a thread takes longer
LEAST_SHARE = 0.05  # of the busiest thread's time: libraries wake threads that find nothing to do


def look():
    """(CPU seconds of the process, those of each thread)."""
    process, threads = time.process_time(), {}  # the process first: threads that spin go on
    for name in os.listdir("/proc/self/task"):
        with contextlib.suppress(OSError):  # it has ended
            threads[int(name)] = time.clock_gettime(~int(name) << 3 | 6)  # what pthread_getcpuclockid() gives
    return process, threads


def used(before):
    """How many threads worked since look() returned `before`; None: unknown, because one of them has ended."""
    process, threads = look()
    ran = [seconds - before[1].get(thread, 0) for thread, seconds in threads.items()]
    return (
        None
        if process - before[0] - sum(ran) > UNACCOUNTED_SECONDS
        else sum(seconds >= LEAST_SHARE * max(ran) for seconds in ran)
    )
