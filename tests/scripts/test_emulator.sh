#!/usr/bin/env bash
# The emulator's settings: what cannot be meant is refused with the variable, its text and what is allowed.
set -euo pipefail
program=${RUNGS_BUILD:?}/bin/rungs-emulator
if [ ! -x "$program" ]; then
    echo "SKIP: the emulator was not built"
    exit 77
fi

checks=0 failed=0
refuse() { # VARIABLE TEXT WORDS-OF-THE-MESSAGE
    local code=0 message
    checks=$((checks + 1))
    message=$(env "$1=$2" "$program" 2>&1 </dev/null) || code=$?
    if [ "$code" != 2 ] || [[ $message != *"$1='$2'"*"$3"* ]]; then
        echo "FAIL: $1='$2' ended with $code and said: $message"
        failed=$((failed + 1))
    fi
}
refuse RUNGS_EMULATOR_ORDER sideways "sequential, reverse or random"
refuse RUNGS_EMULATOR_SEED -1 "an integer from 0"
refuse RUNGS_EMULATOR_SEED ten "an integer from 0"
refuse RUNGS_EMULATOR_BLOCKS 0 "an integer from 1 to 16"
refuse RUNGS_EMULATOR_BLOCKS 17 "an integer from 1 to 16"
refuse RUNGS_EMULATOR_WATCHDOG 0 "an integer from 1"
refuse RUNGS_EMULATOR_INIT 3 "an integer from 0 to 2"
refuse RUNGS_EMULATOR_UNSET_COPIES -1 "an integer from 0 to 2"
refuse RUNGS_EMULATOR_VOLATILE plain "an integer from 0 to 1"
refuse RUNGS_EMULATOR_SAME_VALUE 3 "an integer from 0 to 2"
refuse RUNGS_EMULATOR_SCHEDULES 0 "an integer from 1 to 1000"
echo "emulator settings: $((checks - failed)) passed, $failed failed"
[ "$failed" = 0 ]
