/* counts_kernels.cuh - kernels whose launches and traffic are known, for counts_selftest.cu. */
#pragma once

#include "kernel.h"
#include "measure/measure.h"

constexpr int THREADS = 256, KEPT_EACH = 16;

struct Arrays {
    double *x, *y;
    size_t n;
    void *stream;
};

static __global__ void __launch_bounds__(THREADS) copy_kernel(const double *x, double *y, size_t n) {
    const size_t i = blockIdx.x * static_cast<size_t>(THREADS) + threadIdx.x;
    if (i < n) y[i] = x[i];
}

/* Reads mostly: a scan of every block in shared memory, of which every sixteenth value is kept. */
static __global__ void __launch_bounds__(THREADS) scan_kernel(const double *x, double *y, size_t n) {
    __shared__ double tile[THREADS];
    const size_t i = blockIdx.x * static_cast<size_t>(THREADS) + threadIdx.x;
    tile[threadIdx.x] = i < n ? x[i] : 0;
    __syncthreads();
    for (unsigned step = 1; step < THREADS; step *= 2) {
        const double before = threadIdx.x >= step ? tile[threadIdx.x - step] : 0;
        __syncthreads();
        tile[threadIdx.x] += before;
        __syncthreads();
    }
    if (threadIdx.x % KEPT_EACH == KEPT_EACH - 1 && i < n) y[i / KEPT_EACH] = tile[threadIdx.x];
}

static __global__ void __launch_bounds__(THREADS) sum_kernel(const double *x, double *y, size_t n) {
    __shared__ double partial[THREADS / 32];
    double sum = 0;
    for (size_t i = blockIdx.x * static_cast<size_t>(THREADS) + threadIdx.x; i < n; i += gridDim.x * static_cast<size_t>(THREADS))
        sum += x[i];
    for (int step = 16; step > 0; step /= 2) sum += __shfl_down_sync(0xffffffffu, sum, static_cast<unsigned>(step));
    if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x >= 32) return;
    sum = threadIdx.x < THREADS / 32 ? partial[threadIdx.x] : 0;
    for (int step = 16; step > 0; step /= 2) sum += __shfl_down_sync(0xffffffffu, sum, static_cast<unsigned>(step));
    if (threadIdx.x == 0) y[blockIdx.x] = sum;
}

static __global__ void __launch_bounds__(THREADS) fill_kernel(double *y, size_t n) {
    const size_t i = blockIdx.x * static_cast<size_t>(THREADS) + threadIdx.x;
    if (i < n) y[i] = 1;
}

constexpr int SUM_BLOCKS = 1024;

static inline unsigned blocks_for(size_t n) {
    return static_cast<unsigned>((n + THREADS - 1) / THREADS);
}

static inline Status run_copy(void *context) {
    const Arrays *a = static_cast<const Arrays *>(context);
    return launch(copy_kernel, {blocks_for(a->n), THREADS, 0, a->stream}, a->x, a->y, a->n);
}

static inline Status run_scan(void *context) {
    const Arrays *a = static_cast<const Arrays *>(context);
    return launch(scan_kernel, {blocks_for(a->n), THREADS, 0, a->stream}, a->x, a->y, a->n);
}

static inline Status run_sum(void *context) {
    const Arrays *a = static_cast<const Arrays *>(context);
    return launch(sum_kernel, {SUM_BLOCKS, THREADS, 0, a->stream}, a->x, a->y, a->n);
}

static inline Status run_fill(void *context) {
    const Arrays *a = static_cast<const Arrays *>(context);
    return launch(fill_kernel, {blocks_for(a->n), THREADS, 0, a->stream}, a->y, a->n);
}

static inline Status arrays_open(Arrays *a, size_t n, void *stream) {
    *a = Arrays{nullptr, nullptr, n, stream};
    TRY_CUDA(cudaMalloc(&a->x, n * sizeof *a->x));
    TRY_CUDA(cudaMalloc(&a->y, n * sizeof *a->y));
    TRY_CUDA(cudaMemset(a->x, 0, n * sizeof *a->x));
    TRY_CUDA(cudaMemset(a->y, 0, n * sizeof *a->y));
    return STATUS_OK;
}

static inline void arrays_close(Arrays *a) {
    (void)cudaFree(a->x);
    (void)cudaFree(a->y);
}
