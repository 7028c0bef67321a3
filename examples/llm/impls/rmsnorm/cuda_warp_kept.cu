/* Idea: one warp per row, whose elements stay in registers between the passes. Traffic: x once, y once; weight from L2. Rounding:
 * chains of C / 32, then a tree. Limits: C up to 1024. Origin: common practice. */
#include "common/rows.cuh"

enum { THREADS = 128, KEPT = 32 };

template <typename T>
static __global__ void __launch_bounds__(THREADS)
    rmsnorm_kernel(const T *x, const T *weight, T *y, size_t rows, size_t C, float eps) {
    const size_t row = ((size_t)blockIdx.x * blockDim.x + threadIdx.x) / WARP;
    const unsigned lane = threadIdx.x % WARP;
    if (row >= rows) return;
    float kept[KEPT], squares = 0;
#pragma unroll
    for (int k = 0; k < KEPT; k++) {
        const size_t i = lane + (size_t)k * WARP;
        kept[k] = i < C ? wide(x[row * C + i]) : 0;
        squares += kept[k] * kept[k];
    }
    const float r = rsqrtf(warp_sum(squares) / (float)C + eps);
#pragma unroll
    for (int k = 0; k < KEPT; k++) {
        const size_t i = lane + (size_t)k * WARP;
        if (i < C) store(&y[row * C + i], kept[k] * r * wide(weight[i]));
    }
}

static bool supports(const VariantArgs *args, char reason[REASON_MAX]) {
    return args->in[0].shape[1] <= KEPT * WARP ||
           variant_refuse(reason, "C is above %d: a row does not fit into registers", KEPT * WARP);
}

static Status run(const VariantArgs *args) {
    return with_type(args, [args]<typename T>(T) {
        const size_t rows = args->in[0].shape[0], C = args->in[0].shape[1];
        return launch(rmsnorm_kernel<T>, {blocks_of(rows, THREADS / WARP), THREADS, 0, args->stream}, input<T>(args, 0),
                      input<T>(args, 1), output<T>(args, 0), rows, C, (float)params_real(&args->problem->params, "eps"));
    });
}

RUNGS_VARIANT(rmsnorm, cuda_warp_kept) = {.backend = BACKEND_CUDA,
                                          .summary = "one warp per row, which stays in registers",
                                          .origin = "common practice",
                                          .dtypes = ROW_TYPES,
                                          .supports = supports,
                                          .run = run};
