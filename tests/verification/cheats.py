"""cheats.py - every wrong variant of tests/mutants/ on the cases of its op: what the verification said. Kept in cheats.json, because no one
machine has it all: entries of places that this machine lacks stay as they are.

    python3 tests/verification/cheats.py RUNGS_MUTANTS FILE.json    what needs a GPU, on a machine with one; page.py --take FILE.json keeps it
"""

import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

SOURCE = pathlib.Path(__file__).resolve().parents[2]
MUTANTS = SOURCE / "tests" / "mutants"
KEPT = pathlib.Path(__file__).with_name("cheats.json")
PLACES = {
    "cpu": "CPU",
    "emulator": "emulator",
    "cuda": "GPU",
    "peer": "library",
}  # a row's backend: how the page says it
RACE = "race detector"
KNOWN_PLACES = (*PLACES.values(), RACE)
EMULATORS = ("emulator", RACE)
EMULATED = ("--emulate", "--emulator", "race", "--verify-only")
EVERYWHERE = (("cpu_", ()), ("cuda_", ()), ("cuda_", EMULATED), ("peer_", ()))  # beginnings of names, and options
ON_GPU = (("cuda_", ()), ("peer_cheat_torch_", ()))
AT_ONCE = 6  # mutants in one program, where several programs run side by side

# Every mutant of an op is wrong on one of these, and its controls are right on all.
CASES = {
    "double": ["double n=30011 dtype=f64 input=normal"],
    "rolling": [
        "rolling n=20011 window=300 dtype=f64 input=uniform",
        "rolling n=20011 window=300 dtype=f32 input=uniform",
        "rolling agg=var n=20011 window=300 dtype=f64 input=normal",
        "rolling agg=sum n=20011 window=300 dtype=f64 input=naninf",
        "rolling agg=sum n=20011 window=30 dtype=f64 input=spike1e16",
        "rolling agg=mean n=5003 window=300 dtype=bf16 input=normal",
        "rolling agg=max n=20011 window=300 dtype=f64 input=normal",
        "rolling agg=max n=2003 window=300 dtype=f64 input=normal",
    ],
    "ewm": [
        "ewm n=20011 span=20 nan=decay segments=mask dtype=f64 input=naninf",
        "ewm agg=var n=5003 span=20 dtype=f64 input=normal",
        "ewm n=5003 span=300 adjust=false dtype=bf16 input=normal",
        "ewm n=5003 span=300 adjust=false dtype=f32 input=normal",
        "ewm n=20011 span=20 dtype=f64 input=gaps",
    ],
    "discounted_cumsum": [
        "discounted_cumsum n=1025 dtype=f32 input=uniform",
        "discounted_cumsum n=2097153 dtype=f32 input=uniform",
        "discounted_cumsum n=4099 gamma=0.999 dtype=bf16 input=normal",
        "discounted_cumsum batch=70 n=300 gamma_per=element direction=left layout=time_major state=both dtype=f64 input=normal",
    ],
    "discounted_cumsum_grad": [
        "discounted_cumsum_grad batch=1000 n=1024 dtype=f64 input=normal",
        "discounted_cumsum_grad batch=1 n=1e5 dtype=f64 input=normal",
        "discounted_cumsum_grad batch=9 n=1000 gamma_per=row dtype=bf16 input=normal",
        "discounted_cumsum_grad batch=9 n=1000 gamma_per=row dtype=f32 input=normal",
    ],
    "moments": [
        "moments rows=2011 cols=37 dtype=f64 input=normal",
        "moments rows=2011 cols=37 dtype=f32 input=offset1e3",
        "moments rows=2011 cols=37 dtype=bf16 input=uniform",
    ],
    "redact": ["redact rows=10007 nulls=some", "redact rows=10007"],
}
CONTROL = re.compile(
    r"_(right|control)$| wrong=(nothing|count_on_device|cannot)$"
)  # not wrong: they must pass, or be skipped with their reason

# The kind of a mutant, by its name; the first that fits.
KINDS = [
    (
        "results of earlier calls replayed",
        r"replay|plan$|candidates|positions|places$|weights$|windows$|memo_|stale$|own_output|flags|last_result|by_address|remaps",
    ),
    (
        "work after run() has returned",
        r"late_|lazy|background|detached|half_later|again_later|busy_later|jax_later|future|subclass|extension|cheat_prepare",
    ),
    (
        "work between the calls",
        r"helper|fault|signal|hook|patched_reader|detour|trap|ahead|process_pool|herd|collector|constructor|run_ends|counts_threads|native_|overflow$|finalizer|garbage$|_deep$|dispatched|allocator|errcheck|restores|unseen|code_swapped|code_bytes|class_swapped|attributes$|unguarded|slot$|jax_inputs|waits$|property$|reading$",
    ),
    (
        "timed calls that do less",
        r"batch|later|random_skip|counts_(calls|down)|skips_|first_of|last_of|knows_last|_soon$",
    ),
    ("verified and timed calls told apart", r"phase|poison|warm_up"),
    ("another stream", r"stream|strays"),
    ("an output found in memory", r"reused|torch_empty|parent_memory|finds_output|left_in"),
    ("inputs changed", r"zeroes|clobbers|proc_mem"),
    ("NaN as a wild card", r"nan$"),
    ("lower precision", r"float(_sums)?$|tf32|bf16|rounding|narrow_"),
    (
        "clocks, samples, comparisons and replies forged",
        r"clock|events|statistics|forged|compare|exit_handler|parent_calls|padded_calls|rewrites|records_again",
    ),
    ("the machine's state", r"persisting|priority|sweep"),
    ("what other rows are judged by", r"writes_files|slows_library|_word$"),
    (
        "memory: bounds, leaks, ownership",
        r"overrun|underrun|leaps|illegal|leaks_(block|else)|leaks$|releas|foreign|no_data",
    ),
    ("processes: crashes, hangs, errors, what they leave", r"crash|hang|exit|eats|along|swallowed"),
    ("a part of the work, or a guess", r"identity|broadcast|only_small|perforated|expectation|fewer_terms"),
    ("wrong results", r""),
]
NAMES = [kind for kind, _ in KINDS]


# Right in their first call: the emulator, which makes one per row, has nothing to find unless the race detector sees how.
SECOND_CALL = re.compile(
    r"/cuda_(cheat_(replay|batch|records_again)|leaks|garbage_later|ready_flags|poison_skips|skips_|slow_events|swallowed)"
)


def kind_of(name):
    return next(kind for kind, pattern in KINDS if re.search(pattern, name.split("/")[1]))


def named(op):
    """The values of `wrong` in tests/mutants/<op>/cpu_mutants.c."""
    return set(re.findall(r"^ +M\((\w+), ", (MUTANTS / op / "cpu_mutants.c").read_text(), re.M))


def shipped():
    """All mutants and controls, as rows call them (spec)."""
    found = (path for pattern in ("cpu_*.c", "cuda_*.cu", "peer_*.py") for path in MUTANTS.glob(f"*/{pattern}"))
    files = {f"{path.parent.name}/{path.stem}" for path in found if not path.stem.endswith("causes")}  # right, and slow
    tables = {name for name in files if name.endswith("/cpu_mutants")}
    return sorted((files - tables) | {f"{id} wrong={name}" for id in tables for name in named(id.split("/")[0])})


# As for users: under pytest workers may write to /dev/shm.
CONFINED = {name: value for name, value in os.environ.items() if name != "RUNGS_WORKERS_WRITE"}


def rows(program, case, names, emulator, timeout="60s", memory="1G", patience=900):
    """(place, row) of these mutants on a case within `patience` seconds, with a cache of their own: what one of them may have spoilt must not
    outlive them."""
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "rows.jsonl"
        done = subprocess.run(
            [
                program,
                "run",
                case,
                "--variants",
                ",".join(names),
                "--quick",
                "--no-ceilings",
                "--timeout",
                timeout,
                "--memory-limit",
                memory,
                "--out",
                out,
                *emulator,
            ],
            capture_output=True,
            text=True,
            timeout=patience,
            env={**CONFINED, "RUNGS_CACHE": folder},
        )
        if done.returncode not in (0, 1, 3):
            raise SystemExit(f"{case}: exit code {done.returncode}: {done.stderr}")
        found = [row for row in map(json.loads, out.open()) if row["kind"] == "row"]
    return [
        (RACE if emulator else "GPU" if "_torch_" in row["variant"] else PLACES[row["backend"]], row) for row in found
    ]


def groups(op, prefix, wanted, most):
    """Mutants that run one after the other in one program, `most` at most, and alone those that would spoil the case for the others if they
    succeeded."""
    names = [name.split("/")[1] for name in shipped() if name.startswith(f"{op}/{prefix}") and wanted in name]
    alone = [name for name in names if "zeroes" in name]
    rest = [name for name in names if name not in alone]
    return [*(rest[at : at + most] for at in range(0, len(rest), most)), *([name] for name in alone)]


def measure(program, wanted="", jobs=1, places=EVERYWHERE):
    """{"double/cpu_zeros": {"CPU": {"rejected": True, "verdict": "fail", "words": ...}}, ...} of what this machine can run. wanted: a part of
    the names, such as cheat."""
    found, known = {}, set(shipped())
    most, timeout = (
        (AT_ONCE, "30s") if places == ON_GPU else (len(shipped()), "60s" if wanted else "10s")
    )  # some mutants never return
    parts = [
        (case, group, emulator)
        for op, cases in CASES.items()
        for case in cases
        for prefix, emulator in places
        for group in groups(op, prefix, wanted, most)
    ]
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for part in pool.map(lambda part: rows(program, *part, timeout), parts):
            for place, row in part:
                name = row["spec"] if row["spec"] in known else row["variant"]  # whose tunables are as they come
                take(found.setdefault(name, {}), place, row)
    return found


def take(places, place, row):
    """The first case that rejects a mutant decides; a skip says nothing."""
    rejected = row["verdict"] != "pass"
    unseen = not rejected and place in EMULATORS and SECOND_CALL.search(row["variant"])
    if row["verdict"] == "skip" or unseen or places.get(place, {}).get("rejected"):
        return
    words = (row["reason"] or "").split("\n")[0]
    places[place] = {"rejected": rejected, "verdict": row["verdict"], "case": row["case"], "words": words[:120]}


def keep(found):
    """Replaces what is kept of the places that were measured."""
    measured = {place for places in found.values() for place in places}
    write(found, measured)


def take_in(found):
    """Replaces what is kept of the mutants that were measured, each in its place: those of a machine with a GPU, say."""
    strays = sorted({place for places in found.values() for place in places} - set(KNOWN_PLACES))
    if strays or not any(found.values()):
        raise SystemExit(f"not the verdicts of mutants: {', '.join(strays) or 'nothing was run'}")
    write(found, ())


def write(found, measured):
    kept = {
        name: {place: entry for place, entry in places.items() if place not in measured}
        for name, places in read().items()
    }
    for name, places in found.items():
        kept.setdefault(name, {}).update(places)
    known = set(shipped())
    KEPT.write_text(
        json.dumps({name: kept[name] for name in sorted(kept) if name in known and kept[name]}, indent=1) + "\n"
    )


def read():
    return json.loads(KEPT.read_text()) if KEPT.exists() else {}


def main(program, out):
    """Fails unless every CUDA mutant ran."""
    begin, found = time.monotonic(), measure(program, jobs=3, places=ON_GPU)
    pathlib.Path(out).write_text(json.dumps(found, indent=1) + "\n")
    for name, places in sorted(found.items()):
        for place, entry in places.items():
            print(f"{'rejected' if entry['rejected'] else 'PASSES'}  {name} ({place}): {entry['words']}")
    missing = [name for name in shipped() if "/cuda_" in name and not CONTROL.search(name) and not found.get(name)]
    print(
        f"{out}: {sum(map(len, found.values()))} verdicts in {time.monotonic() - begin:.0f} s; not run: {', '.join(missing) or 'none'}"
    )
    return 1 if missing else 0


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
