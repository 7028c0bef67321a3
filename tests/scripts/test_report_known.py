"""Known answers of the committed report: its sentences and cells are held against the rows, which are read and compared here a second time with nothing of the report's own code."""

import collections
import json
import re
import statistics

from checkout import SOURCE

REPORT = (SOURCE / "REPORT.md").read_text()
PAGES = {path.stem: path.read_text() for path in (SOURCE / "docs/results").glob("*.md")}
CLAIMS = {c["id"]: c for c in map(json.loads, (SOURCE / "results/claims.jsonl").read_text().splitlines())}
COUNTED = [
    c
    for c in CLAIMS.values()
    if c["claim_kind"] == "statement"
    and c["program"] != "ours"
    and not (c["rule"] == "shown" and c["here"] is not None)
]
EXACT = ("error", "error_ratio", "launches", "peak_bytes", "bytes_over_minimum")


TABLE_OF_FASTEST = re.findall(r"^\| \w+ \|.*\|$", REPORT.split("## Who is fastest where")[1].split("\n## ")[0], re.M)[
    1:
]


JOINED = {
    "cuda_two_pass_wide": "cuda_two_pass",
    "cuda_log_stage_fused": "cuda_log_stage_general",
    "cuda_thread_tile_padded": "cuda_thread_tile_sums",
}  # files of the rows' commit that are one today


def read_times():
    """(card, build) -> case -> (variant, spec, has a looser tolerance) -> cold (median, low, high) over its processes."""
    benches, samples = {}, collections.defaultdict(list)
    for path in sorted((SOURCE / "results").glob("2*.jsonl")):
        for line in map(json.loads, path.read_text().splitlines()):
            if line["kind"] == "environment":
                benches[line["run"]] = line["gpu"]["uuid"], line["commit"]
            cold = line["kind"] == "row" and line["verdict"] == "pass" and (line["timing"] or {}).get("cold") or {}
            if cold.get("median"):
                samples[
                    benches[line["run"]],
                    line["case"],
                    (JOINED.get(name := line["variant"].split("/")[1], name), line["spec"], line["bound"]["declared"]),
                ].append((cold["median"], cold["low"], cold["high"]))
    found = collections.defaultdict(lambda: collections.defaultdict(dict))
    for (bench, case, key), processes in samples.items():
        medians = [median for median, _, _ in processes]
        found[bench][case][key] = (
            (statistics.median(medians), min(medians), max(medians)) if len(processes) > 1 else processes[0]
        )
    return found


TIMES = read_times()


def time_of(case_begins, variant, commit="3e7666a", spec=""):
    """The fastest spec of a variant in the one case that begins so."""
    found = [
        times
        for (_, build), cases in TIMES.items()
        if build.startswith(commit)
        for case, specs in cases.items()
        if case.startswith(case_begins)
        for (name, full, _), times in specs.items()
        if name == variant and full.endswith(spec)
    ]
    assert found, (case_begins, variant)
    return min(found)


def close(text, value, tolerance=0.006):
    return abs(float(text.replace(",", "")) - value) <= tolerance * value


def test_the_best_published_kernel_is_named_whatever_its_tolerance():
    """The tile is the best published kernel, and has a looser tolerance; the shared kernel is the best within the op's."""
    mean = "rolling agg=mean n=100000000 window=3000 incomplete=nan function=none dtype=f64 input=ramp"
    var = "rolling agg=var n=100000000 window=3000 incomplete=nan function=none dtype=f64 input=uniform"
    large = "rolling agg=mean n=1000000000 window=3000 incomplete=nan function=none dtype=f64 input=ramp"
    for case, commit, name, tile, shared in (
        (mean, "18ff7b1", "cuda_thread_tile", 69.7, 187),
        (var, "18ff7b1", "cuda_thread_tile", 68.6, 368),
        (large, "18ff7b1", "cuda_thread_tile", 70.7, 191),
    ):
        ours = time_of(case, "cuda_warp_unit", commit)[0]
        assert close(str(tile), time_of(case, name, commit)[0] / ours, 0.001) and close(
            str(shared), time_of(case, "cuda_shared", commit)[0] / ours
        ), "worked out by hand"
    said = next(line for line in REPORT.splitlines() if line.startswith("| rolling | mean, n = 1e8, window = 3000"))
    assert "| 69.7x ±1% (`cuda_thread_tile` (`textbook`)); 187x ±1% (`cuda_shared`) |" in said, said
    for words, ratios in (
        ("mean, n = 1e8, window = 3000, f64, ramp", "69.7x ±1%; 187x ±1%"),
        ("var, n = 1e8, window = 3000, f64, uniform", "68.6x ±1%; 368x ±1%"),
        ("mean, n = 1e9, window = 3000, f64, ramp", "70.7x ±1%; 191x ±1%"),
    ):
        line = next(
            line for line in PAGES["rolling"].splitlines() if line.startswith(f"| {words} |") and "cuda_shared" in line
        )
        assert ratios in line and line.index("_tile` (`textbook`)") < line.index("`cuda_shared`"), line


def outcome_by_hand(c):
    """As docs/SCENARIOS.md has it."""
    low, high = (
        (c["band_low"] if c["band_low"] is not None else float("-inf")),
        (c["band_high"] if c["band_high"] is not None else float("inf")),
    )
    if low <= c["here"] <= high:
        return "holds"
    least, most = c["published"] if isinstance(c["published"], list) else (c["published"], c["published"])
    same = c["quantity"] in ("speedup", "error_ratio") and (
        (least > 1 and c["here"] > 1) or (most < 1 and c["here"] < 1)
    )
    if c["law"] or not same:
        return "fails"
    nearest = least if c["here"] < least else most
    return "direction" if 1 / 5 <= c["here"] / nearest <= 5 else "far"


def test_outcomes():
    measured = [c for c in COUNTED if c["here"] is not None]
    assert all(c["outcome"] == outcome_by_hand(c) for c in measured), [
        c["id"] for c in measured if c["outcome"] != outcome_by_hand(c)
    ]
    assert len(measured) == sum(c["outcome"] in ("holds", "direction", "far", "fails") for c in COUNTED)
    assert {name for name, c in CLAIMS.items() if c["law"]} == {
        "dcs-logarithmic",
        "dcs-logarithmic-large",
        "dcs-logarithmic-package",
        "dcs-logarithmic-large-package",
        "moments-constant-when-small",
        "moments-torch-equal-when-medium",
    }
    for name, here, outcome in (
        ("dcs-logarithmic-large", 37.0, "fails"),
        ("moments-torch-equal-when-medium", 0.463, "fails"),
        ("redact-malloc-30x-slower", 15.66, "direction"),
        ("dcs-p100-cpp-to-cuda-enqueued", 4.07, "far"),
        ("rolling-p100-tile-against-pandas", 93.7, "far"),
        ("redact-two-pass-2x-preallocated-600k", 2.15, "holds"),
        ("dcs-launches", 17, "holds"),
        ("dcs-constant-memory", 400000, "holds"),
        ("moments-four-kernels", 4, "holds"),
        ("redact-two-pass-near-its-limit", 1.98, "holds"),
    ):
        assert CLAIMS[name]["outcome"] == outcome and close(str(here), CLAIMS[name]["here"]), CLAIMS[name]
    one_run = (
        time_of("redact rows=600000 ", "cuda_preallocated", "18ff7b1", spec="memory=cuda")[0]
        / time_of("redact rows=600000 ", "cuda_two_pass", "18ff7b1", spec="memory=cuda")[0]
    )
    assert close("2.15", one_run), one_run


def test_the_first_sentence_says_what_kind_holds():
    first = next(line for line in REPORT.splitlines() if " published statements, " in line)
    exact = [c["outcome"] for c in COUNTED if c["quantity"] in EXACT and c["here"] is not None]
    speed = collections.Counter(c["outcome"] for c in COUNTED if c["quantity"] == "speedup" and c["here"] is not None)
    assert (
        f"accuracy and counts {exact.count('holds')} of {len(exact)}; speed-ups {speed['holds']} of {sum(speed.values())} in size ("
        in first
    ), first
    assert (
        f"({speed['direction']} same direction, another size; {speed['far']} same direction, far from the size; {speed['fails']} do not hold)"
        in first
    ), first
    readme = re.search(r"<!-- row: claims short -->(.*?)<!-- /row -->", (SOURCE / "README.md").read_text())[1]
    assert readme == (
        f"accuracy and counts {exact.count('holds')} of {len(exact)}; speed-ups {speed['holds']} of {sum(speed.values())} "
        f"({speed['direction']} another size, {speed['far']} far, {speed['fails']} not at all)"
    ), "and so does the README"


def test_programs_have_one_name():
    held = collections.Counter(c["program"] for c in COUNTED if c["outcome"] == "holds")
    assert (held["original"], held["successor"]) == (8, 7), held
    assert not [c["id"] for c in CLAIMS.values() if c["program"] == "original" and "peer_cudf" in str(c["variant"])]
    line = next(
        line
        for line in PAGES["rolling"].splitlines()
        if "| the thread tile is 15.4x faster than the naive kernel |" in line
    )
    assert "(1e8, `cuda_thread_tile`)" in line and "(1e8, `peer_numba_cuda_tile`)" in line, line
    assert CLAIMS["rolling-p100-pandas-over-naive"]["published"] == 2.2 and close("2.20", 17.3050 / 7.865, 0.002), (
        "both times of one cell"
    )
    assert CLAIMS["rolling-p100-tile-against-pandas"]["published"] == 6.84 and close("6.84", 7.678 / 1.1231, 0.002)


def test_sources_stand_beside_each_claim():
    for c in CLAIMS.values():
        assert c["url"].startswith("https://") and c["section"] and c["hardware"], c["id"]
        page = PAGES[c["op"]]
        assert (
            f"[{c['source']}]({c['url']}), {c['section']} | {c['hardware']} |" in page
            or c["claim_kind"] == "finding"
            or f"]({c['url']})" in page
        ), c["id"]


def sizes_of_time(text):
    value, unit = text.split()
    return float(value.replace(",", "")) * {"s": 1, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}[unit]


def made_in_one_run(op, theirs, their_time, mine, my_time, ratio):
    """Is there a card with one build on which both times were measured in one case?"""
    return any(
        abs(a[0] - their_time) < 0.006 * their_time
        and abs(b[0] - my_time) < 0.006 * my_time
        and abs(a[0] / b[0] - ratio) < 0.006 * ratio
        for cases in TIMES.values()
        for case, specs in cases.items()
        if case.startswith(f"{op} ")
        for (name, _, _), a in specs.items()
        if name == theirs
        for (other, _, _), b in specs.items()
        if other == mine
    )


def test_every_ratio_is_of_one_run():
    """Cells of `who is fastest where`, in the report and on the pages of the ops: program and time, ours and its time, the ratio and its interval."""
    checked = 0
    for op, text in PAGES.items():
        for line in text.splitlines():
            cells = [cell.strip() for cell in line.strip("|").split(" | ")]
            rivals = [re.findall(r"`(\w+)`(?: \(`[\w ]+`\))? ([\d.,]+ (?:s|ms|us|ns))", cell) for cell in cells]
            ratios = [re.findall(r"\**([\d.,]+)x (?:±\d+%|\([^)]*\))\**", cell) for cell in cells]
            if not line.startswith("| ") or len(cells) < 6 or not any(rivals[1:3]):
                continue
            ours = max(k for k, found in enumerate(rivals) if found)
            theirs = [item for found in rivals[1:ours] for item in found]
            found = [ratio for cell in ratios[ours + 1 :] for ratio in cell]
            assert len(theirs) == len(found), line
            for (name, seconds), ratio in zip(theirs, found):
                mine, my_seconds = rivals[ours][0]
                assert made_in_one_run(
                    op, name, sizes_of_time(seconds), mine, sizes_of_time(my_seconds), float(ratio.replace(",", ""))
                ), (line, name, ratio)
                checked += 1
    assert checked > 100, checked
    known = 0
    for line in TABLE_OF_FASTEST:  # of the report: ours and its time, then ratios with the names of the rivals
        op, _, ours, *others = line.strip("| ").split(" | ")
        mine, seconds = re.match(r"`(\w+)` ([\d.,]+ \w+)", ours).groups()
        for ratio, name in re.findall(r"\**([\d.,]+)x (?:±\d+%|\([\d., to]+\))\** \(`(\w+)`", " ".join(others)):
            value, ratio = sizes_of_time(seconds), float(ratio.replace(",", ""))
            assert any(
                made_in_one_run(op, name, times[0], mine, value, ratio)
                for cases in TIMES.values()
                for specs in cases.values()
                for (theirs, _, _), times in specs.items()
                if theirs == name
            ), (line, name)
            known += 1
    assert known >= 20, known
    case = "ewm agg=mean n=100000 span=300 "
    ours, cub = time_of(case, "cuda_agent_scan", "18ff7b1")[0], time_of(case, "cuda_cub_scan", "18ff7b1")[0]
    assert close("2.95", cub / ours) and close("13.6e-6", ours)
    line = next(
        line
        for line in PAGES["ewm"].splitlines()
        if line.startswith("| mean, n = 100000, span = 300, f64, uniform |") and "cuda_cub_scan" in line
    )
    assert "2.95x" in line, line
    case = "rolling agg=mean n=1000000 window=3000 incomplete=nan function=none dtype=f64 input=offset1e6"
    old, new = time_of(case, "cuda_published_tiles")[0], time_of(case, "cuda_published_tiles", "18ff7b1")[0]
    pandas = time_of(case, "peer_pandas")[0]
    assert close("1617", pandas / old) and close("1448", pandas / new), "of one run, and of two"
    line = next(
        line
        for line in PAGES["rolling"].splitlines()
        if line.startswith("| mean, n = 1e6, window = 3000, f64, offset1e6 |") and "peer_pandas" in line
    )
    assert "1,617x" in line and "1,448x" not in line, line
    assert "(12.9 us in a later run)" in line, "and the newer time of ours is said"


def test_a_win_needs_intervals_apart():
    cases = {}  # of two campaigns the later
    for (_, build), found in sorted(TIMES.items(), key=lambda item: item[0][1].startswith("18ff7b1")):
        for case, specs in found.items():
            if case.startswith("rolling ") and build.startswith(("3e7666a", "18ff7b1")):
                libraries = [
                    times
                    for (name, _, _), times in specs.items()
                    if name in ("peer_pandas", "peer_bottleneck", "peer_polars", "peer_numba_cpu")
                ]
                ours = [
                    times for (name, _, declared), times in specs.items() if name.startswith("cpu_") and not declared
                ]
                if libraries and ours:
                    cases[case] = min(libraries)[1] / min(ours)[2], min(libraries)[2] / min(ours)[1]
    apart = sum(low > 1 for low, _ in cases.values())
    assert (len(cases), apart) == (6, 5) and not any(high < 1 for _, high in cases.values()), cases
    assert (
        "On the same cores ours is the fastest in 5 of 6 cases that a CPU library was timed in" in PAGES["rolling"]
        and "*Not told apart*, intervals overlapping" in PAGES["rolling"]
    )
    assert re.search(r"^\| rolling \| [^|]+ \| 5 of 6, by [^|]+ \| mean, n = 1e7", REPORT, re.M)


def test_libraries_are_no_published_programs():
    for name in ("peer_torch_compile", "peer_torch_cuda", "peer_pandas", "peer_cudf", "peer_cudf_pipeline"):
        assert all(f"`{name}`" not in line.split(" | ")[3] for line in TABLE_OF_FASTEST), name
    header = next(line for line in PAGES["moments"].splitlines() if line.startswith("| case | published best |"))
    assert "| library best |" in header, "PyTorch is one"
