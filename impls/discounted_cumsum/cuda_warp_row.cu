/* Idea: short rows in registers. A thread has VECTOR neighbouring elements of a row, one load, and adds them up in reading order;
 * the sums of 8, 16 or 32 lanes are scanned by shuffles with powers of gamma by squaring, and what comes in is added on the way to
 * the outputs. A warp has several rows, one, or a part of one: then a block has the row, and its warps exchange their sums once,
 * through shared memory. A row of f16 or bf16 up to 1024 elements is a warp's: two or four loads a thread, scanned side by side.
 * Rows of other warps are never waited for.
 * Traffic: each element once in and once out.
 * Rounding: sums and powers in double (f16 and bf16: in float), to the dtype once. A chain of 2 VECTOR + log2(LANES) steps, and one for each warp or load of a row.
 * Limits: rows of at most 8192 elements of two bytes, 4096 floats or 2048 doubles; 1024 elements where a row's length is no multiple of a load's, which is then
 *   an element. One factor to a row, no reset, all terms. A row with a sum that is not finite is done again, one element after the
 *   other, so that an infinity goes where the recurrence takes it.
 * Origin: the scan over lanes is Hillis and Steele (1986), weighted. */
#include "common/discounted_cumsum/case.cuh"

constexpr unsigned WARP = 32, ALL_LANES = 0xffffffff, THREADS = 256, THREADS_MAX = 1024;

/* gamma^VECTOR. VECTOR: a power of two. */
template <unsigned VECTOR, typename Sum> static __device__ Sum vector_power(Sum gamma) {
    Sum power = gamma;
#pragma unroll
    for (unsigned v = 1; v < VECTOR; v *= 2) power *= power;
    return power;
}

/* gamma^(VECTOR lane): what comes into the first lane is worth in this one. */
template <unsigned VECTOR, typename Sum> static __device__ Sum lane_power(Sum gamma) {
    Sum power = vector_power<VECTOR>(gamma), weight = 1;
#pragma unroll
    for (unsigned s = 1; s < WARP; s *= 2) {
        if (threadIdx.x & s) weight *= power;
        power *= power;
    }
    return weight;
}

/* What the warps before this one leave, from totals[warp], the sum of each; by_warp: gamma to the elements of a warp. */
template <typename Sum> static __device__ Sum carry_into_warp(const Sum *totals, Sum by_warp) {
    Sum carry = 0;
    for (unsigned w = 0; w < threadIdx.x / WARP; w++) carry = carry * by_warp + totals[w];
    return carry;
}

/* The row again, by the recurrence, for one thread. */
template <typename T, bool RIGHT> static __device__ void serial_row(const T *x, SumOf<T> gamma, T *y, size_t n) {
    SumOf<T> sum = 0;
    for (size_t p = 0; p < n; p++) {
        const size_t i = RIGHT ? n - 1 - p : p;
        sum = p == 0 ? wide(x[i]) : wide(x[i]) + gamma * sum;
        y[i] = (T)sum;
    }
}

/* LANES: threads to a row; more than a warp: those of a block. CHUNKS: loads of a thread, if the row is a warp's. */
template <typename T, unsigned VECTOR, unsigned LANES, unsigned CHUNKS, bool RIGHT>
static __global__ void __launch_bounds__(LANES > WARP ? THREADS_MAX : THREADS) row_kernel(DiscountView<T> view) {
    constexpr bool OF_BLOCK = LANES > WARP;
    constexpr unsigned WIDTH = OF_BLOCK ? WARP : LANES; /* of a scan */
    static_assert(CHUNKS == 1 || LANES == WARP, "chunks follow one another in a warp");
    typedef WorkOf<T> Sum;
    __shared__ Sum totals[OF_BLOCK ? WARP : 1];
    const unsigned lane = threadIdx.x % WIDTH;
    const size_t row = OF_BLOCK ? blockIdx.x : ((size_t)blockIdx.x * THREADS + threadIdx.x) / LANES, n = view.n;
    const size_t position = (size_t)(OF_BLOCK ? threadIdx.x : lane) * VECTOR; /* in reading order, of the first chunk */
    const long long first = (long long)(row * n + (RIGHT ? n - VECTOR - position : position));
    constexpr int STEP = (RIGHT ? -1 : 1) * (int)(LANES * VECTOR); /* from a chunk to the next */
    const bool exists = row < view.batch;
    const size_t end = exists ? n : 0;
    Pack<T, VECTOR> now[CHUNKS] = {};
#pragma unroll
    for (unsigned c = 0; c < CHUNKS; c++)
        if (position + c * LANES * VECTOR < end) now[c] = *(const Pack<T, VECTOR> *)(view.x + first + (int)c * STEP);
    const Sum gamma = exists ? (Sum)view.factor(row, 0) : 0;

    Sum sums[CHUNKS], power = vector_power<VECTOR>(gamma);
#pragma unroll
    for (unsigned c = 0; c < CHUNKS; c++) {
        sums[c] = 0;
#pragma unroll
        for (unsigned k = 0; k < VECTOR; k++) sums[c] = sums[c] * gamma + (Sum)wide(now[c].at[RIGHT ? VECTOR - 1 - k : k]);
    }
#pragma unroll
    for (unsigned s = 1; s < WIDTH; s *= 2) {
#pragma unroll
        for (unsigned c = 0; c < CHUNKS; c++) {
            const Sum before = __shfl_up_sync(ALL_LANES, sums[c], s, WIDTH);
            if (lane >= s) sums[c] += power * before;
        }
        power *= power;
    }
    Sum carry = 0,
        weight = OF_BLOCK || CHUNKS > 1 ? lane_power<VECTOR>(gamma) : 0; /* what comes into the chunk, and its worth here */
    if constexpr (OF_BLOCK) {
        if (lane == WARP - 1) totals[threadIdx.x / WARP] = sums[0];
        __syncthreads();
        carry = carry_into_warp(totals, power);
    }
    bool finite = true;
#pragma unroll
    for (unsigned c = 0; c < CHUNKS; c++) {
        Sum running = __shfl_up_sync(ALL_LANES, sums[c], 1, WIDTH);
        if (lane == 0) running = 0;
        running += weight * carry;
        if (c + 1 < CHUNKS) carry = carry * power + __shfl_sync(ALL_LANES, sums[c], WIDTH - 1, WIDTH);
#pragma unroll
        for (unsigned k = 0; k < VECTOR; k++) {
            T &at = now[c].at[RIGHT ? VECTOR - 1 - k : k];
            running = running * gamma + (Sum)wide(at);
            at = (T)(SumOf<T>)running;
            finite = finite && isfinite((SumOf<T>)running);
        }
        if (position + c * LANES * VECTOR < end) *(Pack<T, VECTOR> *)(view.y + first + (int)c * STEP) = now[c];
    }

    /* The row's outputs are written, before some are written again. */
    if constexpr (OF_BLOCK) {
        finite = __syncthreads_and(finite);
    } else {
        const unsigned group = LANES == WARP ? ALL_LANES : ((1u << LANES) - 1) << (threadIdx.x % WARP / LANES * LANES);
        finite = (__ballot_sync(ALL_LANES, finite) & group) == group;
        __syncwarp();
    }
    if (!finite && exists && position == 0) serial_row<T, RIGHT>(view.x + row * n, view.factor(row, 0), view.y + row * n, n);
}

/* ---- Host. */
template <typename T, bool RIGHT, unsigned VECTOR, unsigned LANES, unsigned CHUNKS = 1>
static Status launch_rows(const VariantArgs *args) {
    const DiscountView<T> view = discount_view<T>(args);
    LaunchShape shape = {dim3((unsigned)divide_up(view.batch * LANES, THREADS)), dim3(THREADS), 0, args->stream};
    if (LANES > WARP) {
        shape.grid = dim3((unsigned)view.batch);
        shape.block = dim3((unsigned)divide_up(view.n, VECTOR * WARP) * WARP);
    }
    return launch(row_kernel<T, VECTOR, LANES, CHUNKS, RIGHT>, shape, view);
}

template <typename T, bool RIGHT, unsigned VECTOR> static Status launch_vectors(const VariantArgs *args) {
    const size_t lanes = discount_n(args) / VECTOR;
    if (lanes <= 8) return launch_rows<T, RIGHT, VECTOR, 8>(args);
    if (lanes <= 16) return launch_rows<T, RIGHT, VECTOR, 16>(args);
    if (lanes <= WARP) return launch_rows<T, RIGHT, VECTOR, WARP>(args);
    if constexpr (sizeof(T) == 2 && VECTOR > 1) {
        if (lanes <= 2 * WARP) return launch_rows<T, RIGHT, VECTOR, WARP, 2>(args);
        if (lanes <= 4 * WARP) return launch_rows<T, RIGHT, VECTOR, WARP, 4>(args);
    }
    return launch_rows<T, RIGHT, VECTOR, THREADS_MAX>(args);
}

/* Elements of a load: 16 bytes of them, or one. */
static unsigned load_elements(const VariantArgs *args) {
    const unsigned most = 16 / (unsigned)dtype_size(args->problem->dtype);
    return discount_n(args) % most == 0 ? most : 1;
}

static Status run(const VariantArgs *args) {
    return discount_run_stored(args, [args]<typename T, bool RIGHT>() {
        return load_elements(args) > 1 ? launch_vectors<T, RIGHT, 16 / sizeof(T)>(args) : launch_vectors<T, RIGHT, 1>(args);
    });
}

static bool supports(const VariantArgs *args, char reason[REASON_MAX]) {
    if (!discount_is_uniform(args)) return variant_refuse(reason, "one factor to a row and no reset are supported");
    if (discount_terms(args) > 0) return variant_refuse(reason, "sums of k terms are not supported");
    const unsigned vector = load_elements(args);
    const size_t most = (size_t)THREADS_MAX * vector;
    if (discount_n(args) > most)
        return variant_refuse(reason, "n=%zu: rows of at most %zu elements are supported%s", discount_n(args), most,
                              vector == 1 ? " where their bytes are no multiple of 16" : "");
    return discount_fits_grid(args, discount_batch(args), reason);
}

RUNGS_VARIANT(discounted_cumsum, cuda_warp_row) = {
    .backend = BACKEND_CUDA,
    .summary = "short rows: from 8 lanes up to a block per row, one load a thread, one scan by shuffles, powers by squaring",
    .origin = "Hillis and Steele 1986",
    .dtypes = STORAGE_TYPES,
    .supports = supports,
    .run = run,
};
