"""The ranking of report.html, by Node: variants are ranked on the cases that all of them have, the others are compared with the first. Without Node
it is skipped."""

import json
import shutil
import subprocess

import pytest

from checkout import SOURCE

NODE = shutil.which("node")
pytestmark = pytest.mark.skipif(not NODE, reason="node is not installed")
STATE = (SOURCE / "analysis/report/page_html/state.js").read_text().replace('"use strict";', "")


def ranking(times, off=()):
    """[[variant, mean of time over best, its cases, few?, time over the first one's, on how many cases], ...] and how many cases are common; times:
    case -> {variant: seconds}."""
    found = [
        [index, [[name, {"t": {"cold": {"m": value}}, "d": "cpu", "q": [0, 0, 0]}] for name, value in of.items()]]
        for index, of in enumerate(times)
    ]
    script = f"""{STATE}
state.off = {json.dumps(list(off))};
const entries = ranking(new Map({json.dumps(found)}.map(([index, variants]) => [index, new Map(variants)])));
console.log(JSON.stringify([entries.map((entry) => [entry.v, entry.mean, entry.cases, entry.few, entry.ratio, entry.shared]), entries.common]));"""
    done = subprocess.run([NODE, "-e", script], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def test_a_case_that_one_lacks_counts_for_nobody():
    """b is slow where a was not measured: that says nothing about which is faster."""
    entries, common = ranking([{"a": 1, "b": 2}, {"a": 1, "b": 2}, {"b": 100, "c": 1}, {"a": 3, "b": 3, "c": 1}])
    assert common == 1
    assert {name: (pytest.approx(mean), cases) for name, mean, cases, *_ in entries} == {
        "a": (3, 3),
        "b": (3, 4),
        "c": (1, 2),
    }


def test_unticked_variants_do_not_limit_the_cases():
    entries, common = ranking([{"a": 1, "b": 2}, {"a": 1, "b": 2}, {"b": 100, "c": 1}], off=["c"])
    assert common == 2
    assert [(name, pytest.approx(mean)) for name, mean, *_ in entries] == [("a", 1), ("b", 2)]


def test_one_with_few_cases_stands_behind():
    times = [{"a": 1, "b": 2} for _ in range(8)]
    times[0]["c"] = 0.5
    entries, common = ranking(times)
    assert (common, entries[0][0]) == (8, "a")
    assert entries[-1][0] == "c" and entries[-1][3:] == [True, 0.5, 1]


def test_without_a_common_case_there_is_nothing_to_compare():
    entries, common = ranking([{"a": 1}, {"b": 2}])
    assert (common, entries[0][:2]) == (1, ["a", 1])
    assert entries[1][0] == "b" and entries[1][3:] == [True, None, 0]
