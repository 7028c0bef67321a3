/* Idea: short rows, a group of lanes to each. A lane has VECTOR neighbouring elements in one load, and CHUNKS loads in flight; the
 * sum of a load, in reading order, is scanned over the lanes with powers of gamma by squaring, and what comes in is added on the
 * way to the outputs. The next load of the group, and rows longer than its loads, go on with the group's sum. Nothing is shared
 * between groups, so there is no barrier and no shared memory.
 * Traffic: each element once in and once out.
 * Rounding: sums and powers in double, to the dtype once. A chain of 2 VECTOR + log2(LANES) steps for each LANES VECTOR elements.
 * Limits: rows of at most 4096 elements; one factor to a row, no reset, all terms. A row whose length is no multiple of VECTOR is read
 *   an element at a time. A row with a sum that is not finite is done again, one element after the other, so that an infinity goes
 *   where the recurrence takes it.
 * Origin: the scan over lanes is Hillis and Steele (1986), weighted. */
#include "common/discounted_cumsum/case.cuh"

constexpr size_t ROW_MAX = 4096;
constexpr unsigned WARP = 32, ALL_LANES = 0xffffffff, THREADS = 128;

/* VECTOR elements as one load. */
template <typename T, unsigned VECTOR> struct alignas(sizeof(T) * VECTOR) Vector { T at[VECTOR]; };

/* gamma^(VECTOR 2^s): what a sum 2^s lanes before is worth; `own`: what enters the group is worth at this lane, `whole` behind it.
 */
template <unsigned LANES> struct LanePowers {
    double by[6], own, whole;
    __device__ LanePowers(double gamma, unsigned vector, unsigned lane) {
        double power = gamma;
        for (unsigned v = 1; v < vector; v *= 2) power *= power;
        own = 1;
#pragma unroll
        for (unsigned s = 0; 1u << s < LANES; s++) {
            by[s] = power;
            if (lane >> s & 1) own *= power;
            power *= power;
        }
        whole = power;
    }
};

/* The row again, by the recurrence, for one thread. */
template <typename T, bool RIGHT> __device__ void serial_row(const T *x, T gamma, T *y, size_t n) {
    T sum = 0;
    for (size_t p = 0; p < n; p++) {
        const size_t i = RIGHT ? n - 1 - p : p;
        sum = p == 0 ? x[i] : x[i] + gamma * sum;
        y[i] = sum;
    }
}

template <typename T, unsigned VECTOR, unsigned LANES, unsigned CHUNKS, bool RIGHT>
static __global__ void __launch_bounds__(THREADS) row_kernel(DiscountView<T> view) {
    using Elements = Vector<T, VECTOR>;
    const size_t row = ((size_t)blockIdx.x * THREADS + threadIdx.x) / LANES, n = view.n;
    const unsigned lane = threadIdx.x % LANES;
    const bool exists = row < view.batch;
    const T *x = view.x + (exists ? row * n : 0);
    T *y = view.y + (exists ? row * n : 0);
    const double gamma = exists ? (double)view.factor(row, 0) : 0;
    const LanePowers<LANES> powers(gamma, VECTOR, lane);
    double carry = 0;
    bool finite = true;
    for (size_t done = 0; done < n; done += CHUNKS * LANES * VECTOR) {
        Elements loaded[CHUNKS];
#pragma unroll
        for (unsigned c = 0; c < CHUNKS; c++) {
            const size_t position = done + (c * LANES + lane) * VECTOR; /* in reading order */
            loaded[c] = {};
            if (exists && position < n) loaded[c] = *(const Elements *)(x + (RIGHT ? n - VECTOR - position : position));
        }
#pragma unroll
        for (unsigned c = 0; c < CHUNKS; c++) {
            const size_t position = done + (c * LANES + lane) * VECTOR;
            Elements now = loaded[c];
            double sum = 0;
#pragma unroll
            for (unsigned k = 0; k < VECTOR; k++) sum = sum * gamma + (double)now.at[RIGHT ? VECTOR - 1 - k : k];
#pragma unroll
            for (unsigned s = 0; 1u << s < LANES; s++) {
                const double before = __shfl_up_sync(ALL_LANES, sum, 1u << s, LANES);
                if (lane >= 1u << s) sum += powers.by[s] * before;
            }
            const double last = __shfl_sync(ALL_LANES, sum, LANES - 1, LANES);
            double running = __shfl_up_sync(ALL_LANES, sum, 1, LANES);
            running = (lane == 0 ? 0 : running) + powers.own * carry;
#pragma unroll
            for (unsigned k = 0; k < VECTOR; k++) {
                const unsigned at = RIGHT ? VECTOR - 1 - k : k;
                running = running * gamma + (double)now.at[at];
                now.at[at] = (T)running;
                finite = finite && isfinite(now.at[at]);
            }
            if (exists && position < n) *(Elements *)(y + (RIGHT ? n - VECTOR - position : position)) = now;
            carry = last + powers.whole * carry;
        }
    }
    const unsigned group = LANES == WARP ? ALL_LANES : ((1u << LANES) - 1) << (threadIdx.x % WARP / LANES * LANES);
    const unsigned fine = __ballot_sync(ALL_LANES, finite);
    __syncwarp(); /* the outputs are written, before some are written again */
    if ((fine & group) == group) return;
    if (exists && lane == 0) serial_row<T, RIGHT>(x, view.factor(row, 0), y, n);
}

template <typename T, unsigned VECTOR, unsigned LANES, unsigned CHUNKS>
static Status launch_rows(const VariantArgs *args, DiscountView<T> view) {
    const LaunchShape shape = {dim3((unsigned)divide_up(view.batch * LANES, THREADS)), dim3(THREADS), 0, args->stream};
    return discount_is_right(args) ? launch(row_kernel<T, VECTOR, LANES, CHUNKS, true>, shape, view)
                                   : launch(row_kernel<T, VECTOR, LANES, CHUNKS, false>, shape, view);
}

template <typename T, unsigned VECTOR, unsigned LANES>
static Status launch_chunks(const VariantArgs *args, DiscountView<T> view, unsigned chunks) {
    if (chunks == 4) return launch_rows<T, VECTOR, LANES, 4>(args, view);
    if (chunks == 2) return launch_rows<T, VECTOR, LANES, 2>(args, view);
    return launch_rows<T, VECTOR, LANES, 1>(args, view);
}

/* As many lanes as have an element in one load, 8 to 32, divided by the loads of a lane. */
template <typename T> static Status launch_vectors(const VariantArgs *args, DiscountView<T> view) {
    constexpr unsigned VECTOR = 16 / sizeof(T);
    const unsigned chunks = 1u << params_choice(args->tunables, "loads");
    const size_t lanes = divide_up(view.n, VECTOR * chunks);
    if (lanes <= 8) return launch_chunks<T, VECTOR, 8>(args, view, chunks);
    if (lanes <= 16) return launch_chunks<T, VECTOR, 16>(args, view, chunks);
    return launch_chunks<T, VECTOR, 32>(args, view, chunks);
}

/* A row whose length is no multiple of a vector's. */
template <typename T> static Status launch_elements(const VariantArgs *args, DiscountView<T> view) {
    if (view.n <= 8) return launch_rows<T, 1, 8, 1>(args, view);
    if (view.n <= 16) return launch_rows<T, 1, 16, 1>(args, view);
    return launch_rows<T, 1, 32, 1>(args, view);
}

template <typename T> static Status run_typed(const VariantArgs *args) {
    const DiscountView<T> view = discount_view<T>(args);
    return view.n % (16 / sizeof(T)) == 0 ? launch_vectors<T>(args, view) : launch_elements<T>(args, view);
}

static Status run(const VariantArgs *args) {
    if (discount_is_empty(args)) return STATUS_OK;
    return discount_is_f64(args) ? run_typed<double>(args) : run_typed<float>(args);
}

static bool supports(const VariantArgs *args, char reason[REASON_MAX]) {
    if (!discount_is_uniform(args)) return variant_refuse(reason, "one factor to a row and no reset are supported");
    if (discount_terms(args) > 0) return variant_refuse(reason, "sums of k terms are not supported");
    if (discount_n(args) > ROW_MAX)
        return variant_refuse(reason, "n=%zu: rows of at most %zu elements are supported", discount_n(args), ROW_MAX);
    return discount_fits_grid(args, divide_up(discount_batch(args) * WARP, THREADS), reason);
}

static const char *const LOADS[] = {"1", "2", "4", NULL};
static const ParamSpec TUNABLES[] = {
    {"loads", "loads of a lane in flight, where they are of 16 bytes; a row then has fewer lanes", PARAM_CHOICE, "1", 0, 0, LOADS},
    {}};

RUNGS_VARIANT(discounted_cumsum, cuda_warp_row) = {
    .backend = BACKEND_CUDA,
    .summary = "short rows: 8 to 32 lanes to each, one load and one scan by shuffles, powers by squaring",
    .origin = "Hillis and Steele 1986",
    .tunables = TUNABLES,
    .supports = supports,
    .run = run,
};
