"""Outputs sized by data, through the whole program: the user's own columns and a Python library that returns arrays."""

import json
import os
import pathlib
import socket
import subprocess
import sys
import tempfile

import numpy

from program import SOURCE, call, expect

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


def own_columns(folder):
    outs = [f"--out=redacted.{part}={folder}/{part}.npy" for part in ("offsets", "chars", "validity")]
    for dtype in ("int32", "int64"):
        save(folder, "names", NAMES, dtype)
        save(folder, "visibilities", VISIBILITIES, dtype)
        done = call("exec", "redact/cpu_sequential", *columns(folder, "names", "visibilities"), *outs, "--check")
        expect(done.returncode == 0 and WORDS in done.stdout, f"exec: {dtype} offsets", done)
        offsets, chars = numpy.load(folder / "offsets.npy"), numpy.load(folder / "chars.npy").tobytes()
        expect(
            offsets.dtype == dtype and [chars[a:b].decode() for a, b in zip(offsets, offsets[1:])] == REDACTED,
            f"exec: {dtype}: the column",
        )
        expect(
            numpy.load(folder / "validity.npy").shape == (0,),
            f"exec: {dtype}: outputs have their true sizes, not the largest possible",
        )
    offsets = numpy.load(folder / "names.offsets.npy")
    for at, value in ((3, 0), (len(NAMES), 1000000)):
        numpy.save(folder / "names.offsets.npy", numpy.where(numpy.arange(len(offsets)) == at, value, offsets))
        done = call("exec", "redact/cpu_sequential", *columns(folder, "names", "visibilities"), *outs)
        expect(
            done.returncode == 2 and "names.offsets: row" in done.stderr,
            f"exec: offset {at} lies: refused before anything runs",
            done,
        )
    save(folder, "names", NAMES, "int32")
    done = call("exec", "redact/cpu_sequential", *columns(folder, "names", "visibilities"), "--check")
    expect(
        done.returncode == 2 and "all inputs must be of one dtype" in done.stderr, "exec: offsets of two dtypes", done
    )
    save(folder, "names", NAMES, "float64")
    save(folder, "visibilities", VISIBILITIES, "float64")
    done = call("exec", "redact/cpu_sequential", *columns(folder, "names", "visibilities"), "--check")
    expect(
        done.returncode == 2 and "int32 or int64 is expected" in done.stderr, "exec: offsets that are no integers", done
    )


PEER = """
import numpy
VARIANT = {"framework": "numpy"}
def supports(case, tunables): return None
def prepare(case, tunables, inputs): return {}
def load(state, inputs): state["x"] = inputs["x"].copy()
def run(state): return state["x"][state["x"] > 0]
def fetch(state, outputs, out): return RETURNS
"""


def ask(folder, returns):
    """What a peer whose fetch() returns this gets for a reply, and the memory of its output `y`."""
    (folder / "op").mkdir(exist_ok=True)
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
        *({"do": what} for what in ("supports", "import", "prepare", "run", "close")),
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


def peers(folder):
    reply, y = ask(folder, '{"y": outputs}')
    expect(reply.get("counts") == [3, None] and list(y[:3]) == [1, 3, 5], f"a peer's arrays and their sizes: {reply}")
    reply, _ = ask(folder, '{"y": outputs[:0], "z": outputs}')
    expect(reply.get("counts") == [0, 3], f"an empty output: {reply}")
    reply, _ = ask(folder, '{"y": numpy.zeros(6, "i4")}')
    expect(
        reply.get("kind") == "check" and "output y is int32[6]; at most int32[5] is possible" in reply["error"],
        f"too large an output: {reply}",
    )
    reply, _ = ask(folder, '{"y": outputs.astype("i8")}')
    expect(reply.get("kind") == "check" and "output y is int64[3]" in reply["error"], f"the wrong dtype: {reply}")


def main():
    with tempfile.TemporaryDirectory() as folder:
        own_columns(pathlib.Path(folder))
        peers(pathlib.Path(folder))


if __name__ == "__main__":
    main()
