/* Idea: van Herk / Gil-Werman. A unit is K consecutive outputs i0 .. i0+K-1 of one thread. The window of output r of a unit is
 *     left[r..K-1]   a suffix of the K elements from i0-w+1,
 *     the base       i0-w+1+K .. i0-1, which the K windows share: w-1-K elements, so w > K is needed,
 *     own[0..r]      a prefix of the unit's own inputs,
 * one step of suffix, one of prefix and two merges per output. Nothing is subtracted. Where the base comes from depends on w:
 *   w <= 3   no base: read the window;
 *   short    from aggregates of K elements in shared memory, doubled: those of 2^b units make up any length in log2(w) steps;
 *   long     the same cut once more, at whole blocks: suffix of the left block, middle, prefix of the own block. The middle is a
 *            window over the aggregates of blocks (block_aggregates_kernel), by van Herk's prefix and suffix scans of chunks as
 *            long as that window (chunk_scans_kernel).
 * Traffic: short: (1 + (w - 1) / (threads K)) n reads, mostly L2 hits beyond the first n, n writes. Long: 3n reads, one of them an
 *   L2 hit while w inputs fit there, n writes. Independent of w.
 * Rounding: no subtraction: sums are trees of depth about K + log2(w); var by Welford and Chan, so its error grows with
 *   |mean| / std.
 * Limits: none on n and w. A block of 256 threads has up to 102 KiB of shared memory in f64, one of 512 up to 204; where a device
 *   has less, fewer threads do.
 * Origin: van Herk 1992, Gil and Werman 1993; partial moments by Chan, Golub and LeVeque 1979. */
#include "_shared.cuh"
#include "common/block_scan.cuh"

enum { THREADS_MAX = 512, CHUNK_THREADS = 256, SHORT_BLOCKS = 2, FEW_BLOCKS = 31 };

/* K: elements of a unit; odd, so that lanes K elements apart read from different banks. Suffixes of moments are two numbers, hence
 * fewer. */
template <Aggregate AGG> constexpr unsigned UNIT = aggregate_is_spread(AGG) ? 9 : 15;
enum { SMALL_UNIT = 3 };

static const ParamSpec TUNABLES[] = {
    {"threads", "threads of a block, a multiple of 32", PARAM_INT, "256", 32, THREADS_MAX, NULL},
    {},
};

/* The aggregates in the scans and reductions of block_scan.cuh. */
template <bool UP, typename T> __device__ Sum<T> shuffle(const Sum<T> &a, unsigned distance) {
    return {shuffle_value<UP>(a.sum, distance)};
}
template <bool UP, typename T, bool IS_MIN> __device__ Extreme<T, IS_MIN> shuffle(const Extreme<T, IS_MIN> &a, unsigned distance) {
    return {shuffle_value<UP>(a.value, distance)};
}
template <bool UP, typename T> __device__ Moments<T> shuffle(const Moments<T> &a, unsigned distance) {
    return {shuffle_value<UP>(a.count, distance), shuffle_value<UP>(a.mean, distance), shuffle_value<UP>(a.m2, distance)};
}

template <typename A, unsigned K, typename T> __device__ A unit_aggregate(const T *elements) {
    A all;
#pragma unroll
    for (unsigned r = 0; r < K; r++) all.push(elements[r]);
    return all;
}

/* Overwrites own[0..K-1] with its outputs. Called by the whole block: others' left elements may be this thread's own, so everyone
 * reads before anyone writes. */
template <typename A, Aggregate AGG, unsigned K, typename T>
__device__ void unit_outputs(const T *left, const A &base, T *own, T window) {
    A suffix[K];
    A all;
#pragma unroll
    for (unsigned r = K; r-- > 0;) {
        all.push(left[r]);
        suffix[r] = all;
    }
    __syncthreads();
    A prefix;
#pragma unroll
    for (unsigned r = 0; r < K; r++) {
        prefix.push(own[r]);
        A output = prefix;
        output.merge(suffix[r]); /* always K + 1 elements: for moments the shares are constants */
        output.merge(base);
        own[r] = output.template finish<AGG>(window);
    }
}

/* to[j] = x[first - before + j] for j < count; 0, which no complete window sees, where that is outside the array. */
template <typename T> __device__ void unit_stage(const RollingView<T> &view, size_t first, size_t before, unsigned count, T *to) {
    if (first >= before && first - before + count <= view.n) {
        const T *from = view.x + (first - before);
#pragma unroll 4
        for (unsigned j = threadIdx.x; j < count; j += blockDim.x) to[j] = from[j];
        return;
    }
    for (unsigned j = threadIdx.x; j < count; j += blockDim.x) {
        const size_t shifted = first + j;
        to[j] = shifted >= before && shifted - before < view.n ? view.x[shifted - before] : 0;
    }
}

/* The block's outputs from shared memory, incomplete ones replaced. */
template <typename T> __device__ void unit_write(const RollingView<T> &view, size_t first, unsigned count, const T *outputs) {
    __syncthreads();
    for (unsigned j = threadIdx.x; j < count && first + j < view.n; j += blockDim.x)
        view.y[first + j] = first + j + 1 < view.window ? view.incomplete : outputs[j];
}

/* w <= 3. */
template <typename T, Aggregate AGG> static __global__ void __launch_bounds__(THREADS_MAX) tiny_kernel(RollingView<T> view) {
    const size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x, w = view.window;
    if (i >= view.n) return;
    if (i + 1 < w) {
        view.y[i] = view.incomplete;
        return;
    }
    view.y[i] = Accumulator<T, AGG>::collect(view.x + (i + 1 - w), w).template finish<AGG>((T)w);
}

/* Units of K elements in shared memory: halo_units before the block's own; elements and two arrays of aggregates. */
template <typename T, Aggregate AGG, unsigned K>
static __global__ void __launch_bounds__(THREADS_MAX) short_kernel(RollingView<T> view, unsigned halo_units) {
    using A = Accumulator<T, AGG>;
    const unsigned w = (unsigned)view.window, units = halo_units + blockDim.x, own_unit = halo_units + threadIdx.x;
    DYN_SHARED(T, elements);
    A *aggregates = (A *)(elements + units * K), *doubled = aggregates + units;
    const size_t first = (size_t)blockIdx.x * blockDim.x * K;
    unit_stage(view, first, (size_t)halo_units * K, units * K, elements);
    __syncthreads();
    for (unsigned u = threadIdx.x; u < units; u += blockDim.x) aggregates[u] = unit_aggregate<A, K>(elements + u * K);
    __syncthreads();

    /* base: w-1-K elements before the own unit, as whole units and the last few elements of the unit before those. */
    const unsigned whole = (w - 1 - K) / K, rest = (w - 1 - K) % K;
    A base;
    for (unsigned r = 0; r < rest; r++) base.push(elements[(own_unit - whole) * K - rest + r]);
    for (unsigned size = 1, end = own_unit; size <= whole; size *= 2) { /* aggregates[u] is that of units u-size+1..u */
        if (whole & size) {
            base.merge(aggregates[end - 1]);
            end -= size;
        }
        if (size <= whole / 2) {
            for (unsigned u = threadIdx.x; u < units; u += blockDim.x) {
                A both = aggregates[u >= size ? u - size : u];
                both.merge(aggregates[u]);
                doubled[u] = both;
            }
            __syncthreads();
            A *const swap = aggregates;
            aggregates = doubled;
            doubled = swap;
        }
    }
    T *own = elements + own_unit * K;
    unit_outputs<A, AGG, K>(own - (w - 1), base, own, (T)w);
    unit_write(view, first, blockDim.x * K, elements + halo_units * K);
}

/* Long windows. A block has `width` = threads K outputs; the middle is `blocks` whole blocks and the last `rest` elements of the
 * block before those. */
struct Middle {
    size_t blocks, rest;
};

/* Per block of x: the aggregate of all its elements and that of its last middle.rest. */
template <typename T, Aggregate AGG>
static __global__ void __launch_bounds__(THREADS_MAX)
    block_aggregates_kernel(RollingView<T> view, Middle middle, Accumulator<T, AGG> *whole, Accumulator<T, AGG> *rest) {
    using A = Accumulator<T, AGG>;
    constexpr unsigned K = UNIT<AGG>;
    const unsigned width = blockDim.x * K, unit = threadIdx.x * K, rest_begin = width - (unsigned)middle.rest;
    DYN_SHARED(T, elements);
    A *totals = (A *)(elements + width);
    unit_stage(view, (size_t)blockIdx.x * width, 0, width, elements);
    __syncthreads();
    const A own = unit_aggregate<A, K>(elements + unit);
    A last;
    if (unit >= rest_begin) {
        last = own;
    } else {
        for (unsigned r = rest_begin; r < unit + K; r++) last.push(elements[r]);
    }
    const A all = block_reduce(own, totals), all_last = block_reduce(last, totals + WARP);
    if (threadIdx.x == 0) {
        whole[blockIdx.x] = all;
        rest[blockIdx.x] = all_last;
    }
}

/* Chunks of `chunk` aggregates: prefix[i] from its chunk's beginning to i (blockIdx.y = 0), suffix[i] from i to its chunk's end
 * (1). */
template <typename A>
static __global__ void __launch_bounds__(CHUNK_THREADS)
    chunk_scans_kernel(const A *in, size_t count, size_t chunk, A *prefix, A *suffix) {
    const size_t begin = blockIdx.x * chunk, end = count - begin < chunk ? count : begin + chunk;
    DYN_SHARED(A, totals);
    A carry;
    for (size_t done = 0; done < end - begin; done += CHUNK_THREADS) {
        const size_t step = done + threadIdx.x;
        const bool valid = step < end - begin;
        const size_t i = blockIdx.y == 0 ? begin + step : end - 1 - step;
        const A own = valid ? in[i] : A();
        A all, before = carry;
        before.merge(block_scan_exclusive<true>(own, totals, &all));
        before.merge(own);
        if (valid) (blockIdx.y == 0 ? prefix : suffix)[i] = before;
        carry.merge(all);
        __syncthreads();
    }
}

/* Lane 0 of the calling warp gets the aggregate of the middle that precedes this block's own elements. */
template <typename A> __device__ A gather_middle(Middle middle, const A *whole, const A *rest, const A *prefix, const A *suffix) {
    const size_t block = blockIdx.x;
    const unsigned lane = threadIdx.x;
    A part;
    if (lane == WARP - 1) {
        if (middle.rest > 0) part = rest[block - middle.blocks - 1];
    } else if (middle.blocks <= FEW_BLOCKS) {
        if (lane < middle.blocks) part = whole[block - 1 - lane];
    } else if (lane == 0) {
        part = prefix[block - 1];
    } else if (lane == 1 && block % middle.blocks != 0) {
        part = suffix[block - middle.blocks];
    }
    return warp_reduce(part);
}

template <typename T, Aggregate AGG>
static __global__ void __launch_bounds__(THREADS_MAX)
    long_kernel(RollingView<T> view, Middle middle, const Accumulator<T, AGG> *whole, const Accumulator<T, AGG> *rest,
                const Accumulator<T, AGG> *prefix, const Accumulator<T, AGG> *suffix) {
    using A = Accumulator<T, AGG>;
    constexpr unsigned K = UNIT<AGG>;
    const unsigned width = blockDim.x * K, unit = threadIdx.x * K;
    const size_t first = (size_t)blockIdx.x * width;
    DYN_SHARED(T, left);
    T *own = left + width;
    if (first + width < view.window) { /* not one complete window */
        unit_write(view, first, width, own);
        return;
    }
    A *totals = (A *)(own + width), *shared_middle = totals + 2 * WARP;
    unit_stage(view, first, view.window - 1, width, left);
    unit_stage(view, first, 0, width, own);
    if (threadIdx.x < WARP) {
        const A all = gather_middle(middle, whole, rest, prefix, suffix);
        if (threadIdx.x == 0) *shared_middle = all;
    }
    __syncthreads();
    A ignored, base = block_scan_exclusive<false>(unit_aggregate<A, K>(left + unit), totals, &ignored);
    base.merge(*shared_middle);
    base.merge(block_scan_exclusive<true>(unit_aggregate<A, K>(own + unit), totals + WARP, &ignored));
    unit_outputs<A, AGG, K>(left + unit, base, own + unit, (T)view.window);
    unit_write(view, first, width, own);
}

static bool is_spread(const VariantArgs *args) {
    return aggregate_is_spread((Aggregate)rolling_aggregate(args));
}

/* Outputs of a block when the window is not tiny. */
static size_t width_of(const VariantArgs *args) {
    const unsigned unit = is_spread(args) ? UNIT<AGG_VAR> : UNIT<AGG_MEAN>;
    return (size_t)tunable_threads(args) * unit;
}

static bool is_long(const VariantArgs *args) {
    return rolling_window(args) - 1 > SHORT_BLOCKS * width_of(args);
}

template <typename T, Aggregate AGG, unsigned K> static Status launch_short(const VariantArgs *args, RollingView<T> view) {
    const unsigned threads = tunable_threads(args), halo_units = (unsigned)divide_up(view.window - 1, K);
    const size_t units = halo_units + threads, bytes = units * (K * sizeof(T) + 2 * sizeof(Accumulator<T, AGG>));
    const unsigned blocks = (unsigned)divide_up(view.n, (size_t)threads * K);
    return launch(short_kernel<T, AGG, K>, {dim3(blocks), dim3(threads), bytes, args->stream}, view, halo_units);
}

template <typename T, Aggregate AGG> static Status launch_long(const VariantArgs *args, RollingView<T> view) {
    using A = Accumulator<T, AGG>;
    const unsigned threads = tunable_threads(args);
    const size_t width = width_of(args), blocks = divide_up(view.n, width), middle_length = view.window - 1 - width;
    const Middle middle = {middle_length / width, middle_length % width};
    A *whole = (A *)args->scratch, *rest = whole + blocks, *prefix = rest + blocks, *suffix = prefix + blocks;
    TRY(launch(block_aggregates_kernel<T, AGG>,
               {dim3((unsigned)blocks), dim3(threads), width * sizeof(T) + 2 * WARP * sizeof(A), args->stream}, view, middle, whole,
               rest));
    if (middle.blocks > FEW_BLOCKS)
        TRY(launch(chunk_scans_kernel<A>,
                   {dim3((unsigned)divide_up(blocks, middle.blocks), 2), dim3(CHUNK_THREADS), WARP * sizeof(A), args->stream},
                   (const A *)whole, blocks, middle.blocks, prefix, suffix));
    return launch(long_kernel<T, AGG>,
                  {dim3((unsigned)blocks), dim3(threads), 2 * width * sizeof(T) + (2 * WARP + 1) * sizeof(A), args->stream}, view,
                  middle, (const A *)whole, (const A *)rest, (const A *)prefix, (const A *)suffix);
}

static Status run(const VariantArgs *args) {
    return rolling_run(args, [args]<typename T, Aggregate AGG>(const RollingView<T> &view) {
        if (is_long(args)) return launch_long<T, AGG>(args, view);
        if (view.window > UNIT<AGG>) return launch_short<T, AGG, UNIT<AGG>>(args, view);
        if (view.window > SMALL_UNIT) return launch_short<T, AGG, SMALL_UNIT>(args, view);
        const unsigned threads = tunable_threads(args), blocks = (unsigned)divide_up(view.n, threads);
        return launch(tiny_kernel<T, AGG>, {dim3(blocks), dim3(threads), 0, args->stream}, view);
    });
}

/* Two aggregates and their two scans for every block of x. */
static size_t scratch_bytes(const VariantArgs *args) {
    if (!is_long(args)) return 0;
    const size_t aggregate = dtype_size(args->problem->dtype) * (is_spread(args) ? 3 : 1);
    return 4 * aggregate * divide_up(rolling_length(args), width_of(args));
}

/* Shared memory of a block of the largest kernel that the case launches; 0 for windows of a unit or less (below 48 KiB). */
static size_t block_shared_bytes(const VariantArgs *args) {
    const size_t unit = is_spread(args) ? UNIT<AGG_VAR> : UNIT<AGG_MEAN>, window = rolling_window(args);
    const size_t element = dtype_size(args->problem->dtype), aggregate = element * (is_spread(args) ? 3 : 1);
    if (window <= unit) return 0;
    if (is_long(args)) return 2 * width_of(args) * element + (2 * WARP + 1) * aggregate;
    return (divide_up(window - 1, unit) + tunable_threads(args)) * (unit * element + 2 * aggregate);
}

static bool supports(const VariantArgs *args, char reason[REASON_MAX]) {
    if (tunable_threads(args) % WARP != 0)
        return variant_refuse(reason, "threads=%u is no multiple of %d", tunable_threads(args), WARP);
    if (!rolling_supports(args, tunable_threads(args), reason)) return false;
    if (rolling_window(args) > rolling_length(args) || block_shared_bytes(args) <= device_block_shared_max()) return true;
    return variant_refuse(reason, "window=%zu with %u threads needs %zu bytes of shared memory, a block has %zu: set fewer threads",
                          rolling_window(args), tunable_threads(args), block_shared_bytes(args), device_block_shared_max());
}

RUNGS_VARIANT(rolling, cuda_block_prefix_suffix) = {
    .backend = BACKEND_CUDA,
    .summary = "van Herk / Gil-Werman: suffix, shared middle, prefix; cost independent of w",
    .origin = "van Herk 1992, Gil and Werman 1993",
    .tunables = TUNABLES,
    .supports = supports,
    .scratch_bytes = scratch_bytes,
    .run = run,
};
