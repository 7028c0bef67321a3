#!/usr/bin/env bash
# What only a GPU shows of f16, bf16, e4m3 and e5m2: the digests of tests/programs/halves.txt, and 10^9 honest elements a type within
# their bounds: 10 rows of 2 10^8, of which 10^8 take 7 s on an H200. Shares of the limit, and libraries beside: rungs run limits.
# usage: tests/gpu/narrow_evidence.sh RUNGS OUT_FOLDER [SECONDS]; no row begins after so many (150)
set -eu
rungs=$1 out=$2 end=$((SECONDS + ${3:-150}))
source=$(cd "$(dirname "$0")/../.." && pwd)
nvcc -std=c++17 -arch=native "$source/tests/programs/halves.cu" -o "$out/halves"
"$out/halves" 0 256 > "$out/halves.txt"
cmp "$out/halves.txt" "$source/tests/programs/halves.txt"
for seed in 1 2 3 4 5; do
    for dtype in f16 bf16; do
        [ $SECONDS -lt $end ] || exit 0
        "$rungs" run "discounted_cumsum batch=2000000 n=100 dtype=$dtype input=normal seed=$seed" --verify-only --no-ceilings \
            --variants cuda_warp_row --out "$out/honest.jsonl"
    done
done
