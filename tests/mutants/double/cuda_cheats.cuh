/* What the CUDA cheats of `double` share: the honest kernel, and results kept from earlier calls. */
#pragma once

#include "base/poison.h"
#include "kernel.h"
#include "variant.h"

static __global__ void double_kernel(const double *x, double *y, size_t n) {
    const size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 2 * x[i];
}

/* By the GPU's own timer; 0 in the emulator. */
static __device__ inline unsigned long long nanoseconds() {
    unsigned long long now = 0;
#ifndef RUNGS_EMULATED
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
#endif
    return now;
}

static inline LaunchShape one_each(const VariantArgs *args, void *stream) {
    return {(unsigned)((array_count(&args->in[0]) + 127) / 128), 128, 0, stream};
}

static inline Status compute_on(const VariantArgs *args, void *stream) {
    return launch(double_kernel, one_each(args, stream), (const double *)args->in[0].data, (double *)args->out[0].data,
                  array_count(&args->in[0]));
}

/* The result of the first call with this key, from a copy on the device. Knows 4 keys; computes what it does not know. */
static inline Status from_memo(const VariantArgs *args, unsigned long long key) {
    static struct {
        unsigned long long key;
        void *result;
    } memo[4];
    static int used;
    const cudaStream_t stream = static_cast<cudaStream_t>(args->stream);
    const size_t bytes = array_bytes(&args->out[0]);
    for (int i = 0; i < used; i++) {
        if (memo[i].key != key) continue;
        TRY_CUDA(cudaMemcpyAsync(args->out[0].data, memo[i].result, bytes, cudaMemcpyDeviceToDevice, stream));
        return STATUS_OK;
    }
    TRY(compute_on(args, args->stream));
    if (used == 4) return STATUS_OK;
    TRY_CUDA(cudaMalloc(&memo[used].result, bytes));
    TRY_CUDA(cudaMemcpyAsync(memo[used].result, args->out[0].data, bytes, cudaMemcpyDeviceToDevice, stream));
    memo[used++].key = key;
    return STATUS_OK;
}
