/* Idea: y = 2 x, after a chain of integer steps whose number decides the time: a kernel bound by the SM clock.
 * Traffic: every element once; next to nothing beside the chain.
 * Rounding: exact.
 * Limits: none.
 * Origin: ours; a slow-down of known size for `rungs compare` to find. It tells no launch, so that equal code is judged by its times:
 *         the kernel is the same in every build, and only what the host passes to it differs. */
#include "extra.h"
#include "kernel.h"
#include "variant.h"

enum { THREADS = 128 };

/* rounds: an argument, so that the loop is the same in every build. never: 0, which the compiler cannot know, so that the chain has
 * a use. */
template <typename T>
static __global__ void __launch_bounds__(THREADS) chain_kernel(const T *x, T *y, size_t n, unsigned rounds, unsigned never) {
    const size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned state = (unsigned)i | 1u;
#pragma unroll 1
    for (unsigned round = 0; round < rounds; round++) {
#pragma unroll
        for (int k = 0; k < ROUND_STEPS; k++) {
            state ^= state >> 13;
            state *= 0x5bd1e995u;
        }
    }
    y[i] = never && state == never ? 0 : 2 * x[i];
}

template <typename T> static Status run_typed(const VariantArgs *args) {
    const size_t n = array_count(&args->in[0]);
    if (n == 0) return STATUS_OK;
    const unsigned blocks = (unsigned)((n + THREADS - 1) / THREADS);
    return launch(chain_kernel<T>, {blocks, THREADS, 0, args->stream}, (const T *)args->in[0].data, (T *)args->out[0].data, n,
                  (unsigned)ROUNDS, 0u);
}

static Status run(const VariantArgs *args) {
    return args->problem->dtype == DTYPE_F64 ? run_typed<double>(args) : run_typed<float>(args);
}

RUNGS_VARIANT(double, cuda_chain) = {
    .backend = BACKEND_CUDA,
    .summary = "a chain of known length before the result: bound by the clock",
    .origin = "ours",
    .run = run,
};
