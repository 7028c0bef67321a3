"""Outputs sized by data, through the whole program: the user's own columns and a Python library that returns arrays."""

import json
import os
import socket
import subprocess
import sys

import numpy
import pytest

from program import BUILD, SOURCE, call, expect, expect_error

NAMES = ["John Lee", "Madonna", "", "Jos\u00e9 N\u00fa\u00f1ez", "Jane Roe", "Ann \u65e5\u672c"]
VISIBILITIES = ["public", "public", "public", "public", "private", "public"]
REDACTED = ["L John", "M Madonna", " ", "N Jos\u00e9", "X X", "\u65e5 Ann"]
WORDS = f"redacted.chars passes: all {len(''.join(REDACTED).encode())} elements are exact"


def save(folder, name, values, dtype):
    parts = [value.encode() for value in values]
    numpy.save(folder / f"{name}.offsets.npy", numpy.cumsum([0] + [len(part) for part in parts]).astype(dtype))
    numpy.save(folder / f"{name}.chars.npy", numpy.frombuffer(b"".join(parts), "u1"))


def columns(folder, *names):
    return [f"--in={name}.{part}={folder}/{name}.{part}.npy" for name in names for part in ("offsets", "chars")]


def redact(folder, *more, names="int64", visibilities="int64"):
    """exec on the two columns, whose offsets are of these types."""
    save(folder, "names", NAMES, names)
    save(folder, "visibilities", VISIBILITIES, visibilities)
    return call("exec", "redact/cpu_sequential", *columns(folder, "names", "visibilities"), *more)


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_columns_have_their_true_sizes(folder, dtype):
    outs = [f"--out=redacted.{part}={folder}/{part}.npy" for part in ("offsets", "chars", "validity")]
    done = redact(folder, *outs, "--check", names=dtype, visibilities=dtype)
    expect(done.returncode == 0 and WORDS in done.stdout, f"{dtype} offsets", done)
    offsets, chars = numpy.load(folder / "offsets.npy"), numpy.load(folder / "chars.npy").tobytes()
    assert offsets.dtype == dtype and [chars[a:b].decode() for a, b in zip(offsets, offsets[1:])] == REDACTED
    assert numpy.load(folder / "validity.npy").shape == (0,), "not the largest possible"


@pytest.mark.parametrize("at, value", [(3, 0), (len(NAMES), 1000000)])
def test_offsets_that_lie_are_refused_before_anything_runs(folder, at, value):
    save(folder, "names", NAMES, "int64")
    save(folder, "visibilities", VISIBILITIES, "int64")
    offsets = numpy.load(folder / "names.offsets.npy")
    offsets[at] = value
    numpy.save(folder / "names.offsets.npy", offsets)
    out = f"--out=redacted.chars={folder}/chars.npy"
    done = call("exec", "redact/cpu_sequential", *columns(folder, "names", "visibilities"), out)
    expect_error(done, 2, "names.offsets: row")


@pytest.mark.parametrize(
    "names, visibilities, words",
    [
        ("int32", "int64", "all inputs must be of one dtype"),
        ("float64", "float64", "int32 or int64 is expected"),
    ],
)
def test_offsets_are_integers_of_one_type(folder, names, visibilities, words):
    expect_error(redact(folder, "--check", names=names, visibilities=visibilities), 2, words)


PEER = """
import numpy
VARIANT = {"framework": "numpy"}
def supports(case, tunables): return None
def prepare(case, tunables, shapes): return {}
def run(state, inputs):
    outputs = inputs["x"][inputs["x"] > 0]
    return RETURNS
"""


def ask(folder, returns):
    """What a peer whose run() returns this gets for a reply, and the memory of its output `y`."""
    (folder / "op").mkdir()
    (folder / "op" / "peer_play.py").write_text(PEER.replace("RETURNS", returns))
    arrays = {}
    for name, values in (("x", [1, -2, 3, -4, 5]), ("y", [0] * 5), ("z", [0] * 5)):
        arrays[name] = {"name": name, "dtype": "i32", "shape": [5], "file": len(arrays)}
        numpy.array(values, "i4").tofile(folder / name)
    commands = [
        {
            "do": "open",
            "variant": "op/peer_play",
            "case": {},
            "sized_by_data": True,
            "inputs": [arrays["x"]],
            "outputs": [arrays["y"], arrays["z"]],
        },
        *({"do": what} for what in ("supports", "prepare", "run", "close")),
    ]
    (command_end, worker_end), (reply_end, worker_out) = os.pipe(), os.pipe()
    ours, theirs = socket.socketpair()
    files = [os.open(folder / name, os.O_RDWR) for name in arrays]
    socket.send_fds(ours, [b"\0"], files)
    worker = subprocess.Popen(
        [
            sys.executable,
            SOURCE / "harness/device/peer_worker.py",
            "--commands",
            str(command_end),
            "--replies",
            str(worker_out),
            "--arrays",
            str(theirs.fileno()),
            "--measure",
            BUILD / "lib/librungs_measure.so",
            "--impls",
            folder,
        ],
        pass_fds=(command_end, worker_out, theirs.fileno()),
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
    )  # the file changes within a second
    for file in (command_end, worker_out, *files):
        os.close(file)
    with os.fdopen(worker_end, "w") as to, os.fdopen(reply_end) as back:
        to.write("".join(json.dumps(command) + "\n" for command in commands))
        to.flush()
        replies = [json.loads(line) for line in back]
    worker.wait(60)
    ours.close(), theirs.close()
    return replies[-2], numpy.fromfile(folder / "y", "i4")


@pytest.mark.parametrize(
    "returns, counts",
    [('{"y": outputs}', [3, None]), ('{"y": outputs[:0], "z": outputs}', [0, 3])],
    ids=["one", "an empty one and another"],
)
def test_arrays_of_a_peer_have_their_sizes(folder, returns, counts):
    reply, y = ask(folder, returns)
    assert reply.get("counts") == counts, reply
    assert counts[0] == 0 or list(y[:3]) == [1, 3, 5]


@pytest.mark.parametrize(
    "returns, words",
    [
        ('{"y": numpy.zeros(6, "i4")}', "output y is int32[6]; at most int32[5] is possible"),
        ('{"y": outputs.astype("i8")}', "output y is int64[3]"),
    ],
    ids=["too large", "the wrong dtype"],
)
def test_an_array_that_cannot_be_is_told(folder, returns, words):
    reply, _ = ask(folder, returns)
    assert reply.get("kind") == "check" and words in reply["error"], reply
