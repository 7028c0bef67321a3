"""Hostile on purpose: does what `how` names at the place that `at` names, and is right otherwise. tests/faults/hostile.py says what
each must come to."""

import atexit
import ctypes
import faulthandler
import os
import signal
import sys
import threading
import time

import numpy

VARIANT = {
    "summary": "hostile on purpose",
    "origin": "tests",
    "framework": "numpy",
    "tunables": [
        {
            "name": "at",
            "summary": "where it is hostile",
            "kind": "choice",
            "default": "nowhere",
            "choices": ["nowhere", "supports", "prepare", "run", "again"],
        },
        {
            "name": "how",
            "summary": "what it does",
            "kind": "choice",
            "default": "nothing",
            "choices": [
                "nothing",
                "raise_error",
                "raise_exit",
                "raise_interrupt",
                "raise_surrogate",
                "raise_nothing",
                "raise_long",
                "raise_memory",
                "recurse",
                "segv",
                "be_aborted",
                "end_at_once",
                "exit_3",
                "kill_self",
                "stop",
                "hang",
                "hang_deaf",
                "spin_c",
                "eat_memory",
                "close_replies",
                "close_all",
                "reply_garbage",
                "reply_forged",
                "reply_huge",
                "print_much",
                "leave_daemon",
                "hang_at_exit",
                "abort_at_exit",
                "thread_forever",
                "write_input",
                "replace_stdout",
                "bad_answer",
                "wrong_shape",
                "nan_seconds",
            ],
        },
    ],
}


def reply_pipe():
    return int(sys.argv[sys.argv.index("--replies") + 1])


def fail_with(error):
    raise error


def recurse():
    return recurse() + 1


def spin_c():
    ctypes.CDLL(None).pause()
    spin_c()


def hang():
    while True:
        time.sleep(1000)


def hang_deaf():
    signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 32))
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    hang()


def eat_memory():
    kept = []
    while True:
        kept.append(b"x" * (32 << 20))


def leave_daemon():
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            while True:
                pass
        os._exit(0)


def abort_at_exit():
    atexit.register(os.abort)


def segv():
    faulthandler.disable()
    ctypes.string_at(8)


def nan_seconds():
    time.perf_counter = lambda: float("nan")


DEEDS = {
    "raise_error": lambda: fail_with(RuntimeError("hostile")),
    "raise_exit": lambda: sys.exit(3),
    "raise_interrupt": lambda: fail_with(KeyboardInterrupt()),
    "raise_surrogate": lambda: fail_with(ValueError("\udcff\0")),
    "raise_nothing": lambda: fail_with(Exception()),
    "raise_long": lambda: fail_with(ValueError("x" * 10_000_000)),
    "raise_memory": lambda: fail_with(MemoryError()),
    "recurse": recurse,
    "segv": segv,
    "be_aborted": os.abort,
    "end_at_once": lambda: os._exit(0),
    "exit_3": lambda: os._exit(3),
    "kill_self": lambda: os.kill(os.getpid(), signal.SIGKILL),
    "stop": lambda: os.kill(os.getpid(), signal.SIGSTOP),
    "hang": hang,
    "hang_deaf": hang_deaf,
    "spin_c": spin_c,
    "eat_memory": eat_memory,
    "close_replies": lambda: os.close(reply_pipe()),
    "close_all": lambda: os.closerange(0, 1024),
    "reply_garbage": lambda: os.write(reply_pipe(), b"\1\2 hello\n"),
    "reply_forged": lambda: os.write(reply_pipe(), b'{"ok": true, "seconds": 1e-9}\n'),
    "reply_huge": lambda: [os.write(reply_pipe(), b"x" * 65536) for _ in range(1040)],
    "print_much": lambda: print("x" * 10_000_000, flush=True),
    "leave_daemon": leave_daemon,
    "hang_at_exit": lambda: atexit.register(hang),
    "abort_at_exit": abort_at_exit,
    "thread_forever": lambda: threading.Thread(target=hang).start(),
    "replace_stdout": lambda: setattr(sys, "stdout", None),
    "nan_seconds": nan_seconds,
}
calls = {"run": 0}


def act(tunables, place):
    """The deed's name, if this is its place."""
    if tunables.get("at") != place:
        return None
    DEEDS.get(tunables["how"], lambda: None)()
    return tunables["how"]


def supports(case, tunables):
    return {1: object()} if act(tunables, "supports") == "bad_answer" else None


def prepare(case, tunables, shapes):
    act(tunables, "prepare")
    return tunables


def run(tunables, inputs):
    calls["run"] += 1
    deed = act(tunables, "run" if calls["run"] == 1 else "again")
    if deed == "write_input":
        inputs["x"].setflags(write=True)
        inputs["x"][0] = 7
    return 2 * (inputs["x"][:-1] if deed == "wrong_shape" else inputs["x"])
