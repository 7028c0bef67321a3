"""Parts of the report on rows made for them: counts of calls, sweeps over shapes, which row and baseline stand, columns of strings beside what their source
printed, published errors, how scenarios begin. Numbers are computed here a second time."""

import contextlib
import copy
import io
import json
import re
import shutil

from checkout import SOURCE
from report_page import GOLDEN, TIMED, WORK, drawn, made_by, op_page, report, tables, written

from analysis import published, select
from analysis import rows as r
from analysis.report import bits, claims, counts, findings, html, ladder, machine, rivals, standing
from plots import figures_claims, figures_ladder, figures_sweep, sweep

CIRCUMSTANCES = [line for line in GOLDEN if line["kind"] in ("environment", "ceilings")]


def by_column(text):
    """The first table as [{column: cell}]."""
    header, lines = tables(text)[0]
    return [dict(zip(header, line)) for line in lines]


# Counts of calls: one compact table an op.
BYTES, COLD = 1000.0, 2e-3


def counted(**other):
    return {
        "launches": 1,
        "kernel_seconds": 1e-3,
        "bytes_read": 600.0,
        "bytes_written": 900.0,
        "registers": 40,
        "occupancy": 0.4375,
        "allocations": 0,
        "peak_bytes": 3 << 20,
        **other,
    }


def counted_row(variant, agg="mean", n=1000, cold=COLD, tunables="", scenario="sweeps/x", dtype="f64", **counts_of_it):
    return {
        "kind": "row",
        "case": f"rolling agg={agg} n={n} dtype={dtype}",
        "op": "rolling",
        "params": {"agg": agg, "n": n, "function": "none"},
        "dtype": dtype,
        "input": "uniform",
        "seed": 1,
        "variant": f"rolling/{variant}",
        "spec": f"rolling/{variant}{tunables}",
        "scenario": scenario,
        "backend": "cuda",
        "verdict": "pass",
        "work": {"bytes": BYTES},
        "timing": {"cold": {"median": cold}} if cold else None,
        "counts": counted(**counts_of_it),
    }


def counts_text(rows):
    return counts.counts_of_op("rolling", rows, lambda some: some["case"], "docs/METHOD.md")


def counts_table(rows):
    """(the table's title, its lines as {column: cell})."""
    text = counts_text(rows)
    return next(line for line in text.splitlines() if line.startswith("**")).strip("*"), by_column(text)


def test_counts():
    _, lines = counts_table(
        [
            counted_row("a", kernel_seconds=1.5e-3, launches=1234, allocations=3),
            counted_row("b", cold=1e-3, kernel_seconds=1.2e-3),
        ]
    )
    assert lines[0] == {
        "variant": "b",
        "launches": "1",
        "bytes over minimum": "1.50",
        "kernels / cold": "120%",
        "registers": "40",
        "occupancy": "43.8%",
        "allocations": "-",
        "peak": "3.00 MiB",
    }, lines[0]
    assert lines[1] == {
        "variant": "a",
        "launches": "1,234",
        "bytes over minimum": "1.50",
        "kernels / cold": "75%",
        "registers": "40",
        "occupancy": "43.8%",
        "allocations": "3",
        "peak": "3.00 MiB",
    }, lines[1]


def test_what_was_not_counted():
    uncounted = counted_row("c")
    uncounted["counts"] = None
    assert counts_text([uncounted]) == ""
    _, lines = counts_table(
        [
            counted_row("a", bytes_read=None, kernel_seconds=None, registers=None),
            counted_row("b", cold=None),
            counted_row("d", cold=1e-9),
            uncounted,
        ]
    )
    assert [line["variant"] for line in lines] == ["d", "a", "b"]
    lines = lines[1:]
    assert (
        lines[0]["bytes over minimum"] == lines[0]["kernels / cold"] == lines[0]["registers"] == "-"
        and lines[0]["launches"] == "1"
    )
    assert (
        lines[1]["kernels / cold"] == "-"
        and lines[1]["bytes over minimum"] == "1.50"
        and "allocations" not in lines[1]
        and "case" not in lines[1]
    )
    bare = counted_row("a")
    bare["counts"] = {"seconds": 0.5}
    for key in ("params", "dtype", "input", "scenario", "work", "timing"):
        bare[key] = None
    assert "| a |" in counts_text([bare])
    assert counts.over_minimum({"counts": {"launches": 3, "bytes_read": 5.0}, "work": {"bytes": 10.0}}) is None, (
        "half of the bytes are no bytes"
    )


def test_counts_of_the_case_with_most_variants():
    many = [counted_row(v, agg="max") for v in "abc"]
    few = [counted_row(v, n=10**6, scenario="gate/x") for v in "ab"]
    assert counts_table(few + many)[0] == many[0]["case"]
    tuned = [counted_row("a", agg="min", tunables=f" threads={t}") for t in (32, 64, 128, 256)]
    assert counts_table(tuned + many)[0] == many[0]["case"], "four tunings are one variant"
    gate = [counted_row(v, scenario="gate/x") for v in "abc"]
    for rows in (gate + many, many + gate):
        assert counts_table(rows)[0] == gate[0]["case"], "of as many the gate's"
    large = [{**counted_row(v, n=10**9), "work": {"bytes": 1e10}} for v in "abc"]
    assert counts_table(large + many)[0] == large[0]["case"] and counts_table(large + gate)[0] == gate[0]["case"]


def test_counts_of_other_cases():
    main = [counted_row(v, cold=c) for v, c in (("a", 3e-3), ("b", 2e-3), ("c", 1e-3))]
    title, lines = counts_table(
        [
            counted_row("d", agg="max", n=2 * 10**6, dtype="f32", cold=1e-9),
            counted_row("a", agg="max", cold=1e-9),
            *main,
        ]
    )
    assert title == main[0]["case"] and [line["variant"] for line in lines] == ["c", "b", "a", "d"], lines
    assert [line["case"] for line in lines] == ["-", "-", "-", "agg max, n 2e6, f32"], lines


def test_not_too_many_lines():
    tuned = [counted_row("a", tunables=f" threads={k:02}", cold=1e-6 * (k + 1)) for k in range(20)]
    slow = [counted_row(v, cold=1.0) for v in "bcd"]
    _, lines = counts_table(tuned + slow + [counted_row("e", agg="max")])
    names = [line["variant"] for line in lines]
    assert len(names) == counts.MOST_LINES == 12
    assert names == [f"a threads={k:02}" for k in range(8)] + ["b", "c", "d"] + ["e"], names


def test_counts_in_the_report():
    report(written(GOLDEN), "--no-figures")
    plain = op_page()
    assert counts.HEADING not in plain and "bytes over minimum" not in plain
    lines = copy.deepcopy(GOLDEN)
    rows = [line for line in lines if line["kind"] == "row" and line["backend"] == "cuda" and line.get("timing")]
    for some in rows:
        size, cold = some["work"]["bytes"], some["timing"]["cold"]["median"]
        some["counts"] = counted(
            bytes_read=size, bytes_written=0.25 * size, kernel_seconds=0.5 * cold, peak_bytes=5 << 30
        )
    report(written(lines), "--no-figures")
    text = op_page()
    assert text.count(counts.HEADING) == 1 and text.count("- *bytes over minimum*: ") == 1
    table = text[text.index(counts.HEADING) :]
    assert "/docs/METHOD.md#counts)" in table and "\n## Counts\n" in (SOURCE / "docs/METHOD.md").read_text(), (
        "the link leads somewhere"
    )
    case = next(some["case"] for some in rows if "n=1000000000" in some["case"])
    for some in rows:
        if some["case"] == case:
            assert f"| {some['spec'].split('/')[1]} | - | 1 | 1.25 | 50% | 40 | 43.8% | 5.00 GiB |" in table, some[
                "spec"
            ]
    assert (
        "| cuda_block_prefix_suffix threads=256 | n 1e8, f32, input normal | 1 | 1.25 | 50% | 40 | 43.8% | 5.00 GiB |"
        in table
    )


# Time against rows x elements of a row.
SINGLE = [(1, 10**k) for k in range(3, 8)]
MANY = [(64, 1000), (4096, 1024), (65536, 128), (100000, 64)]


def shaped(variant, shape, seconds, seed=1, tunables=""):
    line = copy.deepcopy(TIMED)
    batch, n = shape
    line |= {
        "op": "discounted_cumsum",
        "variant": f"discounted_cumsum/{variant}",
        "spec": f"discounted_cumsum/{variant}{tunables}",
        "baseline": None,
        "seed": seed,
        "params": {"batch": batch, "n": n, "gamma": 0.99},
        "case": f"discounted_cumsum batch={batch} n={n} gamma=0.99 dtype=f32 input=normal seed={seed}",
        "dtype": "f32",
        "input": "normal",
    }
    if seconds is None:
        line |= {"timing": None, "why_not_timed": "verify only"}
    else:
        cold = {
            **TIMED["timing"]["cold"],
            **dict.fromkeys(("median", "min", "max", "q1", "q3", "low", "high"), seconds),
            "samples": [seconds],
        }
        line["timing"] = {"cold": cold}
    return line


def times(variant, shapes, of, **how):
    return [shaped(variant, shape, of * shape[0] * shape[1], **how) for shape in shapes]


SHAPED = times("cuda_a", SINGLE + MANY, 1e-12) + times("cuda_b", SINGLE + MANY, 3e-12)


def loaded(rows):
    return select.load([written(CIRCUMSTANCES + rows)])


def sweeps_of(rows):
    """Heading of a sweep -> [column names, {variant: cells}]."""
    report(written(CIRCUMSTANCES + rows), "--no-figures", out="sweeps.md")
    text = op_page("discounted_cumsum")
    parts = re.split(r"^#### Time against (.+)\n", text, flags=re.M)[1:]
    found = {name: tables(part)[0] for name, part in zip(parts[::2], parts[1::2])}
    return {name: (head[1:], {line[0]: line[1:] for line in lines}) for name, (head, lines) in found.items()}


def test_two_tables():
    found = sweeps_of(SHAPED)
    columns, lines = found["n"]
    assert columns == ["n = 1000", "n = 10000", "n = 100000", "n = 1e6", "n = 1e7"], columns
    columns, lines = found["batch x n"]
    assert columns == ["64 x 1000", "4096 x 1024", "65536 x 128", "100000 x 64"], columns
    assert list(lines) == ["cuda_a", "cuda_b"], "the fastest first"
    assert lines["cuda_b"][1].startswith("12.6 us"), lines


def test_what_was_only_verified_takes_no_place():
    found = sweeps_of(
        SHAPED
        + [
            shaped("cuda_a", SINGLE[1], None, seed=2),
            shaped("cuda_b", (1, 2049), None),
            shaped("cuda_a", (300, 7), None),
        ]
    )
    columns, lines = found["n"]
    assert "n = 2049" not in columns, columns
    assert lines["cuda_a"][1].startswith("10.0 ns"), "the time of seed 1 stays"
    assert "300 x 7" not in found["batch x n"][0]


def test_whose_kernel_it_is():
    """What the row says; of older rows, which say nothing, the variants that launch a library's kernel."""
    key, older = {"library": "CUB 3.0.1"}, {}
    for name, said, library in (
        ("cuda_cub_scan", key, True),
        ("cuda_new", key, True),
        ("cuda_cub_scan", older, True),
        ("cuda_new", older, False),
        ("cuda_new", {"library": None}, False),
        ("peer_torch", {"library": None}, True),
    ):
        backend = "peer" if name.startswith("peer") else "cuda"
        row = {**shaped(name, (1, 1000), 1e-9), "backend": backend, "baseline": None}
        row.pop("library", None)
        theirs, ours = row | said, shaped("cuda_ours", (1, 1000), 2e-9)
        (some,) = rivals.standings(loaded([theirs, ours]), "discounted_cumsum").values()
        assert (some.library is not None) == library and r.is_library(theirs) == library, (name, said)
        assert r.name_of(some.ours) == ("cuda_ours" if library else name)
        assert figures_ladder.kind_of(theirs, set()) == ("peer" if library else "cuda")


def test_few_shapes_make_no_table():
    assert "batch x n" not in sweeps_of(times("cuda_a", SINGLE + MANY[:2], 1e-12))


def results_of_runs(*runs):
    """Of (id, commit, words of the command, devices whose peaks it measured), in order of date."""
    environments = {
        run: {"run": run, "date": str(k), "commit": commit, "argv": ["/somewhere/rungs", *words.split()]}
        for k, (run, commit, words, _) in enumerate(runs)
    }
    ceilings = {
        run: {device: {"copy": {"value": 1e12, "unit": "B/s"}} for device in devices} for run, _, _, devices in runs
    }
    return r.Results(
        environments, ceilings, [{**counted_row(f"cuda_{run}"), "run": run} for run, _, _, _ in runs], [], []
    )


def test_commands_of_the_rows():
    results = results_of_runs(
        ("a", "abc", "reproduce --full --budget 515s --out kept", ["cuda", "cpu"]),
        ("b", "abc", "reproduce --full --resume --budget 9m --out kept", ["cuda", "cpu"]),
        ("c", "def", "run large --resume --verbose --out x.jsonl", ["cuda"]),
    )
    block = machine.reproduce(results).split("```")[1].splitlines()[1:]
    assert block == ["git checkout abc", "./rungs reproduce --full", "git checkout def", "./rungs run large"], block
    assert "1, abc" in machine.machine(results), "b has the peaks of both devices"
    asked = ("run a --full", "run b --full --out y", "run a", "run op,n=1", "run op,n=2 op,n=1", "run c op,n=2 --full")
    block = (
        machine.reproduce(results_of_runs(*((str(k), "abc", words, []) for k, words in enumerate(asked))))
        .split("```")[1]
        .splitlines()[2:]
    )
    assert block == ["./rungs run a b c --full", "./rungs run a", "# 2 single cases"], block
    many = results_of_runs(*((str(k), str(k), "run x", []) for k in range(11)))
    assert "git" not in machine.reproduce(many) and "./rungs reproduce --full" in machine.reproduce(many)


def test_a_line_has_one_tuning():
    results = loaded(SHAPED + times("cuda_a", SINGLE[-1:], 1e-13, tunables=" threads=512"))
    lines = figures_sweep.lines_of(
        select.longest_sweep(results, "discounted_cumsum", "f32", "n", figures_sweep.LEAST_POINTS), "n"
    )
    lines = {
        r.name_of(variant): [(value, r.median(row)) for value, row in points] for (variant, _), points in lines.items()
    }
    assert lines["cuda_a"][-1] == (1e7, 1e-12 * 1e7), "not the other tuning's, which has one point"
    assert lines["cuda_b"][-1] == (1e7, 3e-12 * 1e7) and len(lines["cuda_b"]) == len(SINGLE), lines


def test_a_sweep_is_of_one_campaign():
    """Some sizes are measured again on another card: the figure is of the card that has most, the tables mark the others."""
    circumstances = next(line for line in CIRCUMSTANCES if line.get("run") == TIMED["run"])
    again = copy.deepcopy(circumstances) | {"run": "again", "date": "2199-01-01T00:00:00Z", "commit": "feedbee"}
    again["gpu"]["uuid"] = "GPU-another"
    newer = [row | {"run": "again"} for row in times("cuda_a", SINGLE[-2:], 1e-13)]
    results = loaded([again, *SHAPED, *newer])
    group = select.longest_sweep(results, "discounted_cumsum", "f32", "n", figures_sweep.LEAST_POINTS)
    assert {row["run"] for row in group} == {TIMED["run"]} and len(group) == 2 * len(SINGLE), group
    columns, lines = sweeps_of([again, *SHAPED, *newer])["n"]
    assert [cell.endswith(" [a]") for cell in lines["cuda_a"]] == 3 * [False] + 2 * [True], lines
    assert "Of another campaign, on another card: [a] of commit feedbee." in op_page("discounted_cumsum")
    mixed = [row for row in results.rows if row["case"] == newer[-1]["case"]]
    commits = {line["variant"]: line["commit"] for line in by_column(ladder.case_table(results, mixed))}
    assert commits == {"cuda_a": "`feedbee`", "cuda_b": f"`{circumstances['commit'][:7]}`"}, commits


def plotted(*words):
    said, errors = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(errors):
        code = sweep.main([*map(str, words)])
    return code, said.getvalue(), errors.getvalue()


def test_a_sweep_in_the_terminal():
    rows = written(CIRCUMSTANCES + SHAPED + times("cpu_c", SINGLE, 9e-12))
    code, text, _ = plotted("", rows)
    assert code == 0 and text.startswith("discounted_cumsum_n_f32 "), text
    assert plotted("ewm_n_f32", rows)[0] == 2 and "known: discounted_cumsum_n_f32" in plotted("ewm_n_f32", rows)[2]
    assert plotted("", written(GOLDEN, "golden.jsonl"))[0] == 3, "no sweep in these rows"
    if not shutil.which("gnuplot"):
        return
    code, text, _ = plotted("discounted_cumsum_n_f32", rows, "--columns", 90)
    assert (
        code == 0
        and all(name in text for name in ("cuda_a", "cuda_b", "cpu_c"))
        and max(map(len, text.splitlines())) <= 90
    ), text
    assert (
        plotted("discounted_cumsum_n_f32", rows, "--out", WORK / "sweep.svg")[0] == 0
        and "cuda_a" in (WORK / "sweep.svg").read_text()
    )


# Which rows stand.
def test_of_one_build_the_row_with_more_modes_stays():
    more = shaped("cuda_a", SINGLE[0], 1e-9)
    more["timing"]["hot"] = more["timing"]["cold"]
    fewer, wrong, other = (
        shaped("cuda_a", SINGLE[0], 2e-9),
        {**shaped("cuda_a", SINGLE[0], 2e-9), "verdict": "fail"},
        {**shaped("cuda_a", SINGLE[0], 3e-9), "run": "later"},
    )

    def latest(*rows):
        return loaded(list(rows)).rows[0]

    assert set(latest(more, fewer)["timing"]) == {"cold", "hot"}, "fewer modes replace nothing"
    both = latest(fewer, more)["timing"]
    assert (
        round(both["cold"]["median"], 12),
        both["cold"]["low"],
        both["cold"]["high"],
        both["cold"]["processes"],
    ) == (1.5e-9, 1e-9, 2e-9, 2) and both["hot"]["median"] == 1e-9, "two processes of one environment"
    assert latest(more, {**more, "seed": 7})["seed"] == 7, "as many do"
    assert latest(more, wrong)["verdict"] == "fail", "what is found wrong is said"
    assert set(latest(more, other)["timing"]) == {"cold"}, "another build is another measurement"


def test_a_row_with_a_limit_of_its_own_is_held_to_it():
    held = next(row for row in GOLDEN if row["kind"] == "row" and r.share_of_limit(row))
    unknown = copy.deepcopy(held)
    for timed in unknown["timing"].values():
        timed.pop("limit")
    share = 0.4e-3 / held["timing"]["cold"]["median"]
    results = select.load([written([*CIRCUMSTANCES, held])])
    assert abs(r.share_of_limit(results.rows[0]) / share - 1) < 1e-12
    assert by_column(ladder.case_table(results, results.rows))[0]["of limit"] in (f"{share:.1%}", f"{share:.0%}")
    results = select.load([written([*CIRCUMSTANCES, unknown])])
    assert "of limit" not in by_column(ladder.case_table(results, results.rows))[0], "none was measured"


def test_one_baseline_to_a_table():
    slow, other = shaped("cuda_a", SINGLE[0], 8e-9), shaped("cuda_a", SINGLE[0], 1e-9, tunables=" threads=1")
    default = [shaped("cuda_a", shape, 1e-9) for shape in SINGLE[1:]]  # what most rows have
    fast, cpu = (
        {**shaped("cuda_b", SINGLE[0], 2e-9), "baseline": "discounted_cumsum/cuda_a"},
        {**shaped("cpu_c", SINGLE[0], 4e-9), "baseline": "discounted_cumsum/cpu_c"},
    )
    slow["baseline"] = other["baseline"] = "discounted_cumsum/cuda_a"
    results = loaded([slow, other, fast, cpu, *default])
    assert results.baseline_spec(fast) == "discounted_cumsum/cuda_a", "not another tuning of it"
    lines = by_column(ladder.case_table(results, [line for line in results.rows if line["case"] == slow["case"]]))
    found = {line["variant"]: line["over cuda_a"].split(" ")[0] for line in lines}
    assert found == {"cuda_a": "1", "cuda_a threads=1": "8.00x", "cuda_b": "4.00x", "cpu_c": "2.00x"}, found


def test_modes_are_those_of_the_rows():
    """In the program's order, though no row has them all."""
    rows = [
        {"timing": dict.fromkeys(modes)}
        for modes in (
            ("cold", "first"),
            ("cold", "graph"),
            ("cold", "hot", "graph", "first"),
            ("cold", "complete", "first"),
        )
    ]
    assert r.modes_of([{"timing": None}, *rows]) == ["cold", "hot", "graph", "complete", "first"], r.modes_of(rows)


# Columns of strings: curves beside the source's points, counts beside the printed ones.
COLUMNS = made_by("make_columns.py", name="columns.jsonl")
COLUMN_LINES = [json.loads(line) for line in COLUMNS.read_text().splitlines()]


def cold_of(spec, rows):
    return next(
        line for line in COLUMN_LINES if line.get("spec") == "redact/" + spec and line["params"]["rows"] == rows
    )["timing"]["cold"]["median"]


def test_what_was_printed():
    points = published.points("redact")
    assert points.said["hardware"] == "NVIDIA RTX A6000" and len(points.lines) == 50, len(points.lines)
    assert published.series("redact", "rows", {"params": {"rows": 1}, "dtype": "i32"}) is None, (
        "points are no table of times"
    )
    assert published.points("moments") is None and published.points("no such op") is None


def test_columns_in_the_report():
    report(COLUMNS, "--no-figures")
    text = op_page("redact")
    line = by_column(text[text.index(counts.HEADING) :])
    line = next(cells for cells in line if cells["variant"] == "cuda_two_pass memory=cuda")
    time = cold_of("cuda_two_pass memory=cuda", 5000000)
    assert line["cold"] == f"{1e6 * time:.0f} us (760 us)" and line["GB/s"] == f"{37.7 * 5 / time / 1e3:.0f} (248)", (
        line
    )
    assert (line["launches"], line["bytes over minimum"], line["kernels / cold"]) == (
        "3 (4)",
        "1.60 (1.75)",
        f"{1e-4 / time:.0%}",
    ), line
    assert (line["registers"], line["occupancy"], line["allocations"]) == ("32", "100%", "3"), line
    assert "In brackets: Wendt and Kimball" in text
    report(
        written([{**line, "counts": None} if line["kind"] == "row" else line for line in COLUMN_LINES]), "--no-figures"
    )
    assert "#### Launches" not in op_page("redact")


# Processes.
def test_processes_that_took_as_long_are_processes():
    """A clock has steps, so that three processes may have two medians; the same process in two files is one."""
    results = select.load(
        [
            written(
                [
                    *CIRCUMSTANCES,
                    *(
                        taking(seconds, samples)
                        for seconds, samples in (
                            (2.0, [2.0, 1.9]),
                            (3.0, [3.0, 3.1]),
                            (3.0, [3.0, 2.9]),
                            (3.0, [3.0, 2.9]),
                        )
                    ),
                ]
            )
        ]
    )
    cold = results.rows[0]["timing"]["cold"]
    assert (cold["median"], cold["low"], cold["high"], cold["processes"]) == (3.0, 2.0, 3.0, 3), cold


def test_bits_of_processes_and_the_price_of_the_same():
    """Calls add up, one process whose bits differ decides; the price stands where the fastest of all differs, and only there."""

    def told(outcome, calls, seconds, **where):
        excluded = 3 / calls if outcome == "same" else None
        return {"outcome": outcome, "calls": calls, "excluded": excluded, "seconds": seconds, **where}

    same = [told("same", 100, 0.1), told("same", 200, 0.2), told("same", 200, 0.2)]
    differ = [told("same", 900, 0.3), told("differ", 7, 0.1, output="y", element=12, apart=1.5e-16)]
    slow, fast = ("rolling/cuda_slow", 3.0, same), ("rolling/cuda_fast", 2.0, differ)

    def results_of(*variants):
        rows = [
            {**taking(seconds, [seconds]), "variant": name, "spec": name, "bits": one, "library": None}
            for name, seconds, bits_of in variants
            for one in bits_of
        ]
        return select.load([written([*CIRCUMSTANCES, *rows])])

    def standings_of(*variants):
        return rivals.standings(results_of(*variants), TIMED["op"])

    def text_of(*variants):
        return [bits.bits_text(row) for row in results_of(*variants).rows], bits.price_text(standings_of(*variants))

    cells, price = text_of(slow, fast)
    assert cells == ["same in 300 calls", "differ (`y[12]`, 1.5e-16 apart)"], cells
    assert "none in 0 of 1 case" in price and "`cuda_fast` differs, `cuda_slow` does not and takes 1.50x" in price, (
        price
    )
    assert "none in 1 of 1 case" in text_of(slow)[1] and "differs" not in text_of(slow)[1]
    assert "of no other is it known" in text_of(fast)[1]
    lines = bits.price({"one": standings_of(slow), "two": standings_of(slow, fast)}, {}).splitlines()
    assert lines[0].startswith("*Price of equal bits*: none in 1 of 2 cases, "), lines
    assert "`cuda_fast` differs" in lines[0] and lines[2].startswith("No call of these runs was metered"), lines
    assert "*Price of equal bits*" in text_of(slow)[1], "no word of determinism with fewer than 1,000 calls"
    often = ("rolling/cuda_slow", 3.0, [told("same", 600, 0.1), told("same", 400, 0.2)])
    assert "*Price of determinism*: none in 1 of 1 case" in text_of(often)[1]
    nothing = ("rolling/cuda_slow", 3.0, [{**told("same", 3, 0.1), "outcome": "not tried", "excluded": None}])
    assert text_of(nothing) == (["-"], "")


def taking(seconds, samples):
    row = copy.deepcopy(TIMED)
    row["timing"] = {"cold": row["timing"]["cold"] | {"median": seconds, "samples": samples}}
    return row


def test_joules():
    told = {"joules": 2e-3, "low": 1.9e-3, "high": 2.1e-3, "joules_per_element": 2e-11, "watts": 300.0}
    rows = [
        taking(3.0, [3.0]) | {"variant": name, "spec": name, "energy": energy}
        for name, energy in (
            ("rolling/cpu_a", told),
            ("rolling/cpu_b", {"reason": "not measurable: RAPL"}),
            ("rolling/cpu_c", None),
        )
    ]
    results = select.load([written([*CIRCUMSTANCES, *rows])])
    (line,) = by_column(bits.energy_table({TIMED["op"]: rivals.standings(results, TIMED["op"])}))
    assert (line["variant"], line["mJ a call"], line["pJ an element"]) == ("`cpu_a`", "2.00 (1.90 to 2.10)", "20.0"), (
        line
    )
    found = {TIMED["op"]: rivals.standings(results, TIMED["op"])}
    assert bits.price(found, {TIMED["op"]: "page.md"}).endswith(f"Joules of a call: [{TIMED['op']}](page.md).")


def test_joules_of_one_of_the_processes():
    told = {"joules": 2e-3, "low": 1.9e-3, "high": 2.1e-3, "joules_per_element": None, "watts": 300.0}
    rows = [
        taking(seconds, [seconds]) | {"energy": energy}
        for seconds, energy in ((3.0, told), (4.0, {"reason": "metered before"}), (5.0, None))
    ]
    results = select.load([written([*CIRCUMSTANCES, *rows])])
    assert [row["energy"] for row in results.rows] == [told] and r.median(results.rows[0]) == 4.0


def on_gpus(*made):
    """Rows of one run: (case, variant, seconds, GPU, other keys)."""
    circumstances = next(line for line in CIRCUMSTANCES if line.get("run") == TIMED["run"])
    rows = [
        taking(seconds, [seconds])
        | {
            "variant": f"rolling/{variant}",
            "spec": f"rolling/{variant}",
            "gpu": {"index": 0, "uuid": gpu},
            "case": case,
        }
        | other
        for case, variant, seconds, gpu, other in made
    ]
    return select.load([written([circumstances, *rows])])


def test_another_gpu_of_the_run_tells_the_definition():
    declared = {"bound": {"name": "textbook", "formula": "?", "declared": True}}
    wide, told = declared | {"does_not_tell": ["window+1"]}, declared | {"tells": ["window+1"]}
    large, small = TIMED["case"], TIMED["case"].replace(" n=", " n=1")
    made = [(large, "cuda_tile", 2.0, "one", wide), (large, "cuda_ours", 1.0, "two", {})]
    alone = on_gpus(*made)
    assert [alone.why_not_ranked(row) for row in alone.rows] == ["definition not verified", ""]
    both = on_gpus(*made, (small, "cuda_tile", 0.1, "two", told))
    assert not any(map(both.why_not_ranked, both.rows)), "though the large case is of two campaigns, one a GPU"


def test_two_gpus_of_a_run_are_not_compared():
    """Rows of one case say that they ran on several GPUs, as a run with --devices that was resumed makes them; a CPU's goes with the last."""
    circumstances = next(line for line in CIRCUMSTANCES if line.get("run") == TIMED["run"])
    made = (
        ("peer_torch", 8.0, "one"),
        ("cuda_naive", 6.0, "two"),
        ("cuda_ours", 4.0, "one"),
        ("cuda_ours", 2.0, "two"),
        ("cpu_loop", 9.0, None),
    )
    rows = [
        taking(seconds, [seconds])
        | {"variant": f"rolling/{variant}", "spec": f"rolling/{variant}", "gpu": gpu and {"index": 0, "uuid": gpu}}
        for variant, seconds, gpu in made
    ]
    results = select.load([written([circumstances, *rows])])
    mine = [(row, row["timing"]["cold"]["median"]) for row in results.rows if row["variant"] == "rolling/cuda_ours"]
    assert [seconds for _, seconds in mine] == [2.0], "not the median of two GPUs"
    over = {v: results.speedup(mine[0][0], over=f"rolling/{v}") for v in ("peer_torch", "cuda_naive", "cpu_loop")}
    assert over == {"peer_torch": None, "cuda_naive": 3.0, "cpu_loop": 4.5}


def test_two_cards_are_not_compared():
    """Of one build: a rival that was timed on the first card only, and ours on both, the second time faster."""
    circumstances = next(
        line for line in CIRCUMSTANCES if line["kind"] == "environment" and line["run"] == TIMED["run"]
    )
    cards = [
        {**copy.deepcopy(circumstances), "run": run, "date": f"2026-01-0{day}T00:00:00Z"}
        for run, day in (("one", 1), ("two", 2))
    ]
    cards[1]["gpu"]["uuid"] = "GPU-another"

    def timed(run, variant, seconds):
        backend = variant.split("_")[0]
        row = copy.deepcopy(TIMED) | {
            "run": run,
            "variant": f"rolling/{variant}",
            "spec": f"rolling/{variant}",
            "backend": backend,
            "baseline": "rolling/peer_torch",
        }
        return row | {
            "timing": {
                "cold": row["timing"]["cold"]
                | {"median": seconds, "low": 0.99 * seconds, "high": 1.01 * seconds, "samples": [seconds]}
            }
        }

    results = select.load(
        [
            written(
                [
                    *cards,
                    timed("one", "peer_torch", 8.0),
                    timed("one", "cuda_ours", 4.0),
                    timed("two", "cuda_ours", 2.0),
                ]
            )
        ]
    )
    newest = next(row for row in results.rows if row["variant"] == "rolling/cuda_ours")
    assert r.median(newest) == 2.0 and results.speedup(newest, over="rolling/peer_torch") is None, (
        "the second card has no such time"
    )
    (some,) = rivals.standings(results, "rolling").values()
    assert str(rivals.times_faster(some.library, some.ours)) == "2.00x ±3%" and r.median(some.later) == 2.0, some
    text = standing.case_table(results, {newest["case"]: some})
    assert "2.00x" in text and "4.00x" not in text and "2.00 s in a later run" in text, text
    assert {(r.name_of(row), r.median(row)): beside for row, beside in html.compared(results)} == {
        ("peer_torch", 8.0): True,
        ("cuda_ours", 4.0): True,
    }, "the page compares those of the first card"
    lone = select.load(
        [
            written(
                [
                    *cards,
                    timed("one", "peer_torch", 8.0),
                    timed("one", "cuda_ours", 4.0),
                    timed("two", "cuda_other", 2.0),
                ]
            )
        ]
    )
    assert {r.name_of(row): beside for row, beside in html.compared(lone)} == {
        "peer_torch": True,
        "cuda_ours": True,
        "cuda_other": False,
    }
    (some,) = rivals.standings(lone, "rolling").values()
    assert standing.our_cell(some) == "`cuda_ours` 4.00 s (`cuda_other` 2.00 s in a later run)"
    slower = [timed("one", "peer_torch", 8.0), timed("one", "cuda_ours", 4.0), timed("two", "cuda_other", 5.0)]
    (some,) = rivals.standings(select.load([written([*cards, *slower])]), "rolling").values()
    assert standing.our_cell(some) == "`cuda_ours` 4.00 s", "nobody ran the fastest again"

    on_cpu = [timed("two", "peer_pandas", 80.0), timed("two", "cpu_best", 40.0)]
    on_cpu[0]["timing"]["cold"]["clock"] = "steady"
    part = [timed("one", "peer_torch", 8.0), timed("one", "cuda_ours", 4.0), *on_cpu]
    results = select.load([written([*cards, *part])])
    (some,) = rivals.standings(results, "rolling").values()
    assert standing.our_cell(some) == "`cuda_ours` 4.00 s", "though the CPU's rows are the latest"
    assert {name: ratio.value for name, ratio in rivals.pairs_of(some).items()} == {"peer_torch": 2.0}
    assert [ratio.value for _, ratio in standing.against_cpu_libraries({some.row["case"]: some})] == [2.0]

    alone = timed("one", "cpu_loop", 1.0) | {"op": "double", "case": "double n=1000", "params": {"n": 1000}}
    limited = [timed("one", "cuda_ours", 4.0), alone]
    for row, share in zip(limited, (0.8, 0.5), strict=True):
        row["timing"]["cold"]["limit"] = {"seconds": share * row["timing"]["cold"]["median"], "share": share}
    results = select.load([written([*cards, *limited])])
    text = findings.fastest(results, {op: rivals.standings(results, op) for op in ("rolling", "double")})
    assert "reaches 80.0% of the limit" in text, "what is fastest on a CPU says nothing of a GPU"


# A ladder as a figure.
def on_input(variant, family, verdict="pass"):
    row = copy.deepcopy(TIMED) | {
        "variant": f"rolling/{variant}",
        "spec": f"rolling/{variant}",
        "input": family,
        "case": f"rolling on {family}",
        "verdict": verdict,
    }
    return row | ({"timing": None} if verdict != "pass" else {})


def test_dots_say_on_how_many_inputs():
    lines = [on_input("cuda_right", family) for family in ("ramp", "normal", "ones")] + [
        on_input("cuda_wrong", family, verdict)
        for family, verdict in (("ramp", "pass"), ("normal", "pass"), ("ones", "pass"), ("naninf", "fail"))
    ]
    lines += [on_input("cuda_few", family) for family in ("ramp", "normal")] + [
        on_input("cuda_none", "ramp"),
        on_input("cuda_none", "normal", "skip"),
        on_input("cuda_none", "ones", "skip"),
    ]
    results = select.load([written([*CIRCUMSTANCES, *lines])])
    ladder_of = figures_ladder.Ladder(
        results, "rolling", [row for row in results.rows if row["input"] == "ramp"], None, {}
    )
    assert {row["variant"]: ladder_of.sign(row) for row in ladder_of.rows} == {
        "rolling/cuda_right": "right",
        "rolling/cuda_wrong": "wrong",
        "rolling/cuda_few": "few",
        "rolling/cuda_none": "few",
    }
    assert len(ladder_of.all_inputs) == 4 and {name: len(tried) for name, (tried, _) in ladder_of.inputs.items()} == {
        "rolling/cuda_right": 3,
        "rolling/cuda_wrong": 4,
        "rolling/cuda_few": 2,
        "rolling/cuda_none": 1,
    }
    assert not ladder_of.apart(), "all took as long"
    labels = {handle.get_label() for handle in figures_ladder.legend_of(ladder_of)}
    assert {"right on all inputs tried, N of M", "wrong on one or more", "tried on fewer than 3"} <= labels, labels


def test_what_a_ladder_finds():
    """cuda_a takes 1 ms and cuda_b 2 ms, within an interval; declared: has a looser bound of its own."""

    def finding(baseline, *declared, within=0.05):
        lines = []
        for k, name in enumerate(("cuda_a", "cuda_b")):
            row = on_input(name, "ramp")
            times = {
                "median": 1e-3 * (k + 1),
                "low": 1e-3 * (k + 1) * (1 - within),
                "high": 1e-3 * (k + 1) * (1 + within),
            }
            lines.append(
                {
                    **row,
                    "timing": {"cold": {**row["timing"]["cold"], **times}},
                    "bound": {"name": "loose", "declared": name in declared},
                }
            )
        results = select.load([written([*CIRCUMSTANCES, *lines])])
        return figures_ladder.Ladder(results, "rolling", results.rows, f"rolling/{baseline}", {}).finding()

    assert finding("cuda_b") == "cuda_a is 2.00x faster than cuda_b", finding("cuda_b")
    assert finding("cuda_a") == "nothing within the tolerance is faster than cuda_a"
    assert finding("cuda_a", "cuda_a") == "cuda_b is 2.00x slower than cuda_a", "the baseline has a looser bound"
    assert (
        finding("cuda_b", within=0.4)
        == finding("cuda_a", "cuda_a", within=0.4).replace("cuda_b and cuda_a", "cuda_a and cuda_b")
        == "cuda_a and cuda_b are not told apart"
    )


def test_pages_keep_the_speed_ups():
    """What makes texts fit for a page changes no number, and what is equal stays equal."""
    results = select.load(sorted((SOURCE / "results").glob("*.jsonl")))
    page = results.in_markdown()
    found = [results.speedup(row) for row in results.rows]
    assert sum(value is not None for value in found) > 100 and found == [page.speedup(row) for row in page.rows]


def test_the_ladders_of_the_committed_rows():
    results = select.load(sorted((SOURCE / "results").glob("*.jsonl")))
    for op in ("rolling", "moments", "ewm", "redact", "discounted_cumsum", "discounted_cumsum_grad"):
        ladder_of = figures_ladder.Ladder(results, op, *figures_ladder.best_case(results, op))
        assert len({results.campaign(row) for row in ladder_of.rows}) == 1, "one card, one build"
        assert ladder_of.apart()
        kinds = {r.name_of(row): figures_ladder.kind_of(row, ladder_of.published) for row in ladder_of.rows}
        if op == "rolling":
            (naive,) = (row for row in ladder_of.rows if row["variant"] == "rolling/cuda_naive")
            assert naive["tunables"] == {"threads": 128, "rolled": 0}, "the claims' one, not the fastest"
            assert (kinds["peer_numba_cuda_tile"], kinds["cuda_shared"], kinds["peer_cudf"]) == (
                "published",
                "published",
                "peer",
            )
        if op == "moments":
            assert (
                kinds["peer_torch_compile"] == kinds["peer_torch_cuda"] == "peer"
                and kinds["cuda_two_pass"] == "published"
            )


# Claims as a figure.
def error_claim(id_, published_error, here, outcome, **other):
    pattern = next(line for line in GOLDEN if line["kind"] == "claim")
    return {
        **pattern,
        "id": id_,
        "quantity": "error",
        "unit": "",
        "published": published_error,
        "band_low": published_error / 2,
        "band_high": published_error * 2,
        "here": here,
        "low": None,
        "high": None,
        "outcome": outcome,
        "output": "y",
        "baseline": None,
        "mode": None,
        **other,
    }


def test_intervals_of_claims_lie_within_the_panel():
    wide = {
        "rule": "shown",
        "quantity": "seconds",
        "published": 10.4e-3,
        "here": 8.7e-3,
        "low": 7.8e-3,
        "high": 39.5e-3,
    }
    low, high = figures_claims.ends_of([wide])
    assert low < 7.8 / 10.4 and high > 39.5 / 10.4


def test_claims_as_dumbbells():
    lines = GOLDEN + [
        error_claim("exact", 1e-6, 0, "holds"),
        error_claim("a", 1e-6, 1.1e-6, "holds"),
        error_claim("b", 5e-6, 1e-8, "fails"),
        error_claim("c", 1e-6, 1e-3, "fails", rule="shown", band_low=None, band_high=None),
    ]
    with drawn():
        ((path, told),) = figures_claims.draw(select.load([written(lines)]), WORK)
    text = path.read_text()
    assert path.name == "claims.svg" and "3 of 5 counted tests hold" in told, "an error of 0, too: " + told
    assert text.count("#009e73") >= 2 and text.count("#d55e00") >= 2, "points in the colours of their outcomes"
    assert not figures_claims.draw(
        select.load([written([line for line in GOLDEN if line["kind"] != "claim"])]), WORK
    ), "nothing was judged"


# How a scenario begins.
def test_the_first_paragraph():
    text = "title: t\nabout: >\n  One sum: 1\n  and 2. Two. What\n  to know:\n\n\n  More.\nsuites:\n  - op: x\n"
    assert claims.first_paragraph(text) == "One sum: 1 and 2. Two."
    assert claims.first_paragraph("title: t\nabout: >\n  Only this\nsuites:\n") == "Only this"
    assert claims.first_paragraph("title: t\nsuites:\n  - op: x\n") == ""


def test_which_scenarios_are_introduced():
    for path in (SOURCE / "scenarios/published").glob("*.yaml"):
        assert len(claims.intro_of(f"published/{path.stem}")) > 50, path
    (WORK / "own").mkdir()
    (WORK / "own/mine.yaml").write_text((SOURCE / "scenarios/published/rolling.yaml").read_text())
    for name in (None, "", "published/nothing", str(WORK / "own/mine"), "published"):
        assert claims.intro_of(name) == "", name


def test_the_page_of_an_op_prints_it_above_the_claims():
    report(written(GOLDEN), "--no-figures")
    intro, text = claims.intro_of("published/rolling"), op_page()
    assert text.index(intro) < text.index("| # | op | published statement") and text.count(intro) == 1
