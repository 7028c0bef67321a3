#!/usr/bin/env bash
# Does `rungs compare` find slow-downs of known size on this GPU, and nothing where nothing changed? Prints the table of docs/METHOD.md.
# usage: tests/gpu/regression.sh BUILD_FOLDER OUT_FOLDER [SECONDS]     stops to start processes after SECONDS (default 420); called
# again with the same OUT_FOLDER it goes on. OUT_FOLDER/aa.jsonl and OUT_FOLDER/<percent>/*.jsonl are the rows.
# RUNGS_REGRESSION_SUITES (default 20) and RUNGS_REGRESSION_WORDS (more words for `run`) are for trying it out.
set -euo pipefail
build=$1 out=$2 seconds=${3:-420}
source=$(cd "$(dirname "$0")/../.." && pwd)
scenario=$source/tests/regression/scenario.yaml
suites=${RUNGS_REGRESSION_SUITES:-20}
read -ra words <<<"${RUNGS_REGRESSION_WORDS:---quick}"
repetitions=9
mkdir -p "$out"

for percent in 3 5 10; do
    if [ -e "$out/$percent/done" ]; then continue; fi
    rm -rf "${out:?}/$percent"
    code=0
    "$build/bin/rungs" ab "$build/tests/rungs-regression-0" "$build/tests/rungs-regression-$percent" "$scenario" "${words[@]}" \
        --repetitions $repetitions --seed "$percent" --out "$out/$percent" >"$out/$percent.txt" 2>"$out/$percent.log" || code=$?
    if [ "$code" -gt 1 ]; then
        cat "$out/$percent.txt" "$out/$percent.log"
        exit "$code"
    fi
    touch "$out/$percent/done"
    echo "injected $percent%: $SECONDS s"
done

# The pool of equal processes that the suites in which nothing changed are drawn from: 2 x repetitions each, none used twice.
count() { if [ -e "$out/aa.jsonl" ]; then grep -c '"kind":"environment"' "$out/aa.jsonl"; else echo 0; fi; }
while [ "$(count)" -lt $((2 * repetitions * suites)) ] && [ "$SECONDS" -lt "$seconds" ]; do
    "$build/tests/rungs-regression-0" run "$scenario" "${words[@]}" --no-ceilings --out "$out/aa.jsonl" >"$out/aa.log" 2>&1 || {
        cat "$out/aa.log"
        exit 1
    }
done
echo "equal processes: $(count) of $((2 * repetitions * suites)), $SECONDS s"
"$source/cmake/python" "$source/tests/gpu/regression_table.py" "$out" $repetitions "$suites"
