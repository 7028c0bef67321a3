/* Idea: the published backward pass, as it is, with the forward pass that it relies on. Three discounted sums by the published
 * program (see discounted_cumsum's cuda_log_stage): y of x, then dx of dy the other way, and z of y. dgamma of a row is the sum of
 * dy[i] z[i+1] (right) or dy[i] z[i-1] (left): products into an array, and a reduction along rows, both in the dtype. One gamma for
 * several rows gets the sum over rows. Every launch of a stage has 2^(stages-1) threads to a row in blocks of 64; indices are
 * 32-bit.
 * Traffic: three times a copy and log2(n) times half of the array read and written, then 2 reads, 1 write and 1 read of n.
 * Rounding: trees of depth log2(n), and the error of pow(); z has those of y, too. Products and their sums in the dtype.
 * Limits: one gamma, or one for each row; no masks, no sums of k terms; 65535 rows; 2^31 - 1 elements; lengths and signs as
 *   discounted_cumsum's cuda_log_stage. The reduction is PyTorch's in the source; here a block adds up 8192 products, and a block
 *   adds up those sums. Memory for y, z and the products is scratch, where the source takes it from PyTorch's caching allocator. z
 *   sums y again: an inf in dy meets other terms than in dx y, so dgamma of data with inf may differ.
 * Origin: torch-discounted-cumsum 1.1.0, discounted_cumsum.py (backward) and discounted_cumsum_cuda_kernel.cu. */
#include "common/discounted_cumsum/stage.cuh"
#include "discounted_cumsum_grad/_shared.cuh"

enum { THREADS = 64 };

/* Thread t of stage s: h = 2^s, group t / h, l = t mod h. `from` is never a `to` of the same stage, so no thread waits for another.
 */
template <typename T, bool BACKWARD>
static __global__ void stage_kernel(T *y, const T *gamma, int rows, int n, int stage, bool one_gamma) {
    const int t = (int)(blockIdx.x * blockDim.x + threadIdx.x), row = (int)(blockIdx.y * blockDim.y + threadIdx.y);
    if (row >= rows) return;
    const int half = 1 << stage, group = t >> stage, within = t - (group << stage), begin = 2 * (group << stage);
    const int to = BACKWARD ? begin + within : begin + half + within;
    const int from = BACKWARD ? begin + half : begin + half - 1;
    const int power = BACKWARD ? half - within : within + 1;
    if (to >= n || from >= n) return;
    const T factor = one_gamma ? gamma[0] : gamma[row];
    y[row * n + to] = y[row * n + to] + y[row * n + from] * pow(factor, (T)power);
}

/* products[row][i], i < n - 1: dy of an element times z of the neighbour whose sum is carried into it. */
template <typename T>
static __global__ void __launch_bounds__(GRADIENT_THREADS)
    products_kernel(const T *dy, const T *z, T *products, int rows, int n, bool right) {
    const int pairs = n - 1, i = (int)(blockIdx.x * blockDim.x + threadIdx.x), row = (int)blockIdx.y;
    if (row >= rows || i >= pairs) return;
    products[row * pairs + i] = right ? dy[row * n + i] * z[row * n + i + 1] : dy[row * n + i + 1] * z[row * n + i];
}

/* Block (p, r): the sum of part p of the `count` terms of row r. sums[r gridDim.x + p]. */
template <typename T> static __global__ void __launch_bounds__(GRADIENT_THREADS) sum_kernel(const T *terms, int count, T *sums) {
    __shared__ T warps[GRADIENT_THREADS / WARP];
    const unsigned all = (unsigned)count, length = (unsigned)GRADIENT_PART, begin = blockIdx.x * length;
    const unsigned end = all - begin < length ? all : begin + length;
    terms += (size_t)blockIdx.y * (size_t)count;
    T sum = 0;
    for (unsigned i = begin + threadIdx.x; i < end; i += blockDim.x) sum += terms[i];
    for (unsigned distance = WARP / 2; distance > 0; distance /= 2) sum += shuffle_value<false>(sum, distance);
    if (threadIdx.x % WARP == 0) warps[threadIdx.x / WARP] = sum;
    __syncthreads();
    if (threadIdx.x > 0) return;
    for (unsigned w = 1; w < blockDim.x / WARP; w++) sum += warps[w];
    sums[blockIdx.y * gridDim.x + blockIdx.x] = sum;
}

static bool supports(const VariantArgs *args, char reason[REASON_MAX]) {
    return gradient_supports(args, reason) && stage_published_supports(args, reason);
}

/* Scratch: y, z, the products, and twice the sums of parts of rows. */
static size_t part_sums_bytes(const VariantArgs *args) {
    return gradient_align(discount_batch(args) * gradient_parts(discount_n(args)) * dtype_size(args->problem->dtype));
}
static size_t scratch_bytes(const VariantArgs *args) {
    return 3 * gradient_array_bytes(args) + 2 * part_sums_bytes(args);
}

template <typename T, bool BACKWARD> static Status scan(const VariantArgs *args, const T *x, T *y) {
    const DiscountView<T> view = discount_view<T>(args);
    const int stages = stage_count_published(view.n), threads_of_row = stages > 0 ? 1 << (stages - 1) : 0;
    const LaunchShape shape = {dim3((unsigned)((threads_of_row + THREADS - 1) / THREADS), (unsigned)view.batch), dim3(THREADS), 0,
                               args->stream};
    TRY_CUDA(cudaMemcpyAsync(y, x, view.batch * view.n * sizeof(T), cudaMemcpyDeviceToDevice, (cudaStream_t)args->stream));
    for (int stage = 0; stage < stages; stage++)
        TRY(launch(stage_kernel<T, BACKWARD>, shape, y, view.gamma, (int)view.batch, (int)view.n, stage,
                   view.gamma_per == DISCOUNT_GAMMA_ALL));
    return STATUS_OK;
}

/* sums[row]: of `count` terms each. One block to a part; more parts than one are summed again. room: two arrays of part sums. */
template <typename T>
static Status sum_rows(const VariantArgs *args, const T *terms, size_t rows, size_t count, T *sums, T *room[2]) {
    for (int turn = 0;; turn ^= 1) {
        const size_t parts = count > 0 ? gradient_parts(count) : 1;
        const LaunchShape shape = {dim3((unsigned)parts, (unsigned)rows), dim3(gradient_threads(count, GRADIENT_THREADS)), 0,
                                   args->stream};
        TRY(launch(sum_kernel<T>, shape, terms, (int)count, parts == 1 ? sums : room[turn]));
        if (parts == 1) return STATUS_OK;
        terms = room[turn];
        count = parts;
    }
}

static Status run(const VariantArgs *args) {
    return gradient_run(args, [args]<typename T, bool RIGHT>() {
        const size_t rows = discount_batch(args), n = discount_n(args), bytes = gradient_array_bytes(args);
        const T *x = (const T *)args->in[IN_X].data, *dy = (const T *)args->in[IN_DY].data;
        char *const scratch = (char *)args->scratch;
        T *y = (T *)scratch, *z = (T *)(scratch + bytes), *products = (T *)(scratch + 2 * bytes);
        T *room[2] = {(T *)(scratch + 3 * bytes), (T *)(scratch + 3 * bytes + part_sums_bytes(args))};
        T *dx = (T *)args->out[OUT_DX].data, *dgamma = (T *)args->out[OUT_DGAMMA].data;
        TRY((scan<T, RIGHT>(args, x, y)));
        TRY((scan<T, !RIGHT>(args, dy, dx)));
        TRY((scan<T, RIGHT>(args, (const T *)y, z)));
        const LaunchShape pairs = {dim3((unsigned)divide_up(n - 1, (size_t)GRADIENT_THREADS), (unsigned)rows),
                                   dim3(GRADIENT_THREADS), 0, args->stream};
        if (n > 1) TRY(launch(products_kernel<T>, pairs, dy, (const T *)z, products, (int)rows, (int)n, RIGHT));
        if (discount_gamma_per(args) == DISCOUNT_GAMMA_ROW || rows == 1)
            return sum_rows(args, (const T *)products, rows, n - 1, dgamma, room);
        /* The rows' sums go to y, which is no longer needed. */
        TRY(sum_rows(args, (const T *)products, rows, n - 1, y, room));
        return sum_rows(args, (const T *)y, 1, rows, dgamma, room);
    });
}

RUNGS_VARIANT(discounted_cumsum_grad, cuda_log_stage) = {
    .backend = BACKEND_CUDA,
    .summary = "the published backward pass: the published kernel for y, dx and the sums of y, products and sums in the dtype",
    .origin = "torch-discounted-cumsum 1.1.0",
    .bound = "dtype_sums",
    .supports = supports,
    .scratch_bytes = scratch_bytes,
    .run = run,
};
