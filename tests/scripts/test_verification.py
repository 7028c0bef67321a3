"""docs/data/verification.md is what was measured: the page follows from the kept measurements, the cheats get the verdicts that it says, and small
errors are caught as it says. RUNGS_TEST_FULL=1 measures every mutant and every case, not only the cheats and the quick ones."""

import shutil
import sys

import pytest

from program import BUILD, FULL, MUTANTS, SOURCE, expect, needs_emulator, needs_release

sys.path[:0] = [str(SOURCE / "tests" / "verification")]
import cheats
import errors
import large
import page

HOW = "measure again: cmake/python tests/verification/page.py --measure build/release"


@pytest.fixture(scope="module")
def kept():
    return cheats.read()


def test_every_mutant_was_measured(kept):
    names = set(cheats.shipped())
    expect(set(kept) <= names, f"no mutant that is gone is on the page: {sorted(set(kept) - names)}")
    cpu = {name for name in names if "/cpu_" in name and not cheats.CONTROL.search(name)}
    expect(cpu <= set(kept), f"every mutant of the CPU was measured (not: {sorted(cpu - set(kept))}); {HOW}")


def test_what_is_right_passes(kept):
    wrong = [
        name
        for name, places in kept.items()
        if cheats.CONTROL.search(name)
        for entry in places.values()
        if entry["rejected"]
    ]
    expect(not wrong, f"what is right passes (not: {wrong})")


def test_every_cheat_that_passes_has_a_reason(kept):
    unexplained = [
        f"{name} {place}"
        for name, place, entry in page.tried(kept)
        if not entry["rejected"] and page.reason(name) == page.UNKNOWN
    ]
    expect(not unexplained, f"page.py has a reason for every cheat that passes (not for: {unexplained})")


def test_no_cheat_gains_at_the_sizes_of_published_cases():
    gains = [(e["mutant"], e["n"], e["share"]) for e in large.read() if not e["rejected"] and e["share"] < 0.85]
    expect(not gains and len(large.read()) > 60, f"what gets a time gains none but by noise (not: {gains})")


def test_every_smallest_error_has_its_bound():
    unmet = [entry["case"] for entry in errors.read() if not entry["formula"]]
    expect(not unmet and len(errors.read()) > 50, "every smallest error has its bound")
    silent = [f"{entry['case']} {entry['output']}" for entry in errors.without_term(errors.read())]
    expect(not silent, f"where the goal is not met, the page names the bound's largest term (not for: {silent})")


def test_the_page_follows_from_the_measurements():
    expect(page.PAGE.read_text() == page.page(), f"docs/data/verification.md follows from the measurements; {HOW}")
    expect(page.SUMMARY.read_text() == page.summary(), f"docs/VERIFICATION.md follows from the measurements; {HOW}")


@pytest.fixture
def taking(kept, folder, monkeypatch):
    """(a mutant with verdicts of a GPU, what a GPU says of it today); what is taken in lands in the folder."""
    shutil.copy(cheats.KEPT, folder / "cheats.json")
    monkeypatch.setattr(cheats, "KEPT", folder / "cheats.json")
    name = next(name for name, places in kept.items() if "GPU" in places and len(places) > 1)
    return name, {**kept[name]["GPU"], "words": "other words"}


def test_verdicts_of_a_gpu_are_taken_in(kept, taking):
    """They replace its own and no others."""
    name, new = taking
    cheats.take_in({name: {"GPU": new}, "double/cpu_right": {}})
    assert cheats.read() == {**kept, name: {**kept[name], "GPU": new}}


def test_other_verdicts_are_not_taken_in(taking):
    name, new = taking
    for strange in ({"double/cpu_right": {}}, {name: {"elsewhere": new}}):
        with pytest.raises(SystemExit, match="not the verdicts of mutants"):
            cheats.take_in(strange)


def again(name, place):
    return cheats.measure(MUTANTS, name.split("/")[1]).get(name, {}).get(place, {"rejected": False})


def rejected(entry):
    return entry["rejected"]


@needs_release
@needs_emulator
def test_a_cheat_gets_the_verdict_that_the_page_tells(kept):
    """A cheat that is rejected must stay so; one that passed and is now rejected is good news that the page must tell,
    unless its reason there says how many rows are rejected already."""
    found = cheats.measure(MUTANTS, "" if FULL else "_cheat_", jobs=2)
    assert len(found) > 30
    for name, places in sorted(found.items()):
        for place, entry in places.items():
            said = kept.get(name, {}).get(place)
            if said and not said["rejected"] and page.reason(name) in page.BY_CHANCE:
                continue
            # in so short a row chance may decide: no moment to cheat in, a crash
            if said and rejected(said) != rejected(entry):
                others = (again(name, place) for _ in range(12))
                entry = next((other for other in others if rejected(other) == rejected(said)), entry)
            words = f"rejected: {entry['words']}" if entry["rejected"] else "passes"
            expect(
                said["rejected"] == entry["rejected"] if said else place == "GPU",
                f"as the page says, {name} ({place}) {words}",
            )


@needs_release
@needs_emulator
def test_a_patched_clock_is_seen():
    ((_, row),) = cheats.rows(MUTANTS, cheats.CASES["double"][0], ["peer_cheat_clock"], ())
    expect(row["verdict"] == "fail" and "replaces time." in row["reason"], f"a patched clock: {row['reason']}")


@pytest.mark.parametrize("case", errors.CASES if FULL else errors.CHEAP)
def test_small_errors_are_caught_as_the_page_tells(case):
    """Tolerances are the same on every machine, but for the last digits of the formulas."""
    kept = {(entry["case"], entry["output"]): entry for entry in errors.read()}
    for entry in errors.smallest(BUILD / "tests" / "smallest_error", case):
        said = kept[case, entry["output"]]
        near = abs(entry["median_ulps"] - said["median_ulps"]) <= 1 + 0.02 * said["median_ulps"]
        expect(
            entry.get("term") == said.get("term"),
            f"{case}: the largest term of the bound of {entry['output']} is '{entry.get('term')}'; '{said.get('term')}' kept",
        )
        expect(
            near and entry["bound"] == said["bound"],
            f"{case}: an error of {entry['median_ulps']} ulps in {entry['output']} is caught, {said['median_ulps']} kept",
        )
