/* Idea: few short rows, where only latency counts. A row is in the registers of a cluster of 1 to 16 blocks: a thread loads up to
 * 16 neighbouring elements itself, as vectors of 16 bytes, adds them up, and keeps them. One scan over lanes, one over warps, one
 * exchange of totals by the cluster's shared memory, and the sums go out. Powers of gamma are squared along the scans, each when it
 * is needed, so nothing is computed before the first element arrives but what the wait for it hides.
 * Traffic: n reads, n writes.
 * Rounding: a thread adds up in the dtype, everything between threads is double.
 * Limits: rows of at most 16 elements x 1024 threads x 16 blocks (of f64: half of it); compute capability 9.0 where a row needs more
 *   than one block. One factor to a row, no reset, all terms.
 * Origin: the scan over lanes is Hillis and Steele (1986), weighted; clusters, NVIDIA 2022. */
#include "common/affine.cuh"
#include "common/cluster.cuh"
#include "common/discounted_cumsum/case.cuh"

constexpr unsigned THREADS_MAX = 1024;

template <typename T> constexpr unsigned EACH = 16 / sizeof(T); /* elements of a vector */

struct RegisterPlan {
    unsigned blocks, threads, vectors; /* blocks of a row; vectors of a thread: 1, 2 or 4; 0: the row does not fit */
    bool packed;
};

template <typename T> struct alignas(16) Vector { T at[EACH<T>]; };

/* The square of a power of gamma with an even exponent. Neither 0 nor infinite, unless gamma is 0 (affine.cuh). */
static __device__ inline double square(double power) {
    return affine_product(power, power);
}

/* A thread's elements: slot s of a row has those from s COUNT on, counted from the last multiple of 16 bytes before the row. What
 * is no element of the row is 0, which adds nothing. */
template <typename T, unsigned COUNT> struct Slot {
    T at[COUNT];
    long long low, begin, end; /* of the slot, and of the row within it */

    __device__ Slot(size_t row, size_t n, unsigned slot) {
        begin = (long long)(row * n);
        end = begin + (long long)n;
        low = begin / EACH<T> * EACH<T> + (long long)slot * COUNT;
    }
    __device__ bool whole(unsigned v) const { return low + v >= begin && low + v + EACH<T> <= end; }
    __device__ bool holds(unsigned k) const { return low + k >= begin && low + k < end; }
    __device__ void load(const T *from, bool packed) {
#pragma unroll
        for (unsigned v = 0; v < COUNT; v += EACH<T>) {
            Vector<T> now = {};
            if (packed && whole(v)) now = *(const Vector<T> *)(from + low + v);
#pragma unroll
            for (unsigned k = 0; k < EACH<T>; k++) {
                if (!(packed && whole(v)) && holds(v + k)) now.at[k] = from[low + v + k];
                at[v + k] = now.at[k];
            }
        }
    }
    __device__ void store(T *to, bool packed) const {
#pragma unroll
        for (unsigned v = 0; v < COUNT; v += EACH<T>) {
            Vector<T> now;
#pragma unroll
            for (unsigned k = 0; k < EACH<T>; k++) {
                now.at[k] = at[v + k];
                if (!(packed && whole(v)) && holds(v + k)) to[low + v + k] = now.at[k];
            }
            if (packed && whole(v)) *(Vector<T> *)(to + low + v) = now;
        }
    }
};

template <typename T, unsigned VECTORS, bool RIGHT>
static __global__ void __launch_bounds__(THREADS_MAX) register_kernel(DiscountView<T> view, RegisterPlan plan) {
    constexpr unsigned COUNT = VECTORS * EACH<T>;
    __shared__ double totals[WARP], shares[CLUSTER_BLOCKS_MAX];
    if (plan.blocks > 1) cluster_arrive();
    const unsigned lane = threadIdx.x % WARP, warp = threadIdx.x / WARP, warps = blockDim.x / WARP, rank = blockIdx.x % plan.blocks;
    const unsigned position = rank * blockDim.x + threadIdx.x, row = blockIdx.x / plan.blocks;
    const T factor = affine_factor(view.factor(row, 0));
    Slot<T, COUNT> slot(row, view.n, RIGHT ? plan.blocks * blockDim.x - 1 - position : position);
    slot.load(view.x, plan.packed);
    double power = (double)factor; /* by squaring: what a sum is worth one thread, 2, 4, ... threads later */
#pragma unroll
    for (unsigned k = 1; k < COUNT; k *= 2) power = square(power);
    T own = slot.at[RIGHT ? COUNT - 1 : 0];
#pragma unroll
    for (unsigned k = 1; k < COUNT; k++) own = factor * own + slot.at[RIGHT ? COUNT - 1 - k : k];
    double sum = (double)own, weight = 1; /* weight: of what enters the warp, the block, at this thread */
#pragma unroll
    for (unsigned step = 1; step < WARP; step *= 2) {
        const double other = shuffle_value<true>(sum, step);
        if (lane >= step) sum = power * other + sum;
        if (lane & step) weight = affine_product(weight, power);
        power = square(power);
    }
    double before = shuffle_value<true>(sum, 1), decay = 1; /* decay: of the block */
    if (lane == 0) before = 0;
    if (warps > 1 || plan.blocks > 1) {
        if (lane == WARP - 1) totals[warp] = sum;
        __syncthreads();
        double chain = lane < warps ? totals[lane] : 0, outer_weight = 1; /* every warp scans the totals of all */
        for (unsigned step = 1; step <= warps; step *= 2) {
            const double other = shuffle_value<true>(chain, step % WARP);
            if (lane >= step) chain = power * other + chain;
            if (warp & step) outer_weight = affine_product(outer_weight, power);
            if (warps & step) decay = affine_product(decay, power);
            power = square(power);
        }
        const double outer = __shfl_sync((unsigned)ALL_LANES, chain, warp == 0 ? 0 : warp - 1);
        if (warp > 0) before = weight * outer + before;
        weight = affine_product(weight, outer_weight);
        sum = __shfl_sync((unsigned)ALL_LANES, chain, warps - 1);
    }
    if (plan.blocks > 1) {
        cluster_wait(); /* all blocks have started */
        if (threadIdx.x > rank && threadIdx.x < plan.blocks) cluster_store(&shares[rank], threadIdx.x, sum);
        cluster_arrive();
        cluster_wait();
        double carry = 0;
        for (unsigned k = 0; k < rank; k++) carry = decay * carry + shares[k];
        if (rank > 0) before = weight * carry + before;
    }
    T running = (T)before;
#pragma unroll
    for (unsigned k = 0; k < COUNT; k++) {
        T *const element = &slot.at[RIGHT ? COUNT - 1 - k : k];
        running = factor * running + *element;
        *element = running;
    }
    slot.store(view.y, plan.packed);
}

/* Few elements to a thread and few blocks to a row: one vector each while one block suffices. */
static RegisterPlan register_plan(const VariantArgs *args) {
    const size_t each = discount_is_f64(args) ? EACH<double> : EACH<float>, n = discount_n(args), most = cluster_blocks_max();
    const size_t row = divide_up(discount_batch(args) > 1 && n % each != 0 ? n + each - 1 : n, each); /* vectors */
    RegisterPlan plan = {(unsigned)params_int(args->tunables, "blocks"), (unsigned)params_int(args->tunables, "threads"),
                         (unsigned)params_int(args->tunables, "vectors"), false};
    const size_t wanted = plan.vectors == 0 ? 1 : plan.vectors, threads = plan.threads == 0 ? 512 : plan.threads;
    if (plan.blocks == 0) {
        plan.blocks = 1;
        while (plan.blocks < most && plan.blocks * threads * wanted < row) plan.blocks *= 2;
    }
    const size_t share = divide_up(row, plan.blocks);
    if (plan.vectors == 0) {
        plan.vectors = 1;
        while (plan.vectors < 4 && plan.vectors * threads < share) plan.vectors *= 2;
    }
    if (plan.threads == 0) {
        const size_t needed = divide_up(divide_up(share, plan.vectors), WARP) * WARP;
        plan.threads = needed > THREADS_MAX ? THREADS_MAX : (unsigned)needed;
    }
    if ((size_t)plan.blocks * plan.threads * plan.vectors < row) plan.vectors = 0;
    return plan;
}

template <typename T, unsigned VECTORS> static Status launch_rows(const VariantArgs *args, RegisterPlan plan) {
    const DiscountView<T> view = discount_view<T>(args);
    plan.packed = ((uintptr_t)view.x | (uintptr_t)view.y) % 16 == 0;
    const LaunchShape shape = {dim3((unsigned)(view.batch * plan.blocks)), dim3(plan.threads), 0, args->stream};
    return discount_is_right(args) ? launch_clusters(register_kernel<T, VECTORS, true>, shape, plan.blocks, view, plan)
                                   : launch_clusters(register_kernel<T, VECTORS, false>, shape, plan.blocks, view, plan);
}

template <typename T> static Status run_typed(const VariantArgs *args) {
    const RegisterPlan plan = register_plan(args);
    if (plan.vectors == 1) return launch_rows<T, 1>(args, plan);
    return plan.vectors == 2 ? launch_rows<T, 2>(args, plan) : launch_rows<T, 4>(args, plan);
}

static Status run(const VariantArgs *args) {
    if (discount_is_empty(args)) return STATUS_OK;
    return discount_is_f64(args) ? run_typed<double>(args) : run_typed<float>(args);
}

static bool supports(const VariantArgs *args, char reason[REASON_MAX]) {
    if (!discount_is_uniform(args)) return variant_refuse(reason, "one factor to a row and no reset are supported");
    if (discount_terms(args) > 0) return variant_refuse(reason, "sums of k terms are not supported");
    const RegisterPlan plan = register_plan(args);
    if (plan.threads % WARP != 0) return variant_refuse(reason, "threads=%u is no multiple of 32", plan.threads);
    if ((plan.blocks & (plan.blocks - 1)) != 0) return variant_refuse(reason, "blocks=%u is no power of two", plan.blocks);
    if (plan.blocks > cluster_blocks_max())
        return variant_refuse(reason, "blocks=%u: a cluster has at most %u here", plan.blocks, cluster_blocks_max());
    if (plan.vectors == 3) return variant_refuse(reason, "vectors=3 is no power of two");
    if (plan.vectors == 0)
        return variant_refuse(reason, "n=%zu: a row does not fit the registers of %u blocks", discount_n(args), plan.blocks);
    return discount_fits_grid(args, discount_batch(args) * plan.blocks, reason);
}

static const ParamSpec TUNABLES[] = {
    {"blocks", "blocks of a cluster: 1, 2, 4, 8 or 16; 0: by shape", PARAM_INT, "0", 0, CLUSTER_BLOCKS_MAX, NULL},
    {"threads", "threads of a block, a multiple of 32; 0: by shape", PARAM_INT, "0", 0, THREADS_MAX, NULL},
    {"vectors", "vectors of 16 bytes of a thread: 1, 2 or 4; 0: by shape", PARAM_INT, "0", 0, 4, NULL},
    {},
};

RUNGS_VARIANT(discounted_cumsum, cuda_register_row) = {
    .backend = BACKEND_CUDA,
    .summary = "few short rows: a row in the registers of a cluster, powers of gamma squared along the scans",
    .origin = "Hillis and Steele 1986; NVIDIA 2022",
    .tunables = TUNABLES,
    .supports = supports,
    .run = run,
};
