#!/usr/bin/env bash
# Everything that only a GPU can show: the measuring self tests, the mutants, every variant of the smoke and edge scenarios, verified.
# usage: tests/gpu/check.sh BUILD_FOLDER [OUT_FOLDER]
set -u
build=$1 out=${2:-$(mktemp -d)}
source=$(cd "$(dirname "$0")/../.." && pwd)
export RUNGS=$build/bin/rungs RUNGS_BUILD=$build RUNGS_SOURCE=$source
failed=0
step() {
    echo "== $*"
    "$@" || [ $? -eq 77 ] || { echo "FAILED: $*"; failed=1; }
}
step "$build/tests/measure_selftest"
step "$build/tests/timed_selftest"
step "$build/tests/memory_selftest"
step "$build/tests/counts_selftest"
step "$source/cmake/python" -m pytest "$source/tests/scripts/test_mutants.py"
step "$source/cmake/python" "$source/tests/gpu/energy_pairs.py" "$build"
step "$RUNGS" doctor
step "$source/cmake/python" "$source/tests/gpu/counts_rows.py" "$build" "$out/counts"
step "$source/cmake/python" "$source/tests/gpu/causes.py" "$build" "$out/causes.jsonl"
step "$RUNGS" run smoke --quick --out "$out/smoke.jsonl"
step "$RUNGS" benchmark 'double n=1e6' --variants cuda_naive --benchmark_repetitions=2
step "$RUNGS" run edges --verify-only --out "$out/edges.jsonl"
exit $failed
