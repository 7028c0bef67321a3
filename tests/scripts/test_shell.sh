#!/usr/bin/env bash
# Shell scripts pass shellcheck, where it is installed.
set -euo pipefail
cd "${RUNGS_SOURCE:?}"

if ! command -v shellcheck >/dev/null; then
    echo "SKIP: shellcheck is not installed"
    exit 77
fi
# The check itself must be able to fail.
# shellcheck disable=SC2016 # the planted script, not ours
if printf '#!/bin/sh\nrm $1\n' | shellcheck - >/dev/null; then
    echo "FAIL: an unquoted variable was not noticed"
    exit 1
fi
mapfile -t scripts < <({ echo rungs .ci/run cmake/python | tr ' ' '\n'; find tests cmake -name '*.sh'; } | sort)
shellcheck "${scripts[@]}"
echo "shell: ${#scripts[@]} scripts passed"
