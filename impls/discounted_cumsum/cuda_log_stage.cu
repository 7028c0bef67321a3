/* Idea: the published program, as it is. A copy of x, then ceil(log2 n) launches over it, in place. Stage s joins groups of h = 2^s
 * elements two by two: each of the h threads of a pair adds to one element of one group the first (right) or last (left) element of
 * the other, times gamma^distance by pow(). Every stage has 2^(stages-1) threads to a row, in blocks of 64, a row of blocks for
 * each row; threads whose elements lie behind the row's end do nothing. Indices are 32-bit.
 * Traffic: 1 read and 1 write of n for the copy, then log2(n) times half of y read and written and one element of each group read.
 * Rounding: a tree of depth log2(n), and the error of pow().
 * Limits: one gamma, or one for each row; no masks, no sums of k terms; 65535 rows; 2^31 - 1 elements. Stages are counted by a float
 *   logarithm: lengths for which it is one too small (2^21 + 1 and some above) are refused, and so are float rows of more than 2^25
 *   elements with gamma < 0, whose powers have the wrong sign. After a sum beyond the range, later sums may be finite. Where
 *   gamma^distance underflows to 0, inf becomes NaN; where it overflows (|gamma| > 1), 0 does. One difference: the copy is made in
 *   the output, where the original's clone takes memory from PyTorch's caching allocator.
 * Origin: torch-discounted-cumsum 1.1.0, discounted_cumsum_cuda_kernel.cu. */
#include "common/discounted_cumsum/stage.cuh"

enum { THREADS = 64 };

/* Thread t of stage s: h = 2^s, group t / h, l = t mod h. `from` is never a `to` of the same stage, so no thread waits for another.
 */
template <typename T, bool RIGHT>
static __global__ void stage_kernel(T *y, const T *gamma, int rows, int n, int stage, bool one_gamma) {
    const int t = (int)(blockIdx.x * blockDim.x + threadIdx.x), row = (int)(blockIdx.y * blockDim.y + threadIdx.y);
    if (row >= rows) return;
    const int half = 1 << stage, group = t >> stage, within = t - (group << stage), begin = 2 * (group << stage);
    const int to = RIGHT ? begin + within : begin + half + within;
    const int from = RIGHT ? begin + half : begin + half - 1;
    const int power = RIGHT ? half - within : within + 1;
    if (to >= n || from >= n) return;
    const T factor = one_gamma ? gamma[0] : gamma[row];
    y[row * n + to] = y[row * n + to] + y[row * n + from] * pow(factor, (T)power);
}

static bool supports(const VariantArgs *args, char reason[REASON_MAX]) {
    return stage_published_supports(args, reason);
}

static Status run(const VariantArgs *args) {
    return discount_run(args, [args]<typename T, bool RIGHT>() {
        const DiscountView<T> view = discount_view<T>(args);
        const int stages = stage_count_published(view.n), threads_of_row = stages > 0 ? 1 << (stages - 1) : 0;
        const LaunchShape shape = {dim3((unsigned)((threads_of_row + THREADS - 1) / THREADS), (unsigned)view.batch), dim3(THREADS),
                                   0, args->stream};
        TRY_CUDA(
            cudaMemcpyAsync(view.y, view.x, view.batch * view.n * sizeof(T), cudaMemcpyDeviceToDevice, (cudaStream_t)args->stream));
        for (int stage = 0; stage < stages; stage++)
            TRY(launch(stage_kernel<T, RIGHT>, shape, view.y, view.gamma, (int)view.batch, (int)view.n, stage,
                       view.gamma_per == DISCOUNT_GAMMA_ALL));
        return STATUS_OK;
    });
}

RUNGS_VARIANT(discounted_cumsum, cuda_log_stage) = {
    .backend = BACKEND_CUDA,
    .summary = "the published kernel: log2(n) launches, in place, powers by pow()",
    .origin = "torch-discounted-cumsum 1.1.0",
    .supports = supports,
    .run = run,
};
