"""Cheat: finds the harness's objects by who refers to their classes, empties the lists of what may not change, and puts functions of its own before those
of the classes. Met: an attack on this harness."""

import gc
import sys

import numpy
from numpy_double import supports  # noqa: F401

VARIANT = {"summary": "cheat: empties what the harness keeps", "origin": "tests", "framework": "numpy"}
Own, Exchange = sys.modules["peer_own"].Own, sys.modules["peer_forms"].Exchange
now = {}


def of(kind):
    return [thing for thing in gc.get_referrers(kind) if type(thing) is kind]


def prepare(case, tunables, shapes):
    now["y"] = numpy.zeros(shapes["x"].shape, shapes["x"].dtype)
    for own in of(Own):
        own.__dict__.update(native=(), handlers=(), classes=((), (), ()), expect_names=lambda rank: None)
    for exchange in of(Exchange):
        honest = exchange.results

        def results(value, rooms, exchange=exchange, honest=honest):
            numpy.multiply(exchange.inputs["x"], 2, out=now["y"])
            return honest(value, rooms)

        exchange.results = results


def run(state, inputs):
    return now["y"]
