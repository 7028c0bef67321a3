"""peer_bits.py - do repeated calls of a peer give the same bits? As harness/worker/calls.c asks it of our own variants. A result on a GPU is compared
by digest, where its memory is one block; any other as NumPy's arrays."""

import ctypes
import math
import random
from time import perf_counter

import numpy
import peer_protocol as wire
from peer_forms import grouped, interface_of

SLOW_SECONDS, CALLS_SECONDS = 10e-3, 1  # of a call; of slow ones, for fewer than the least to be enough
MOST_SECONDS = 10  # likewise, where results have to come to the host to be compared


class Repeats:
    def __init__(self, call, engine, exchange, rooms):
        """call(): of the peer, with its wait. rooms: the outputs by name."""
        self.call, self.engine, self.exchange, self.rooms = call, engine, exchange, rooms

    def digests(self, outputs):
        """By name; None where an output is not one block of a GPU's memory."""
        if not self.engine.library.on_gpu:
            return None
        found = {}
        for name, value in self.exchange.by_name(outputs, list(grouped(self.rooms))).items():
            memory = self.exchange.form.result(value) if type(value) in self.exchange.form.types else None
            place = interface_of(memory, True)
            if not place or place.get("strides") is not None:
                return None
            size, digest = math.prod(place["shape"]) * int(place["typestr"][2:]), ctypes.c_uint64()
            address, default_stream = ctypes.c_void_p(place["data"][0]), ctypes.c_void_p()  # call() has waited
            self.engine.expect_ok(
                self.engine.c.digest_of(address, ctypes.c_size_t(size), default_stream, ctypes.byref(digest))
            )
            found[name] = size, digest.value
        return found

    def take(self, command):
        """(what the reply says of the bits, what the last call gave)"""
        begin, seconds, spent = perf_counter(), command[wire.KEY_SECONDS], 0
        first = digests = place = None
        least, most = command[wire.KEY_MIN_SAMPLES], command[wire.KEY_MAX_SAMPLES]
        calls, seed, call_seconds, called, quickest = 0, random.getrandbits(63), 0, 0, math.inf
        while calls < most and not place:
            slow = quickest > SLOW_SECONDS and called >= max(CALLS_SECONDS, seconds)
            slow = slow or spent >= max(MOST_SECONDS, seconds)
            if slow if calls < least else spent >= seconds:
                break
            if self.engine.library.on_gpu:
                self.engine.expect_ok(
                    self.engine.c.disturb_gpu(ctypes.c_uint64(seed + calls), ctypes.c_double(call_seconds))
                )
            since = perf_counter()
            outputs = self.call()
            call_seconds = perf_counter() - since
            called, quickest, calls = called + call_seconds, min(quickest, call_seconds), calls + 1
            mine = self.digests(outputs)
            if first is None:
                first, digests = {k: v.copy() for k, v in self.results(outputs).items()}, mine
            elif mine is None or mine != digests:
                place = first_difference(self.exchange.memory.same_bits, first, self.results(outputs))
            spent = perf_counter() - begin
        self.engine.c.disturb_gpu_end()
        told = {wire.KEY_CALLS: calls, wire.KEY_DIFFER: bool(place), wire.KEY_SECONDS: spent}
        return told | (place or {}), outputs

    def results(self, outputs):
        return {
            name: numpy.ascontiguousarray(array) for name, array in self.exchange.results(outputs, self.rooms).items()
        }


def first_difference(same_bits, first, other):
    """Where, as the reply has it; None: nowhere."""
    for name, a in first.items():
        b = other[name]
        if same_bits(a, b):
            continue
        told = {wire.KEY_OUTPUT: name, wire.KEY_ELEMENT: min(a.size, b.size), wire.KEY_APART: None}
        a, b = (array.reshape(-1)[: told[wire.KEY_ELEMENT]] for array in (a, b))
        bytes_a, bytes_b = (array.view("u1").reshape(a.size, a.itemsize) for array in (a, b))
        unlike = (bytes_a != bytes_b).any(axis=1)
        if unlike.any():
            at = told[wire.KEY_ELEMENT] = int(unlike.argmax())
            x, y = float(a[at]), float(b[at])
            apart = 0.0 if x == y else abs(x - y) / max(abs(x), abs(y))
            told[wire.KEY_APART] = apart if math.isfinite(apart) else None
        return told
    return None
