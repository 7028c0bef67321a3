/* Idea: a thread has several loads of 16 bytes under way at once, a block apart, and stores as many; what is left at the end is
 * done by elements.
 * Traffic: reads and writes every element once, 16 bytes a thread, coalesced.
 * Rounding: exact.
 * Limits: arrays that begin at a multiple of 16 bytes, as all of ours do; others go by elements.
 * Origin: vectorised copy kernels. */
#include "common/grid.cuh"
#include "common/narrow.cuh"

enum { THREADS = 256, LOADS = 4 };

template <typename T, unsigned N> static __global__ void __launch_bounds__(THREADS) vector_kernel(const T *x, T *y, size_t n) {
    const size_t packs = n / N, first = (size_t)blockIdx.x * THREADS * LOADS + threadIdx.x;
    const Pack<T, N> *from = (const Pack<T, N> *)x;
    Pack<T, N> *to = (Pack<T, N> *)y, now[LOADS];
#pragma unroll
    for (unsigned k = 0; k < LOADS; k++)
        if (first + k * THREADS < packs) now[k] = from[first + k * THREADS];
#pragma unroll
    for (unsigned k = 0; k < LOADS; k++) {
#pragma unroll
        for (unsigned i = 0; i < N; i++) now[k].at[i] = (T)(2 * wide(now[k].at[i]));
        if (first + k * THREADS < packs) to[first + k * THREADS] = now[k];
    }
    const size_t rest = packs * N + threadIdx.x;
    if (blockIdx.x == gridDim.x - 1 && rest < n) y[rest] = (T)(2 * wide(x[rest]));
}

template <typename T, unsigned N> static Status run_packed(const VariantArgs *args) {
    const size_t n = array_count(&args->in[0]), blocks = divide_up(n, (size_t)N * THREADS * LOADS);
    if (n == 0) return STATUS_OK;
    return launch(vector_kernel<T, N>, {(unsigned)blocks, THREADS, 0, args->stream}, (const T *)args->in[0].data,
                  (T *)args->out[0].data, n);
}

static Status run(const VariantArgs *args) {
    return with_storage(args, [args]<typename T>() {
        const bool aligned = ((uintptr_t)args->in[0].data | (uintptr_t)args->out[0].data) % 16 == 0;
        return aligned ? run_packed<T, 16 / sizeof(T)>(args) : run_packed<T, 1>(args);
    });
}

RUNGS_VARIANT(double, cuda_vector) = {
    .backend = BACKEND_CUDA,
    .summary = "four loads of 16 bytes a thread",
    .origin = "vectorised copy kernels",
    .dtypes = STORAGE_TYPES,
    .run = run,
};
