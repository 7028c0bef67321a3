"""The CUDA variants of redact in the emulator, beyond edges/redact.yaml: every family at every size, the heap that is too small, rows that do
not fit where their names were."""
import pathlib
import tempfile

from program import EMULATOR, call, expect, rows_of

FAMILIES = ("names", "public", "private", "long1k", "long100k", "utf8", "empty", "nospace", "spaces", "invalid", "contains")
SIZES = (0, 1, 31, 32, 33, 255, 256, 257, 4095, 4096, 4097)
LARGEST = {"long1k": 257, "long100k": 33}
NULLS = ("none", "some", "names", "visibilities")


def cases():
    """Each family at each size; nulls, slices and offsets go round."""
    pairs = [(family, rows) for family in FAMILIES for rows in SIZES if rows <= LARGEST.get(family, rows)]
    return [f"      - {{input: {family}, rows: {rows}, nulls: {NULLS[i % 4]}, slice: {('none', 'head')[i // 4 % 2]}, dtype: {('i32', 'i64')[i // 3 % 2]}}}"
            for i, (family, rows) in enumerate(pairs)]


def run(folder, variants, tied):
    text = ["title: A test", "suites:", "  - op: redact", "    axes: {seed: [7]}", "    tied:", *tied, f"    variants: [{variants}]"]
    (folder / "test.yaml").write_text("\n".join(text) + "\n")
    out = folder / "rows.jsonl"
    out.unlink(missing_ok=True)
    done = call("run", folder / "test.yaml", "--emulate", "--verify-only", "--out", out, cwd=folder, timeout=800)
    return done, rows_of(out) if out.exists() else []


def every_family_and_size(folder):
    done, rows = run(folder, "cuda_two_pass, cuda_two_pass_tiles, cuda_preallocated, cuda_malloc_in_kernel", cases())
    wrong = [f"{row['variant']} on {row['case']}: {row['reason']}" for row in rows if row["verdict"] not in ("pass", "skip")]
    skipped = {row["variant"] for row in rows if row["verdict"] == "skip"}
    expect(done.returncode == 0 and not wrong and len(rows) == 4 * len(cases()) and skipped == {"redact/cuda_preallocated"},
           f"{len(rows)} rows" + "".join(f"\n  {line}" for line in wrong[:5]), done)


def heap_too_small(folder):
    case = ["      - {rows: 5000, input: long1k, nulls: some}"]
    done, rows = run(folder, "cuda_malloc_in_kernel heap_mib=1", case)
    reason = rows[0]["reason"] or ""
    missed = int(reason.split(" of ")[0].split()[-1]) if " of 5000 rows did not fit the device heap of 1 MiB; set heap_mib" in reason else 0
    expect(rows[0]["verdict"] == "error" and 100 < missed < 4900, f"a heap that is too small is an error with a count: {reason}", done)
    for variant in ("cuda_malloc_in_kernel heap_mib=5", "cuda_malloc_in_kernel"):
        done, rows = run(folder, variant, case)
        expect(rows[0]["verdict"] == "pass", f"{variant} is large enough", done)


def rows_that_grow(folder):
    for family in ("nospace", "empty"):
        done, rows = run(folder, "cuda_preallocated", [f"      - {{rows: 300, input: {family}}}"])
        reason = rows[0]["reason"] or ""
        expect(rows[0]["verdict"] == "skip" and reason.startswith("row ") and " needs " in reason and " its input has " in reason,
               f"{family}: {reason}", done)
    for family in ("names", "private"): # hidden rows need no room where their names lie
        done, rows = run(folder, "cuda_preallocated", [f"      - {{rows: 300, input: {family}}}"])
        expect(rows[0]["verdict"] == "pass", "names with a space fit", done)


def main():
    if not EMULATOR:
        raise SystemExit(77)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        heap_too_small(folder)
        rows_that_grow(folder)
        every_family_and_size(folder)


if __name__ == "__main__":
    main()
