"""docs/VERIFICATION.md is what was measured: the page follows from the kept measurements, the cheats get the verdicts that it says, and small
errors are caught as it says. RUNGS_TEST_FULL=1 measures every mutant and every case, not only the cheats and the quick ones."""

import os
import pathlib
import shutil
import sys
import tempfile

from program import BUILD, EMULATOR, MUTANTS, RELEASE, SOURCE, expect

sys.path[:0] = [str(SOURCE / "tests" / "verification")]
import cheats
import errors
import page

FULL = bool(os.environ.get("RUNGS_TEST_FULL"))


def check_page():
    names = set(cheats.shipped())
    kept = cheats.read()
    expect(set(kept) <= names, f"no mutant that is gone is on the page: {sorted(set(kept) - names)}")
    cpu = {name for name in names if "/cpu_" in name and not cheats.CONTROL.search(name)}
    expect(cpu <= set(kept), f"every mutant of the CPU was measured (not: {sorted(cpu - set(kept))}); {HOW}")
    wrong = [
        name
        for name, places in kept.items()
        if cheats.CONTROL.search(name)
        for entry in places.values()
        if entry["rejected"]
    ]
    expect(not wrong, f"what is right passes (not: {wrong})")
    unexplained = [
        f"{name} {place}"
        for name, place, entry in page.tried(kept)
        if not entry["rejected"] and page.reason(name) == page.UNKNOWN
    ]
    expect(not unexplained, f"page.py has a reason for every cheat that passes (not for: {unexplained})")
    unmet = [entry["case"] for entry in errors.read() if not entry["formula"]]
    expect(not unmet and len(errors.read()) > 50, "every smallest error has its bound")
    silent = [f"{entry['case']} {entry['output']}" for entry in errors.without_term(errors.read())]
    expect(not silent, f"where the goal is not met, the page names the bound's largest term (not for: {silent})")
    expect(page.PAGE.read_text() == page.page(), f"docs/VERIFICATION.md follows from the measurements; {HOW}")


def check_taken():
    """The verdicts of a machine with a GPU replace its own and no others."""
    kept, file = cheats.read(), cheats.KEPT
    name = next(name for name, places in kept.items() if "GPU" in places and len(places) > 1)
    new = {**kept[name]["GPU"], "words": "other words"}
    with tempfile.TemporaryDirectory() as folder:
        cheats.KEPT = pathlib.Path(folder) / "cheats.json"
        shutil.copy(file, cheats.KEPT)
        cheats.take_in({name: {"GPU": new}, "double/cpu_right": {}})
        expect(
            cheats.read() == {**kept, name: {**kept[name], "GPU": new}},
            f"what was measured of {name} on a GPU is taken in, and nothing else changes",
        )
        for strange in ({"double/cpu_right": {}}, {name: {"elsewhere": new}}):
            try:
                cheats.take_in(strange)
            except SystemExit as refusal:
                expect("not the verdicts of mutants" in str(refusal), f"refused: {refusal}")
            else:
                raise SystemExit(f"BAD  {strange} was taken in")
    cheats.KEPT = file


def check_cheats():
    """A cheat that is rejected must stay so; one that passed and is now rejected is good news that the page must tell."""
    kept, found = cheats.read(), cheats.measure(MUTANTS, "" if FULL else "_cheat_", jobs=2)
    expect(len(found) > 30, f"{len(found)} mutants were run")
    for name, places in sorted(found.items()):
        for place, entry in places.items():
            said = kept.get(name, {}).get(place)
            words = f"rejected: {entry['words']}" if entry["rejected"] else "passes"
            expect(
                said["rejected"] == entry["rejected"] if said else place == "GPU",
                f"as the page says, {name} ({place}) {words}",
            )


def check_clock():
    """The first call of a process costs more than a later one. A peer that slows Python's clocks a thousandfold does not hide it."""
    ((_, row),) = cheats.rows(MUTANTS, cheats.CASES["double"][0], ["peer_cheat_clock"], ())
    first, cold = (row["timing"][mode]["median"] for mode in ("first", "cold"))
    expect(first > cold / 10, f"a patched clock changes no sample: first {first:.3g} s, cold {cold:.3g} s")


def check_errors():
    """Tolerances are the same on every machine, but for the last digits of the formulas."""
    kept = {(entry["case"], entry["output"]): entry for entry in errors.read()}
    for case in errors.CASES if FULL else errors.CHEAP:
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


HOW = "measure again: cmake/python tests/verification/page.py --measure build/release"

if __name__ == "__main__":
    check_page()
    check_taken()
    check_errors()
    if RELEASE and EMULATOR:
        check_cheats()
        check_clock()
    else:
        print("ok   cheats are run in release builds with the emulator: others take no times")
