/* Idea: one warp per row in two passes: each lane keeps the maximum so far and the sum relative to it, and rescales the sum when
 * the maximum grows.
 * Traffic: x twice, y once. Rounding: chains of C / 32, one rescaling each at most. Limits: none. Origin: Milakov and Gimelshein, 2018. */
#include "common/rows.cuh"

enum { THREADS = 256 };

template <typename T> static __global__ void __launch_bounds__(THREADS) softmax_kernel(const T *x, T *y, size_t rows, size_t C) {
    const size_t row = ((size_t)blockIdx.x * blockDim.x + threadIdx.x) / WARP;
    const unsigned lane = threadIdx.x % WARP;
    if (row >= rows) return;
    x += row * C, y += row * C;
    float most = -INFINITY, sum = 0;
    for (size_t i = lane; i < C; i += WARP) {
        const float value = wide(x[i]), more = fmaxf(most, value);
        sum = sum * __expf(most - more) + __expf(value - more);
        most = more;
    }
    const float all = warp_max(most);
    const float scale = 1 / warp_sum(lane < C ? sum * __expf(most - all) : 0);
    for (size_t i = lane; i < C; i += WARP) store(&y[i], __expf(wide(x[i]) - all) * scale);
}

static Status run(const VariantArgs *args) {
    return with_type(args, [args]<typename T>(T) {
        const size_t rows = args->in[0].shape[0], C = args->in[0].shape[1];
        return launch(softmax_kernel<T>, {blocks_of(rows, THREADS / WARP), THREADS, 0, args->stream}, input<T>(args, 0),
                      output<T>(args, 0), rows, C);
    });
}

RUNGS_VARIANT(softmax, cuda_warp_online) = {.backend = BACKEND_CUDA,
                                            .summary = "one warp per row, maximum and sum in one pass",
                                            .origin = "Milakov and Gimelshein, 2018",
                                            .dtypes = ROW_TYPES,
                                            .run = run};
