#!/usr/bin/env bash
# compute-sanitizer's four tools over every CUDA variant on the edge scenario; a table at the end, exit 1 if any tool found anything.
# racecheck leaves out every cuda_agent_scan: their agent's warps hand on by a flag and a fence, which it reports as hazards. The
# emulator's race detector knows both and finds none.
# usage: tests/gpu/sanitize.sh BUILD_FOLDER [OUT_FOLDER]
set -u
build=$1 out=${2:-$(mktemp -d)}
failed=0 table=
for tool in memcheck racecheck initcheck synccheck; do
    begin=$SECONDS variants='cuda_*'
    [ "$tool" != racecheck ] || variants='cuda_*,-cuda_agent_scan'
    compute-sanitizer --tool "$tool" --error-exitcode 99 "$build/tests/sanitize_kernels" edges "$variants" >"$out/sanitize_$tool.log" 2>&1
    code=$?
    [ $code -eq 0 ] || failed=1
    table+=$(printf '%-10s exit %d, %ds: %s | %s' "$tool" $code $((SECONDS - begin)) "$(grep 'runs of kernels' "$out/sanitize_$tool.log")" \
        "$(tail -n 1 "$out/sanitize_$tool.log")")$'\n'
done
printf '%s' "$table"
exit $failed
