"""The CUDA variants of redact in the emulator, beyond edges/redact.yaml: every family at every size, the heap that is too small, rows that do
not fit where their names were."""

import numpy
import pytest

from program import call, emulate, expect, needs_emulator

pytestmark = needs_emulator

FAMILIES = (
    "names",
    "public",
    "private",
    "long1k",
    "long100k",
    "utf8",
    "empty",
    "nospace",
    "spaces",
    "invalid",
    "contains",
)
SIZES = (0, 1, 31, 32, 33, 255, 256, 257, 4095, 4096, 4097)
LARGEST = {"long1k": 257, "long100k": 33}
NULLS = ("none", "some", "names", "visibilities")


def cases():
    """Each family at each size; nulls, slices and offsets go round."""
    pairs = [(family, rows) for family in FAMILIES for rows in SIZES if rows <= LARGEST.get(family, rows)]
    return [
        f"      - {{input: {family}, rows: {rows}, nulls: {NULLS[i % 4]}, slice: {('none', 'head')[i // 4 % 2]}, dtype: {('i32', 'i64')[i // 3 % 2]}}}"
        for i, (family, rows) in enumerate(pairs)
    ]


def run(folder, variants, tied):
    text = [
        "title: A test",
        "suites:",
        "  - op: redact",
        "    axes: {seed: [7]}",
        "    tied:",
        *tied,
        f"    variants: [{variants}]",
    ]
    return emulate(folder, "\n".join(text) + "\n")


def test_every_family_and_size(folder):
    done, rows = run(
        folder,
        "cuda_two_pass, cuda_two_pass_tiles, cuda_single_pass, cuda_preallocated, cuda_malloc_in_kernel",
        cases(),
    )
    wrong = [
        f"{row['variant']} on {row['case']}: {row['reason']}" for row in rows if row["verdict"] not in ("pass", "skip")
    ]
    skipped = {row["variant"] for row in rows if row["verdict"] == "skip"}
    expect(
        done.returncode == 0
        and not wrong
        and len(rows) == 5 * len(cases())
        and skipped == {"redact/cuda_preallocated"},
        f"{len(rows)} rows" + "".join(f"\n  {line}" for line in wrong[:5]),
        done,
    )


LONG_NAMES = ["      - {rows: 5000, input: long1k, nulls: some}"]


def test_a_heap_that_is_too_small_is_an_error_with_a_count(folder):
    done, rows = run(folder, "cuda_malloc_in_kernel heap_mib=1", LONG_NAMES)
    reason = rows[0]["reason"] or ""
    missed = (
        int(reason.split(" of ")[0].split()[-1])
        if " of 5000 rows did not fit the device heap of 1 MiB; set heap_mib" in reason
        else 0
    )
    expect(
        rows[0]["verdict"] == "error" and 100 < missed < 4900,
        f"a heap that is too small is an error with a count: {reason}",
        done,
    )


@pytest.mark.parametrize("variant", ["cuda_malloc_in_kernel heap_mib=5", "cuda_malloc_in_kernel"])
def test_a_heap_is_large_enough(folder, variant):
    done, rows = run(folder, variant, LONG_NAMES)
    expect(rows[0]["verdict"] == "pass", f"{variant} is large enough", done)


@pytest.mark.parametrize("family", ["nospace", "empty"])
def test_rows_that_grow_are_a_skip(folder, family):
    done, rows = run(folder, "cuda_preallocated", [f"      - {{rows: 300, input: {family}}}"])
    reason = rows[0]["reason"] or ""
    told = reason.startswith("row ") and " needs " in reason and " its input has " in reason
    expect(rows[0]["verdict"] == "skip" and told, f"{family}: {reason}", done)


@pytest.mark.parametrize("family", ["names", "private"])  # hidden rows need no room where their names lie
def test_names_with_a_space_fit(folder, family):
    done, rows = run(folder, "cuda_preallocated", [f"      - {{rows: 300, input: {family}}}"])
    expect(rows[0]["verdict"] == "pass", "names with a space fit", done)


def save(folder, word, values):
    numpy.save(folder / f"{word}.offsets.npy", numpy.cumsum([0] + [len(value) for value in values]).astype("int32"))
    numpy.save(folder / f"{word}.chars.npy", numpy.frombuffer(b"".join(values), "u1"))


SHORT = [
    (b"John Lee", b"public"),
    (b"Ann", b"private"),
    (b"", b"public"),
    (b"Elizabethanne Roe", b"public"),
    ("José Ñandú".encode(), b"public"),
]
# 768 rows a tile, a few kilobytes of shared memory: rows and tiles that take another path than others beside them.
COLUMNS = {
    "rows that are made later": [SHORT[i % 5] for i in range(1600)],
    "one long name": [(b"A" * 60000 + b" B", b"public") if i == 800 else SHORT[i % 5] for i in range(1600)],
    "an output that does not fit where its input did": [(b"Fourteen-bytes", b"public")] * 400
    + [(b"", b"")] * 368
    + [SHORT[0]] * 10,
    "a long name that ends its array": [SHORT[0]] * 767 + [(b"B" * 9000, b"public")],
    "nothing but null bytes": [(b"", b"")] * 769,
}


@pytest.mark.parametrize("what", COLUMNS)
def test_tiles_of_single_pass(folder, what):
    rows = COLUMNS[what]
    save(folder, "names", [name for name, _ in rows])
    save(folder, "visibilities", [visibility for _, visibility in rows])
    arrays = [
        f"--in={word}.{part}={folder}/{word}.{part}.npy"
        for word in ("names", "visibilities")
        for part in ("offsets", "chars")
    ]
    done = call(
        "exec",
        "redact/cuda_single_pass",
        *arrays,
        f"--out=redacted.chars={folder}/chars.npy",
        "--emulate",
        "--check",
        timeout=400,
    )
    expect(done.returncode == 0 and "redacted.chars passes" in done.stdout, f"cuda_single_pass: {what}", done)
