/* Idea: short rows, 8 or 32 lanes to each, x and dy of the whole row in their registers. A lane has VECTOR neighbouring elements in
 * one load, CHUNKS times; sums over lanes go with powers of gamma by squaring, forwards for the sums y and backwards for dx, chunk
 * after chunk. Then one walk meets, for each element, what was carried into it and its dx. No sum y is ever stored, and nothing is
 * shared between rows: no barrier, no shared memory. Blocks go on with further rows, as many blocks as the device holds at once, so
 * that few numbers are left where all rows share one gamma: a second launch adds them up, always in the same order; it begins early
 * (early_launch.cuh).
 * Traffic: 2 reads and 1 write of n.
 * Rounding: sums, powers and products in double; dx to the dtype once, and so rounded it is multiplied. f16 and bf16: in float, dx is
 *   multiplied before it is rounded, and of 8 products on the sum is in double; conversions to double took half of the time.
 * Limits: rows of at most 2048 elements of two bytes, 1024 floats or 512 doubles; 256 where a row's bytes are no multiple of 16, which is then read an element at a
 *   time. One factor to a row, no reset, all terms. A row with a number that is not finite is done again, one element after the
 *   other, so that an infinity goes where the recurrence takes it.
 * Origin: the scan over lanes is Hillis and Steele (1986), weighted; adjoint of a linear recurrence. */
#include "common/device_limits.cuh"
#include "common/early_launch.cuh"
#include "discounted_cumsum_grad/_shared.cuh"

constexpr unsigned THREADS = 128;

/* gamma^(VECTOR 2^s): what a sum 2^s lanes away is worth, and 0 where the group has no such lane, before this one (up) or behind
 * it; `after_up`, `after_down`: what enters the group is worth at this lane; `whole`: behind the group. */
template <typename Sum, unsigned LANES> struct GroupPowers {
    Sum up[6], down[6], after_up = 1, after_down = 1, whole;
    __device__ GroupPowers(Sum gamma, unsigned vector, unsigned lane) {
        Sum power = gamma;
        const unsigned behind = LANES - 1 - lane;
        for (unsigned v = 1; v < vector; v *= 2) power *= power;
#pragma unroll
        for (unsigned s = 0; 1u << s < LANES; s++) {
            up[s] = lane >= 1u << s ? power : 0;
            down[s] = behind >= 1u << s ? power : 0;
            if (lane >> s & 1) after_up *= power;
            if (behind >> s & 1) after_down *= power;
            power *= power;
        }
        whole = power;
    }
};

/* What comes into this lane from those before it (UP) or behind it, and from *carry, which enters the group; *carry is then what
 * leaves it. own: the lane's sum. */
template <typename Sum, unsigned LANES, bool UP>
static __device__ Sum lanes_scan(const GroupPowers<Sum, LANES> &powers, unsigned lane, Sum own, Sum *carry) {
    Sum sum = own;
#pragma unroll
    for (unsigned s = 0; 1u << s < LANES; s++)
        sum += UP ? powers.up[s] * __shfl_up_sync(ALL_LANES, sum, 1u << s, LANES)
                  : powers.down[s] * __shfl_down_sync(ALL_LANES, sum, 1u << s, LANES);
    const Sum before = UP ? __shfl_up_sync(ALL_LANES, sum, 1, LANES) : __shfl_down_sync(ALL_LANES, sum, 1, LANES);
    const Sum total = __shfl_sync(ALL_LANES, sum, UP ? LANES - 1 : 0, LANES);
    const bool first = lane == (UP ? 0 : LANES - 1);
    const Sum into = (first ? 0 : before) + (UP ? powers.after_up : powers.after_down) * *carry;
    *carry = total + powers.whole * *carry;
    return into;
}

/* The row again, by the recurrences, for one thread; returns the gradient of its factor. dx before it is rounded is kept at every
 * PART-th element, and made again from there. */
constexpr size_t PART = 64, PARTS = 32;
template <typename T, bool RIGHT>
static __device__ __noinline__ double serial_row(const T *x, const T *dy, double gamma, T *dx, size_t n) {
    double ends[PARTS], again[PART], sum = 0, gradient = 0;
    for (size_t p = n; p-- > 0;) {
        const size_t i = RIGHT ? n - 1 - p : p;
        sum = p + 1 == n ? (double)wide(dy[i]) : (double)wide(dy[i]) + gamma * sum;
        dx[i] = (T)(SumOf<T>)sum;
        if (p % PART == 0) ends[p / PART] = sum;
    }
    for (size_t p = 0; p < n; p++) {
        const size_t i = RIGHT ? n - 1 - p : p;
        const size_t end = n - p < PART ? n : p + PART;
        for (size_t q = end; p % PART == 0 && q-- > p;) {
            const double next = q + 1 == n ? 0 : q + 1 == end ? ends[end / PART] : again[q + 1 - p];
            const double own = (double)wide(dy[RIGHT ? n - 1 - q : q]);
            again[q - p] = q + 1 == n ? own : own + gamma * next;
        }
        if (p > 0) gradient += again[p % PART] * sum;
        sum = p == 0 ? (double)wide(x[i]) : (double)wide(x[i]) + gamma * sum;
    }
    return gradient;
}

/* x and dy of a row in reading order: chunk c of lane l begins at element (c LANES + l) VECTOR. */
template <typename T, unsigned VECTOR, unsigned LANES, unsigned CHUNKS, bool RIGHT> struct RowPart {
    static constexpr bool WIDER = sizeof(T) < sizeof(SumOf<T>); /* dx is multiplied before it is rounded */
    typedef WorkOf<T> Sum;
    Pack<T, VECTOR> x[CHUNKS], dy[CHUNKS];
    unsigned lane, n;

    __device__ unsigned position(unsigned c) const { return (c * LANES + lane) * VECTOR; }
    __device__ unsigned first(unsigned c) const { return RIGHT ? n - VECTOR - position(c) : position(c); }
    /* The k-th of a chunk in reading order. */
    static constexpr __device__ unsigned at(unsigned k) { return RIGHT ? VECTOR - 1 - k : k; }
    /* Nothing is carried into the row's first element. */
    __device__ bool is_first(unsigned c, unsigned k) const { return c == 0 && k == 0 && lane == 0; }

    __device__ void load(const T *from, bool exists, Pack<T, VECTOR> (&to)[CHUNKS]) const {
#pragma unroll
        for (unsigned c = 0; c < CHUNKS; c++) {
            to[c] = {};
            if (exists && position(c) < n) to[c] = *(const Pack<T, VECTOR> *)(from + first(c));
        }
    }
    __device__ void store_dx(T *to, bool exists) const {
#pragma unroll
        for (unsigned c = 0; c < CHUNKS; c++)
            if (exists && position(c) < n) *(Pack<T, VECTOR> *)(to + first(c)) = dy[c];
    }
    /* dx takes the place of dy; returns the lane's part of the gradient. *finite: becomes false if a number is not. */
    __device__ double differentiate(Sum gamma, const GroupPowers<Sum, LANES> &powers, bool *finite) {
        Sum into[CHUNKS], carry = 0;
        double gradient = 0;
#pragma unroll
        for (unsigned c = 0; c < CHUNKS; c++) {
            SumOf<T> value[VECTOR];
            pack_wide(x[c], value);
            Sum sum = 0;
#pragma unroll
            for (unsigned k = 0; k < VECTOR; k++) sum = sum * gamma + (Sum)value[at(k)];
            into[c] = lanes_scan<Sum, LANES, true>(powers, lane, sum, &carry);
        }
        *finite = *finite && isfinite(carry);
        carry = 0;
#pragma unroll
        for (unsigned c = CHUNKS; c-- > 0;) {
            SumOf<T> value[VECTOR];
            pack_wide(dy[c], value);
            Sum sum = 0;
#pragma unroll
            for (unsigned k = VECTOR; k-- > 0;) sum = sum * gamma + (Sum)value[at(k)];
            Sum running = lanes_scan<Sum, LANES, false>(powers, lane, sum, &carry), before[VECTOR], products = 0;
            if (WIDER) carried_into(c, into[c], gamma, before, finite);
#pragma unroll
            for (unsigned k = VECTOR; k-- > 0;) {
                running = running * gamma + (Sum)value[at(k)];
                value[at(k)] = (SumOf<T>)running;
                if (WIDER && !is_first(c, k)) products += running * before[k];
            }
            pack_narrow(value, &dy[c]);
            gradient += (double)products;
            *finite = *finite && isfinite(products);
            *finite = *finite && isfinite(running);
        }
#pragma unroll
        for (unsigned c = 0; c < CHUNKS && !WIDER; c++) {
            Sum before[VECTOR];
            carried_into(c, into[c], gamma, before, finite);
#pragma unroll
            for (unsigned k = 0; k < VECTOR; k++)
                if (!is_first(c, k)) gradient += (double)wide(dy[c].at[at(k)]) * (double)before[k];
        }
        return gradient;
    }
    /* What is carried into each element of a chunk, of which `carried` comes into the first. */
    __device__ void carried_into(unsigned c, Sum carried, Sum gamma, Sum (&before)[VECTOR], bool *finite) const {
        SumOf<T> value[VECTOR];
        pack_wide(x[c], value);
#pragma unroll
        for (unsigned k = 0; k < VECTOR; k++) {
            before[k] = carried;
            carried = carried * gamma + (Sum)value[at(k)];
        }
        *finite = *finite && isfinite(carried);
    }
};

/* Blocks of an SM that are there at once: what a lane holds of a row decides the registers. Where rows have to wait, a launch has
 * as many blocks, each with its share of the rows: a block too many would find no place until the others are done. */
static constexpr unsigned resident_blocks(size_t element, unsigned chunks) {
    return chunks == 1 ? 10 : chunks == 2 ? 8 : chunks == 4 ? (element == 2 ? 6 : element == 4 ? 4 : 5) : 3;
}

/* partials: a number of each block, to be added up; null: dgamma has one for each row, or the only block's. */
template <typename T, unsigned VECTOR, unsigned LANES, unsigned CHUNKS, bool RIGHT>
static __global__ void __launch_bounds__(THREADS, resident_blocks(sizeof(T), CHUNKS))
    row_kernel(DiscountView<T> view, const T *dy, T *dx, double *partials, void *dgamma) {
    constexpr unsigned ROWS = THREADS / LANES;
    __shared__ GradientSum totals[WARP];
    early_allow();
    const bool of_row = view.gamma_per == DISCOUNT_GAMMA_ROW;
    const unsigned group = LANES == WARP ? ALL_LANES : ((1u << LANES) - 1) << (threadIdx.x % WARP / LANES * LANES);
    double gradient = 0;
    for (size_t base = (size_t)blockIdx.x * ROWS; base < view.batch; base += (size_t)gridDim.x * ROWS) {
        const size_t row = base + threadIdx.x / LANES, start = row * view.n;
        const bool exists = row < view.batch;
        RowPart<T, VECTOR, LANES, CHUNKS, RIGHT> part;
        part.lane = threadIdx.x % LANES;
        part.n = (unsigned)view.n;
        part.load(view.x + start, exists, part.x);
        part.load(dy + start, exists, part.dy);
        const double gamma = exists ? (double)view.factor(row, 0) : 0;
        bool finite = true;
        typedef WorkOf<T> Sum;
        double own = part.differentiate((Sum)gamma, GroupPowers<Sum, LANES>((Sum)gamma, VECTOR, part.lane), &finite);
        part.store_dx(dx + start, exists);
        const unsigned fine = __ballot_sync(ALL_LANES, finite);
        __syncwarp(); /* dx is written, before some of it is written again */
        if ((fine & group) != group)
            own = exists && part.lane == 0 ? serial_row<T, RIGHT>(view.x + start, dy + start, gamma, dx + start, view.n) : 0;
        if (!of_row) {
            gradient += own;
            continue;
        }
#pragma unroll
        for (unsigned distance = LANES / 2; distance > 0; distance /= 2) own += __shfl_down_sync(ALL_LANES, own, distance, LANES);
        if (exists && part.lane == 0) ((T *)dgamma)[row] = (T)(SumOf<T>)own;
    }
    if (of_row) return;
    gradient = gradient_block_sum(gradient, totals);
    if (threadIdx.x > 0) return;
    if (partials)
        partials[blockIdx.x] = gradient;
    else
        *(SumOf<T> *)dgamma = (SumOf<T>)gradient;
}

/* One block adds up the blocks, always in the same order. */
template <typename T>
static __global__ void __launch_bounds__(GRADIENT_SUM_THREADS) sum_kernel(const double *partials, size_t count, T *dgamma) {
    __shared__ GradientSum totals[WARP];
    early_wait();
    double sum = 0;
    for (size_t i = threadIdx.x; i < count; i += blockDim.x) sum += partials[i];
    sum = gradient_block_sum(sum, totals);
    if (threadIdx.x == 0) *dgamma = (T)sum;
}

/* ---- Host. */
/* How a row is dealt to lanes. */
struct RowShape {
    unsigned vector, lanes, chunks;
};

static RowShape row_shape(const VariantArgs *args) {
    const size_t n = discount_n(args);
    const unsigned most = 16 / (unsigned)dtype_size(args->problem->dtype), vector = n % most == 0 ? most : 1;
    const size_t vectors = n / vector;
    if (vector == 1) return vectors <= 32 ? RowShape{1, 8, 4} : RowShape{1, 32, 8};
    if (vectors <= 32) return {vector, 8, vectors <= 8 ? 1u : vectors <= 16 ? 2u : 4u};
    return {vector, 32, vectors <= 64 ? 2u : vectors <= 128 ? 4u : 8u};
}

/* Of a launch; made once a call, for it asks the device. */
struct RowPlan {
    RowShape shape;
    size_t blocks;
    bool adds_blocks; /* by a second launch */
};

static RowPlan row_plan(const VariantArgs *args) {
    RowPlan plan = {row_shape(args), 0, false};
    plan.blocks = device_sm_count() * resident_blocks(dtype_size(args->problem->dtype), plan.shape.chunks);
    const size_t needed = divide_up(discount_batch(args), THREADS / plan.shape.lanes);
    if (needed < plan.blocks) plan.blocks = needed;
    plan.adds_blocks = discount_gamma_per(args) == DISCOUNT_GAMMA_ALL && plan.blocks > 1;
    return plan;
}

static size_t scratch_bytes(const VariantArgs *args) {
    const RowPlan plan = row_plan(args);
    return plan.adds_blocks ? plan.blocks * sizeof(double) : 0;
}

template <typename T, unsigned VECTOR, unsigned LANES, unsigned CHUNKS>
static Status launch_rows(const VariantArgs *args, const RowPlan &plan) {
    const DiscountView<T> view = discount_view<T>(args);
    const T *dy = (const T *)args->in[IN_DY].data;
    T *dx = (T *)args->out[OUT_DX].data;
    void *dgamma = args->out[OUT_DGAMMA].data;
    double *partials = plan.adds_blocks ? (double *)args->scratch : nullptr;
    const LaunchShape shape = {dim3((unsigned)plan.blocks), dim3(THREADS), 0, args->stream};
    return launch(discount_is_right(args) ? row_kernel<T, VECTOR, LANES, CHUNKS, true>
                                          : row_kernel<T, VECTOR, LANES, CHUNKS, false>,
                  shape, view, dy, dx, partials, dgamma);
}

template <typename T> static Status launch_shape(const VariantArgs *args, const RowPlan &plan) {
    constexpr unsigned VECTOR = 16 / sizeof(T);
    const RowShape shape = plan.shape;
    if (shape.vector == 1) return shape.lanes == 8 ? launch_rows<T, 1, 8, 4>(args, plan) : launch_rows<T, 1, 32, 8>(args, plan);
    if (shape.lanes == 8)
        return shape.chunks == 1   ? launch_rows<T, VECTOR, 8, 1>(args, plan)
               : shape.chunks == 2 ? launch_rows<T, VECTOR, 8, 2>(args, plan)
                                   : launch_rows<T, VECTOR, 8, 4>(args, plan);
    return shape.chunks == 2   ? launch_rows<T, VECTOR, 32, 2>(args, plan)
           : shape.chunks == 4 ? launch_rows<T, VECTOR, 32, 4>(args, plan)
                               : launch_rows<T, VECTOR, 32, 8>(args, plan);
}

template <typename T> static Status run_typed(const VariantArgs *args) {
    const RowPlan plan = row_plan(args);
    TRY(launch_shape<T>(args, plan));
    if (!plan.adds_blocks) return STATUS_OK;
    return launch_early(sum_kernel<SumOf<T>>, gradient_sum_launch(1, plan.blocks, args->stream), (const double *)args->scratch,
                        plan.blocks, (SumOf<T> *)args->out[OUT_DGAMMA].data);
}

static Status run(const VariantArgs *args) {
    if (discount_is_empty(args)) return gradient_of_nothing(args);
    return with_storage(args, [args]<typename T>() { return run_typed<T>(args); });
}

static bool supports(const VariantArgs *args, char reason[REASON_MAX]) {
    if (!discount_is_uniform(args)) return variant_refuse(reason, "one factor to a row and no reset are supported");
    const RowShape shape = row_shape(args);
    const size_t most = (size_t)shape.vector * shape.lanes * shape.chunks;
    if (discount_n(args) > most)
        return variant_refuse(reason, "n=%zu: rows of at most %zu elements are supported%s", discount_n(args), most,
                              shape.vector == 1 ? " where their bytes are no multiple of 16" : "");
    return gradient_supports(args, reason);
}

RUNGS_VARIANT(discounted_cumsum_grad, cuda_warp_row) = {
    .backend = BACKEND_CUDA,
    .summary = "short rows: x and dy in the registers of 8 or 32 lanes, both scans by shuffles, the products in one walk",
    .origin = "Hillis and Steele 1986; adjoint of a linear recurrence",
    .dtypes = STORAGE_TYPES,
    .supports = supports,
    .scratch_bytes = scratch_bytes,
    .run = run,
};
