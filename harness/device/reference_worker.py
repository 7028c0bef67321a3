"""reference_worker.py - the worker for references in Python: docs/PROTOCOL.md, the commands `reference` and `generate` alone.

python reference_worker.py reference/OP.py --commands FD --replies FD --arrays FD
"""

import argparse
import importlib.util
import json
import math
import mmap
import os
import pathlib
import socket
import sys
import traceback
import types

import peer_protocol as wire
from peer import Skip
from peer_protocol import Failure
from peer_worker import FILES_MOST, kind_of, map_array, words_of

# u, smallest normal number, smallest number, and where numbers become infinite; sums of f16 and bf16 are f32, and are rounded by the parent
TYPES = {
    "f32": (2.0**-24, 2.0**-126, 2.0**-149, 2.0**128 - 2.0**103),
    "f64": (2.0**-53, 2.0**-1022, 2.0**-1074, math.inf),
}
INDEPENDENT = ("normal", "uniform")  # families whose signs or mantissas are: their sums may err by SURE sqrt(k) u


def wide(f64, module):
    """What the reference computes in: better than what it judges, unless the file says that it does not."""
    import numpy

    if not f64 or getattr(module, "PRECISION", None) == "float64":
        return numpy.float64
    if numpy.finfo(numpy.longdouble).nmant < 63:
        raise Skip("this machine's long double is no better than float64, so f64 cannot be judged by NumPy")
    return numpy.longdouble


def numbers(case, f64):
    """case.C, case.eps, ..., the reals rounded as variants round them."""
    import numpy

    given = {}
    for name, value in case[wire.KEY_PARAMS].items():
        given[name] = value if f64 or not isinstance(value, float) else float(numpy.float32(value))
    return types.SimpleNamespace(
        **given, dtype=case[wire.KEY_DTYPE], input=case[wire.KEY_INPUT], seed=case[wire.KEY_SEED]
    )


def by_name(given, names):
    """What reference() and bound() return: an array, a tuple of all outputs, or a dictionary."""
    if isinstance(given, dict):
        missing = [name for name in names if name not in given]
        if missing:
            raise Failure("check", f"it returned no '{missing[0]}'")
        return given
    given = given if isinstance(given, (tuple, list)) else (given,)
    if len(given) != len(names):
        raise Failure("check", f"it returned {len(given)} outputs; {', '.join(names)} are expected")
    return dict(zip(names, given))


def plain(given):
    import numpy

    return given.detach().cpu().numpy() if hasattr(given, "detach") else numpy.asarray(given)


def judged(module, case, inputs, names):
    """({output: value}, {output: tolerance}) in the wide type."""
    import numpy
    from running_error import Running, Settings

    f64 = case[wire.KEY_DTYPE] == "f64"
    u, normal, least, _ = TYPES["f64" if f64 else "f32"]
    kind, known = wide(f64, module), numbers(case, f64)
    inputs = {name: array.astype(kind) for name, array in inputs.items()}
    own = kind is numpy.longdouble and 2.0**-64 or 2.0**-53  # what the reference itself rounds by
    with numpy.errstate(all="ignore"):
        if module.BOUND in ("own", "derived", "estimated"):
            given = {name: plain(value) for name, value in by_name(module.reference(known, inputs), names).items()}
            found = by_name(module.bound(known, inputs, given if len(names) > 1 else given[names[0]], u + own), names)
            return given, {name: plain(value) for name, value in found.items()}
        settings = Settings(u, normal, case[wire.KEY_INPUT] in INDEPENDENT)
        whole = {name: bool(numpy.all(array == numpy.rint(array))) for name, array in inputs.items()}
        running = {name: Running(array, 0.0, settings, whole[name]) for name, array in inputs.items()}
        given = by_name(module.reference(known, running), names)
        if lost := [name for name in names if not isinstance(given[name], Running)]:
            raise Failure(
                "check", f"'{lost[0]}' is no result of NumPy's operations on the inputs: BOUND = 'own' and bound()"
            )
        bounds = {
            name: 1.01 * (u + own) * item.error + 8 * least * (not numpy.all(item.error == 0))
            for name, item in given.items()
        }
        return {name: item.value for name, item in given.items()}, bounds


def put(place, value, tolerance, case, name):
    """As doubles, infinite where the variant's type is."""
    import numpy

    shape, f64 = place[wire.KEY_SHAPE], case[wire.KEY_DTYPE] == "f64"
    if list(value.shape) != list(shape):
        raise Failure("check", f"it returned '{name}' of the shape {list(value.shape)}; {list(shape)} is expected")
    if f64 and value.dtype == numpy.float64 and place["wide"]:
        raise Failure(
            "check",
            f"'{name}' of an f64 case came as float64: keep the inputs' long double, or say PRECISION = 'float64'",
        )
    with numpy.errstate(all="ignore"):
        end = TYPES["f64" if f64 else "f32"][3]
        value = numpy.where(abs(value) >= end, numpy.copysign(numpy.inf, value), value)
        rounded = value.astype(numpy.float64)
        lost = numpy.where(numpy.isfinite(rounded), abs(value - rounded), 0)
        value, tolerance = rounded, (tolerance + lost).astype(numpy.float64)
        judgeable = numpy.isfinite(value) & ~numpy.isnan(tolerance)
        if numpy.any(numpy.isfinite(value) & ~(tolerance >= 0)):
            raise Failure(
                "check", f"the bound of '{name}' is negative or NaN in {numpy.sum(~(tolerance >= 0))} elements"
            )
        place[wire.KEY_VALUE][...] = value
        place[wire.KEY_TOLERANCE][...] = numpy.where(judgeable, tolerance, 0)


def load(path):
    sys.path.insert(0, str(path.parent))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def map_input(item, files):
    import numpy

    if item[wire.KEY_DTYPE] != "bf16":
        return map_array(item, files, "r")
    bits = map_array({**item, wire.KEY_DTYPE: "i16"}, files, "r")
    return (bits.astype(numpy.uint32) << 16).view(numpy.float32)


def map_doubles(item, key, files):
    import numpy

    shape = item[wire.KEY_SHAPE]
    count = math.prod(shape)
    if count == 0:
        return numpy.empty(shape)
    return numpy.frombuffer(mmap.mmap(files[item[key]], 8 * count), numpy.float64).reshape(shape)


def told(found, outputs):
    """What check() returns, in words: (output, index, what is wrong there), or None; an index of several dimensions is a tuple."""
    name, index, wrong = found
    given, index = outputs[name][index], index if isinstance(index, tuple) else (index,)
    return f"{name}[{', '.join(str(int(at)) for at in index)}] is {given}: {wrong}"


def checked(module, case, inputs, outputs):
    import numpy

    with numpy.errstate(all="ignore"):
        found = module.check(numbers(case, case[wire.KEY_DTYPE] == "f64"), inputs, outputs)
    if found is None:
        return {wire.KEY_OK: True}
    return {wire.KEY_ERROR: told(found, outputs)[:1000], wire.KEY_KIND: "check"}


def generate(module, case, inputs, places, files):
    """The inputs as generate() of the op makes them from the family's: rounded by the parent."""
    import numpy

    made = module.generate(numbers(case, case[wire.KEY_DTYPE] == "f64"), inputs)
    for name, place in places.items():
        map_doubles(place, wire.KEY_VALUE, files)[...] = numpy.asarray(made[name], numpy.float64)
    return {wire.KEY_OK: True}


def answer_of(path, arrays, command):
    _, files, _, _ = socket.recv_fds(arrays, 1, FILES_MOST)
    case = command[wire.KEY_CASE]
    module = load(path)
    inputs = {item[wire.KEY_NAME]: map_input(item, files) for item in command[wire.KEY_INPUTS]}
    if command[wire.KEY_DO] == wire.DO_GENERATE:
        return generate(
            module, case, inputs, {item[wire.KEY_NAME]: item for item in command[wire.KEY_REFERENCES]}, files
        )
    if wire.KEY_OUTPUTS in command:
        given = {item[wire.KEY_NAME]: map_input(item, files) for item in command[wire.KEY_OUTPUTS]}
        return checked(module, case, inputs, given)
    places = {item[wire.KEY_NAME]: dict(item) for item in command[wire.KEY_REFERENCES]}
    values, tolerances = judged(module, case, inputs, list(places))
    for name, place in places.items():
        place["wide"] = wide(case[wire.KEY_DTYPE] == "f64", module).__name__ == "longdouble"
        for key in (wire.KEY_VALUE, wire.KEY_TOLERANCE):
            place[key] = map_doubles(place, key, files)
        put(place, values[name], tolerances[name], case, name)
    return {wire.KEY_OK: True}


def answer(path, arrays, command):
    try:
        if command.get(wire.KEY_DO) not in (wire.DO_REFERENCE, wire.DO_GENERATE):
            raise Failure("internal", f"a reference does not know the command '{command.get(wire.KEY_DO)}'")
        return answer_of(path, arrays, command)
    except (ImportError, Skip) as error:
        return {wire.KEY_SKIP: f"{error}; the Python is {sys.executable}"}
    except Exception as error:
        traceback.print_exc()  # into the worker's log
        at = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
        line = f"reference/{path.name}{f':{at[-1]}' if at else ''}: "
        return {wire.KEY_ERROR: f"{line}{words_of(error)}"[:2000], wire.KEY_KIND: kind_of(error)}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("path", type=pathlib.Path)
    for name in ("commands", "replies", "arrays"):
        parser.add_argument(f"--{name}", type=int, required=True)
    args = parser.parse_args()
    arrays = socket.socket(fileno=args.arrays)
    with (
        os.fdopen(args.commands, encoding="utf-8") as commands,
        os.fdopen(args.replies, "w", encoding="utf-8") as replies,
    ):
        for line in commands:
            command = json.loads(line)
            last = command.get(wire.KEY_DO) == wire.DO_CLOSE
            reply = {wire.KEY_OK: True} if last else answer(args.path, arrays, command)
            print(json.dumps(reply, allow_nan=False), file=replies, flush=True)
            if last:
                break


if __name__ == "__main__":
    main()
