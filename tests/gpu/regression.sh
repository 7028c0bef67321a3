#!/usr/bin/env bash
# Does `rungs compare` find slow-downs of known size on this GPU, and nothing where nothing changed?
# The usage is below. Rows are kept as they come; the table is that of docs/COMPARISON.md.
set -euo pipefail

usage() {
    cat <<'TEXT'
usage: tests/gpu/regression.sh [--cpu] BUILD_FOLDER OUT_FOLDER [SECONDS]

Runs builds with 0, 3, 5 and 10% more work (rungs-regression-* in BUILD_FOLDER/tests) against each other, then equal ones
until there are enough for the suites in which nothing changed, and prints the table. Starts no process after SECONDS
(default 420) and ends those that last longer: what was not reached is missing in the table. Called again with the same
OUT_FOLDER it goes on. All rows end up in OUT_FOLDER/rows.jsonl, in the order in which they were made.

  --cpu   the CPU's variant on a small case: to try out this script where there is no GPU

Exit codes: 0 all was found as it should be, 1 it was not, 2 usage, 3 not all was measured in time, 4 a process failed.
RUNGS_REGRESSION_SUITES: suites in which nothing changed (default 20). RUNGS_REGRESSION_REPETITIONS: processes a side (default 9).
TEXT
}

source=$(cd "$(dirname "$0")/../.." && pwd)
words=("$source/tests/regression/scenario.yaml" --quick) expect=()
while [ $# -gt 0 ]; do
    case $1 in
    --help | -h) usage && exit 0 ;;
    --cpu) words=("double n=4096" --variants cpu_chain --quick) && expect=(--expect "cpu_chain:cold,cpu_chain:hot") && shift ;;
    --*) usage >&2 && exit 2 ;;
    *) break ;;
    esac
done
if [ $# -lt 2 ] || [ $# -gt 3 ]; then usage >&2 && exit 2; fi
build=$1 out=$2 seconds=${3:-420}
suites=${RUNGS_REGRESSION_SUITES:-20} repetitions=${RUNGS_REGRESSION_REPETITIONS:-9}
wanted=$((2 * repetitions * suites))
for percent in 0 3 5 10; do
    if [ ! -x "$build/tests/rungs-regression-$percent" ]; then
        echo "$build/tests/rungs-regression-$percent is not there: cmake --build $build --target rungs-regression-$percent" >&2
        exit 4
    fi
done
mkdir -p "$out"
# All processes are of one build, whatever happens to the checkout meanwhile.
if [ -z "${RUNGS_COMMIT:-}" ] && commit=$(git -C "$source" -c safe.directory='*' rev-parse --verify --quiet HEAD); then
    if [ -n "$(git -C "$source" -c safe.directory='*' status --porcelain --untracked-files=no)" ]; then commit+=-dirty; fi
    export RUNGS_COMMIT=$commit
fi

left() { echo $((seconds - SECONDS)); }
count() { if [ -e "$1" ]; then grep -c '"kind":"environment"' "$1" || true; else echo 0; fi; }
failed() { # the log says why
    echo "a process failed; the end of $1:" >&2
    tail -n 20 "$1" >&2
    exit 4
}

# Slow-downs: `rungs ab` itself, in its random order. The seed tells the table which of them a process is part of.
injected() {
    local percent=$1 folder=$out/$1 code=0
    if [ -e "$folder/done" ]; then return; fi
    rm -rf "$folder" # a session that was cut off is made anew: its order was to be random as a whole
    mkdir -p "$folder"
    timeout --kill-after=5 "$(left)" "$build/bin/rungs" ab "$build/tests/rungs-regression-0" "$build/tests/rungs-regression-$percent" "${words[@]}" \
        --repetitions "$repetitions" --seed "$percent" --second-stage 0s --out "$folder" >"$folder/ab.txt" 2> >(tee "$folder/ab.log" | grep --line-buffered process >&2) || code=$?
    local made=$(($(count "$folder/base.jsonl") + $(count "$folder/new.jsonl")))
    echo "$SECONDS s: $percent% more work: $made of $((2 * repetitions)) processes"
    if [ "$made" = $((2 * repetitions)) ] && [ "$code" != 124 ]; then
        touch "$folder/done" # whether or not ab could compare them: that takes Python, which may be elsewhere
    elif [ "$code" != 124 ] && [ "$code" != 137 ]; then
        failed "$folder/ab.log"
    fi
}

for percent in 3 5 10; do
    if [ "$(left)" -gt 0 ]; then injected "$percent"; fi
done

# The pool that the suites in which nothing changed are drawn from: none of its processes is part of two, if there are enough. One
# that was ended before it was done is no part of it.
pool=$out/equal.jsonl part=$out/equal.part
number=$(count "$pool")
while [ "$number" -lt "$wanted" ] && [ "$(left)" -gt 0 ]; do
    code=0
    rm -f "$part"
    timeout --kill-after=5 "$(left)" \
        "$build/tests/rungs-regression-0" run "${words[@]}" --no-ceilings --out "$part" >"$out/equal.log" 2>&1 || code=$?
    if [ "$code" = 124 ] || [ "$code" = 137 ]; then break; fi
    if [ "$code" != 0 ]; then failed "$out/equal.log"; fi
    cat "$part" >>"$pool"
    number=$((number + 1))
    if [ $((number % 10)) = 0 ]; then echo "$SECONDS s: equal builds: $number of $wanted processes"; fi
done
rm -f "$part"
echo "$SECONDS s: equal builds: $number of $wanted processes"

find "$out" -mindepth 1 -name '*.jsonl' ! -name rows.jsonl -print0 | sort -z | xargs -0 -r cat >"$out/rows.jsonl"
"$source/cmake/python" "$source/tests/gpu/regression_table.py" "$out/rows.jsonl" --suites "$suites" --repetitions "$repetitions" "${expect[@]}"
