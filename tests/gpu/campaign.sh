#!/usr/bin/env bash
# One part of the committed campaign; the usage is below, what becomes of its rows in results/README.md.
set -euo pipefail

usage() {
    cat <<'TEXT'
usage: tests/gpu/campaign.sh OUT_FOLDER [SECONDS] [reproduce's WORDS...]

Runs `rungs reproduce --full` for about SECONDS (default 500) in build/campaign, packs its rows into OUT_FOLDER/rows.jsonl.gz and prints
what remains. Called again with the same OUT_FOLDER it goes on, also on a fresh machine of the same kind: rows in OUT_FOLDER are
unpacked first. All parts need one commit without changes. RUNGS names another program than ./rungs.

Exit codes: 0 nothing remains, 1 rows remain, 2 usage; others are those of rungs.
TEXT
}

if [ "${1:-}" = --help ] || [ "${1:-}" = -h ]; then usage && exit 0; fi
if [ $# -lt 1 ] || ! [[ ${2:-500} =~ ^[0-9]+$ ]]; then usage >&2 && exit 2; fi
source=$(cd "$(dirname "$0")/../.." && pwd)
out=$1 seconds=${2:-500} scenarios=("${@:3}")
mkdir -p "$out"
out=$(cd "$out" && pwd)
work=${RUNGS_CAMPAIGN:-$source/build/campaign}
log=$work/log.txt resume=()
mkdir -p "$work"
if [ -f "$out/rows.jsonl.gz" ]; then
    gzip --decompress --stdout "$out/rows.jsonl.gz" >"$work/rows.jsonl"
    resume=(--resume)
fi

status=0
"${RUNGS:-$source/rungs}" reproduce "${scenarios[@]}" --full "${resume[@]}" --budget "${seconds}s" --out "$work" 2>&1 | tee "$log" || status=$?
if [ ! -s "$work/rows.jsonl" ]; then
    echo "no rows were made; see above" >&2
    exit "$((status ? status : 3))"
fi
gzip --stdout "$work/rows.jsonl" >"$out/rows.jsonl.gz.new" # a part that is killed here leaves the rows of the last
mv "$out/rows.jsonl.gz.new" "$out/rows.jsonl.gz"
cp "$log" "$out/part-$(date -u +%Y%m%dT%H%M%SZ).txt"
printf '%s: %s, %s rows, %s bytes unpacked\n' "$out/rows.jsonl.gz" "$(du -h "$out/rows.jsonl.gz" | cut -f1)" \
    "$(grep -c '"kind":"row"' "$work/rows.jsonl")" "$(stat -c %s "$work/rows.jsonl")"
left=$(grep -oE '^[0-9]+ rows? did not fit the budget' "$log" | cut -d' ' -f1,2 || true)
if [ "$status" -gt 1 ] && [ "$status" -ne 3 ]; then exit "$status"; fi
if [ -n "$left" ]; then
    echo "remains: $left; call this again"
    exit 1
fi
echo "remains: nothing"
