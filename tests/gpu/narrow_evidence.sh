#!/usr/bin/env bash
# What only a GPU shows of f16, bf16, e4m3 and e5m2: 10^9 honest elements a type within their bounds (each row is verified on two sets of
# inputs), shares of the limit, PyTorch beside them, and the digests of tests/programs/halves.txt.
# usage: tests/gpu/narrow_evidence.sh RUNGS OUT_FOLDER
set -eu
rungs=$1 out=$2
source=$(cd "$(dirname "$0")/../.." && pwd)
nvcc -std=c++17 -arch=native "$source/tests/programs/halves.cu" -o "$out/halves"
"$out/halves" 0 256 > "$out/halves.txt"
for dtype in f16 bf16 f32 e4m3 e5m2; do
    for shape in 'rows=195312 cols=512' 'rows=100000000 cols=1'; do
        "$rungs" run "moments $shape dtype=$dtype input=normal" --quick --out "$out/shares.jsonl" \
            --variants 'cuda_one_read_first_row,cuda_welford,peer_torch_cuda,peer_torch_var_mean,peer_torch_sum' || true
    done
done
for seed in 1 2 3 4 5; do
    for dtype in f16 bf16; do
        "$rungs" run "discounted_cumsum batch=1000 n=100000 dtype=$dtype input=normal seed=$seed" --verify-only --out "$out/honest.jsonl" \
            --variants cuda_agent_scan
    done
done
