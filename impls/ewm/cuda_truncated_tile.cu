/* Idea: as published. The mean leaves out everything older than a window of 10 spans, which has q^(10 span) = 2e-9 of the
 *   weight. A block of 64 threads makes 64 x 48 consecutive outputs. It stages their inputs, and the window - 1 inputs before
 *   them, in shared memory as doubles; then each thread makes 48 consecutive outputs by itself. The first one sums its whole
 *   window, newest element first: sum of q^j x[i-j] and, as a second independent accumulation, sum of q^j. Each further output
 *   drops the element that leaves the window (with weight q^(window-1) = lam / q, a division), decays the sum, adds the new
 *   element and divides by the sum of weights. One output thus costs window / 48 + 2 multiply-adds instead of the window's
 *   length, and two divisions. The next rungs: cuda_truncated_tile_closed_form saves a division and the second accumulation; the
 *   scans need no window at all.
 * Traffic: 1 + window / 3072 reads and 1 write per output, 1.98 reads at span 300. Shared memory: (3072 + window - 1) x 8 bytes
 *   per block, 48,568 at span 300, 39 registers per thread; 4 blocks of 64 threads per SM of 228 KiB. window / 48 + 2 shared
 *   reads per output. The lanes of a warp read and store 48 elements apart: 384 bytes, so all 16 lanes of a half-warp read from
 *   the same pair of banks, and stores are not coalesced.
 * Rounding: in double for both dtypes, chains of window + 48 steps; what leaves is subtracted. Hence, and for what is left out,
 *   the bound "truncated". A NaN or inf stays in the thread's sum to the end of its 48 outputs and is forgotten by the threads
 *   whose window is past it: where there is one, this fails, and nan=decay is right only for inputs without one.
 * Limits: means with adjust=true of one series. The staged elements must fit into 48 KiB, which is what a launch gets that does
 *   not ask for more: span <= 307 at 64 x 48. span = 1 (alpha = 1, q = 0) makes lam / q = 0 / 0 once the window of 10 is full.
 *   min_periods <= 10 span, counted within the window. Shared memory depends on the window, not on n: span 308 is refused for a
 *   short array, too.
 * Origin: "Adding the rolling and ewm functions to cuDF" (class Ewm). Ours: alpha, com and halflife as well as span, min_periods
 *   from 1, NaN as well as inf before it, sizes checked before the launch instead of failing in it. */
#include "_shared.cuh"

enum { THREADS_MAX = 1024 };
constexpr int SHARED_BYTES_MAX = 48 * 1024;

struct Window {
    unsigned length; /* elements, the present one included */
    unsigned tile;   /* outputs of a thread */
    double q;
    size_t min_periods;
    double incomplete;
};

template <typename T>
static __global__ void __launch_bounds__(THREADS_MAX) truncated_tile_kernel(const T *x, T *y, size_t n, Window window) {
    const unsigned length = window.length, before = length - 1, tile = window.tile;
    const size_t block_first = (size_t)blockIdx.x * blockDim.x * tile;
    DYN_SHARED(double, staged); /* staged[k] = x[block_first + k - before], where the array has that element */

    /* The block's own elements in `tile` coalesced loads. The barrier in the loop is the original's; only the last one is needed.
     */
    for (unsigned j = 0; j < tile; j++) {
        const unsigned k = j * blockDim.x + threadIdx.x;
        if (block_first + k < n) staged[before + k] = (double)x[block_first + k];
        __syncthreads();
    }
    /* The window before them. */
    for (unsigned k = threadIdx.x; k < before; k += blockDim.x)
        if (block_first + k >= before) staged[k] = (double)x[block_first + k - before];
    __syncthreads();

    const size_t first = block_first + threadIdx.x * tile;
    if (first >= n) return;
    const unsigned count = n - first < tile ? (unsigned)(n - first) : tile;
    const unsigned history = first < before ? (unsigned)first : before;
    const double *own = staged + before + threadIdx.x * tile; /* own[0] is the element of the first output */
    y += first;

    unsigned i = 0;
    for (; i < count && history + i + 1 < window.min_periods; i++) y[i] = (T)window.incomplete;
    if (i == count) return;

    /* The first complete output: its window from the newest element to the oldest. lam = q^terms. */
    double sum = 0, weights = 0, lam = 1;
    unsigned terms = 0;
    for (; terms < length && terms <= history + i; terms++) {
        sum += *(own + i - terms) * lam;
        weights += lam;
        lam *= window.q;
    }
    y[i] = (T)(sum / weights);

    /* Each further output from the one before it. */
    for (i++; i < count; i++) {
        if (terms == length) {
            sum -= *(own + i - length) * lam / window.q;
        } else {
            terms++;
            weights += lam;
            lam *= window.q;
        }
        sum = sum * window.q + own[i];
        y[i] = (T)(sum / weights);
    }
}

/* A double: spans have no upper limit, and supports() compares before anything is cast. */
static double shared_bytes(const VariantArgs *args, const EwmCase *rule) {
    return ((double)tunable_threads(args) * tunable_tile(args) + ewm_window_length(rule) - 1) * sizeof(double);
}

template <typename T> static Status launch_tile(const VariantArgs *args, const EwmCase *rule) {
    const Window window = {(unsigned)ewm_window_length(rule), tunable_tile(args), 1 - rule->alpha, rule->min_periods,
                           rule->incomplete};
    const size_t blocks = divide_up(rule->n, (size_t)tunable_threads(args) * tunable_tile(args));
    const LaunchShape shape = {dim3((unsigned)blocks), dim3(tunable_threads(args)), (size_t)shared_bytes(args, rule), args->stream};
    return launch(truncated_tile_kernel<T>, shape, (const T *)args->in[0].data, (T *)args->out[0].data, rule->n, window);
}

static Status run(const VariantArgs *args) {
    const EwmCase rule = ewm_case(args);
    if (rule.n == 0) return STATUS_OK;
    return args->problem->dtype == DTYPE_F64 ? launch_tile<double>(args, &rule) : launch_tile<float>(args, &rule);
}

static bool supports(const VariantArgs *args, char reason[REASON_MAX]) {
    const EwmCase rule = ewm_case(args);
    const double length = ewm_window_length(&rule), bytes = shared_bytes(args, &rule), n = (double)rule.n;
    if (rule.agg != EWM_MEAN) return variant_refuse(reason, "the published kernel computes means, no variances");
    if (!rule.adjust) return variant_refuse(reason, "adjust=false: the published kernel divides by the sum of the weights");
    if (rule.segments) return variant_refuse(reason, "segments=mask: the published kernel computes one series");
    if (rule.n == 0) return true;
    if (bytes > SHARED_BYTES_MAX)
        return variant_refuse(
            reason,
            "a window of 10 spans, %.0f elements, with %u threads x %u outputs needs %.0f bytes of shared memory; "
            "the published launch gets %d",
            length, tunable_threads(args), tunable_tile(args), bytes, SHARED_BYTES_MAX);
    if (1 - rule.alpha == 0 && n > length && tunable_tile(args) > 1)
        return variant_refuse(reason, "alpha=1: the published update divides 0 by 0 once the window of %.0f elements is full",
                              length);
    if (n > length && (double)rule.min_periods > length)
        return variant_refuse(reason, "min_periods=%zu: a window of 10 spans sees only %.0f elements", rule.min_periods, length);
    return ewm_fits_grid(args, (size_t)tunable_threads(args) * tunable_tile(args), reason);
}

static const ParamSpec TUNABLES[] = {
    {"threads", "threads of a block", PARAM_INT, "64", 1, THREADS_MAX, NULL},
    {"tile", "consecutive outputs of a thread", PARAM_INT, "48", 1, 64, NULL},
    {},
};

RUNGS_VARIANT(ewm, cuda_truncated_tile) = {
    .backend = BACKEND_CUDA,
    .summary = "as published: a window of 10 spans in shared memory; a thread updates 48 outputs: drop one, decay, add one, divide",
    .origin = "Adding the rolling and ewm functions to cuDF (Ewm)",
    .tunables = TUNABLES,
    .bound = "truncated",
    .supports = supports,
    .run = run,
};
