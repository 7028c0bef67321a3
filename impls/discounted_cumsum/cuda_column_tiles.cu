/* Idea: layout=time_major, x[T, D] with D contiguous, as models with gates have it: sums go down the columns. A block has a tile of
 * 128 bytes across and up to 256 positions (f16, bf16: 128); a lane has STEPS positions below each other, of each 16 bytes of x and
 * of gamma, so that loads are coalesced, and all are under way at once. A lane composes the maps of its positions for each of its
 * columns, lanes of a warp exchange them by shuffles, warps by shared memory. Of tiles below each other TOGETHER are a group: each
 * publishes its map, the last one the sum that leaves the group. What enters a tile follows from the maps above it in its group, so
 * that few tiles wait for one another: T / 2048 in a column. Progress: a block takes its tile from a counter when it starts, so the
 * tiles before it belong to blocks that have started.
 * Traffic: x and gamma (and reset, states) once in, y once out; a map for each column of a tile, emptied by a memset before.
 * Rounding: all in the dtype (f16 and bf16: in float); depth about STEPS + log2(n). The same bits each time.
 * Limits: layout=time_major, a discount for each element. Loads of 16 bytes only where they divide a position's D elements. After a
 *   sum beyond the range, later ones may be finite.
 * Origin: Merrill and Garland 2016, Single-pass parallel prefix scan with decoupled look-back, with groups in place of the look-back. */
#include "common/discounted_cumsum/gates.cuh"
#include "common/published.cuh"

constexpr unsigned ACROSS = 8 /* lanes side by side */, TOGETHER = 8 /* tiles of a group */;
/* Positions of a lane. Of narrow types it has 8 columns, and their maps in registers. */
template <typename T> constexpr unsigned STEPS = sizeof(T) == 2 ? 4 : 8;

/* The case as the kernel sees it. Position p of a column is the element first + p step. */
template <typename T> struct ColumnsView {
    const T *x, *gamma;
    const unsigned char *reset;
    const SumOf<T> *initial; /* null: none */
    T *y;
    SumOf<T> *final;
    size_t batch, n;
    long long first, step;
    unsigned across, parts; /* tiles side by side, and below each other */
    bool packed;
    PublishedWord *maps; /* [parts][across][columns of a tile] */
    unsigned *started;   /* blocks, less one; at first all bits are one */
};

template <typename T> struct ColumnShared {
    typedef SumOf<T> Sum;
    static constexpr unsigned COLUMNS = ACROSS * VectorOf<T>::LENGTH, WARPS = GATE_THREADS_MAX / WARP;
    Sum a[WARPS][COLUMNS], b[WARPS][COLUMNS];                     /* the map of each warp */
    Sum above_a[TOGETHER * COLUMNS], above_b[TOGETHER * COLUMNS]; /* maps of tiles above */
    Sum enters[WARPS][COLUMNS];                                   /* the sums that enter each warp */
};

/* What a lane has in registers: positions that are none are identities. */
template <typename T> struct ColumnSteps { GateVector<T> x[STEPS<T>], factor[STEPS<T>]; /* RESETS: factor of a reset: a cut */ };

/* Has a lane all of its positions, in aligned memory? */
template <typename T> static __device__ bool is_whole(const ColumnsView<T> &of, size_t position, size_t column) {
    return of.packed && position + STEPS<T> <= of.n && column < of.batch;
}

/* Where a lane's column of an array begins. */
template <typename T> static __device__ long long offset_of(const ColumnsView<T> &of, size_t position, size_t column) {
    return of.first + (long long)position * of.step + (long long)column;
}

/* A vector of one array, some of whose elements may be none. */
template <typename T>
static __device__ GateVector<T> load_some(const ColumnsView<T> &of, const T *at, size_t p, size_t column, T otherwise) {
    GateVector<T> vector;
#pragma unroll
    for (unsigned k = 0; k < VectorOf<T>::LENGTH; k++) vector.put(k, p < of.n && column + k < of.batch ? at[k] : otherwise);
    return vector;
}

template <typename T>
static __device__ void load_vectors(const ColumnsView<T> &of, const T *from, size_t position, size_t column, T otherwise,
                                    GateVector<T> (&vectors)[STEPS<T>]) {
    const T *const at = from + offset_of(of, position, column);
    const bool whole = is_whole(of, position, column);
#pragma unroll
    for (unsigned s = 0; s < STEPS<T>; s++) {
        const T *const here = at + (long long)s * of.step;
        if (!whole) {
            vectors[s] = load_some(of, here, position + s, column, otherwise);
            continue;
        }
        const Pack<unsigned, 4> pack = *(const Pack<unsigned, 4> *)here;
#pragma unroll
        for (unsigned k = 0; k < 4; k++) vectors[s].words[k] = pack.at[k];
    }
}

template <bool RESETS, typename T>
static __device__ void load_steps(const ColumnsView<T> &of, size_t position, size_t column, ColumnSteps<T> *steps) {
    load_vectors(of, of.x, position, column, (T)0, steps->x);
    load_vectors(of, of.gamma, position, column, (T)1, steps->factor);
#pragma unroll
    for (unsigned s = 0; RESETS && s < STEPS<T>; s++) {
        const unsigned char *reset = of.reset + offset_of(of, position + s, column);
#pragma unroll
        for (unsigned k = 0; k < VectorOf<T>::LENGTH; k++) {
            const bool cut = position + s < of.n && column + k < of.batch && reset[k];
            const SumOf<T> factor = wide(steps->factor[s].element(k));
            steps->factor[s].put(k, (T)(cut ? affine_cut<SumOf<T>>() : affine_factor(factor)));
        }
    }
}

/* The maps of a lane's columns. Products in the normal range were never stopped at its ends, and have met no cut: where one is not,
 * all is done as Affine does it. */
template <bool RESETS, typename T>
static __device__ void compose(const ColumnSteps<T> &steps, Affine<SumOf<T>> (&maps)[VectorOf<T>::LENGTH]) {
    typedef SumOf<T> Sum;
    constexpr Sum LEAST = sizeof(Sum) == 4 ? (Sum)0x1p-126 : (Sum)0x1p-1022;
    bool plain = true;
#pragma unroll
    for (unsigned k = 0; k < VectorOf<T>::LENGTH; k++) {
        Sum a = 1, b = 0;
#pragma unroll
        for (unsigned s = 0; s < STEPS<T>; s++) {
            const Sum factor = wide(steps.factor[s].element(k));
            b = factor * b + wide(steps.x[s].element(k));
            a *= factor;
        }
        maps[k] = {a, b};
        plain = plain && fabs(a) >= LEAST && fabs(a) <= AffineRange<Sum>::LARGEST;
    }
    if (plain) return;
#pragma unroll
    for (unsigned k = 0; k < VectorOf<T>::LENGTH; k++) {
        maps[k] = Affine<Sum>();
#pragma unroll
        for (unsigned s = 0; s < STEPS<T>; s++) {
            const Sum factor = wide(steps.factor[s].element(k));
            maps[k].merge({RESETS ? factor : affine_factor(factor), wide(steps.x[s].element(k))});
        }
    }
}

/* The maps of a lane and of those above it in the warp, of each column. False if a product is 0 or beyond the range: maps of Plain
 * are not those of Affine then. */
template <typename Map, typename Sum, unsigned LENGTH>
static __device__ bool scan_lanes(const Affine<Sum> (&own)[LENGTH], Affine<Sum> (&through)[LENGTH]) {
    bool alike = true;
#pragma unroll
    for (unsigned k = 0; k < LENGTH; k++) {
        Map map = {own[k].a, own[k].b};
#pragma unroll
        for (unsigned distance = ACROSS; distance < WARP; distance *= 2) {
            Map other = shuffle<true>(map, distance);
            other.merge(map);
            if (threadIdx.x % WARP >= distance) map = other;
        }
        through[k] = {map.a, map.b};
        alike = alike && map.a != 0 && fabs(map.a) <= AffineRange<Sum>::LARGEST;
    }
    return alike;
}

/* Of each column the lanes above in the warp, exclusively; the maps of the warp go to shared memory. */
template <typename T> static __device__ void scan_warp(Affine<SumOf<T>> (&maps)[VectorOf<T>::LENGTH], ColumnShared<T> *shared) {
    typedef SumOf<T> Sum;
    const unsigned lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    Affine<Sum> through[VectorOf<T>::LENGTH];
    const bool alike = scan_lanes<Plain<Sum>>(maps, through);
    if (!__all_sync((unsigned)ALL_LANES, alike)) (void)scan_lanes<Affine<Sum>>(maps, through);
#pragma unroll
    for (unsigned k = 0; k < VectorOf<T>::LENGTH; k++) {
        const unsigned column = lane % ACROSS * VectorOf<T>::LENGTH + k;
        if (lane >= WARP - ACROSS) shared->a[warp][column] = through[k].a, shared->b[warp][column] = through[k].b;
        maps[k] = shuffle<true>(through[k], ACROSS);
        if (lane < ACROSS) maps[k] = Affine<Sum>();
    }
}

/* What enters the tile, and what it has for those below. */
template <typename T>
static __device__ void enter(const ColumnsView<T> &of, unsigned part, unsigned beside, ColumnShared<T> *shared) {
    typedef SumOf<T> Sum;
    typedef Affine<Sum> Map;
    constexpr unsigned COLUMNS = ColumnShared<T>::COLUMNS, WORDS = sizeof(Map) / sizeof(PublishedWord);
    const unsigned own = threadIdx.x, begin = part / TOGETHER * TOGETHER, from = begin > 0 ? begin - 1 : 0;
    const bool ends_group = part % TOGETHER == TOGETHER - 1, publishes = own < COLUMNS && part + 1 < of.parts;
    const size_t line = (size_t)of.across * COLUMNS, column = (size_t)beside * COLUMNS + own;
    PublishedWord *const words = of.maps + (part * line + column) * WORDS;
    const unsigned warps = blockDim.x / WARP;
    Map total;
    for (unsigned w = 0; own < COLUMNS && w < warps; w++) total.merge({shared->a[w][own], shared->b[w][own]});
    if (publishes && !ends_group) publish_words(words, 1, total);
    for (unsigned i = own; i < (part - from) * COLUMNS; i += blockDim.x) {
        const size_t above = (from + i / COLUMNS) * line + (size_t)beside * COLUMNS + i % COLUMNS;
        Map map;
        while (!published_words(of.maps + above * WORDS, 1, &map)) continue;
        shared->above_a[i] = map.a, shared->above_b[i] = map.b;
    }
    __syncthreads();
    if (own < COLUMNS) {
        const bool has_state = of.initial && column < of.batch;
        Sum sum = has_state ? of.initial[column] : 0;
        for (unsigned i = own; i < (part - from) * COLUMNS; i += COLUMNS) sum = Map{shared->above_a[i], shared->above_b[i]}.of(sum);
        for (unsigned w = 0; w < warps; w++) {
            shared->enters[w][own] = sum;
            sum = Map{shared->a[w][own], shared->b[w][own]}.of(sum);
        }
        if (publishes && ends_group) publish_words(words, 1, Map{affine_cut<Sum>(), sum});
        if (has_state && part + 1 == of.parts) of.final[column] = sum;
    }
    __syncthreads();
}

/* before: the lanes above in the warp. */
template <bool RESETS, typename T>
static __device__ void write_steps(const ColumnsView<T> &of, size_t position, size_t column, const ColumnSteps<T> &steps,
                                   const Affine<SumOf<T>> (&before)[VectorOf<T>::LENGTH], const ColumnShared<T> &shared) {
    constexpr unsigned LENGTH = VectorOf<T>::LENGTH;
    typedef SumOf<T> Sum;
    const unsigned at = threadIdx.x % ACROSS * LENGTH;
    Sum sum[LENGTH];
#pragma unroll
    for (unsigned k = 0; k < LENGTH; k++) sum[k] = before[k].of(shared.enters[threadIdx.x / WARP][at + k]);
    T *const begin = of.y + offset_of(of, position, column);
    const bool whole = is_whole(of, position, column);
#pragma unroll
    for (unsigned s = 0; s < STEPS<T>; s++) {
        T *const to = begin + (long long)s * of.step;
        Pack<T, LENGTH> out;
#pragma unroll
        for (unsigned k = 0; k < LENGTH; k++) {
            const Sum factor = wide(steps.factor[s].element(k)), x = wide(steps.x[s].element(k));
            sum[k] = RESETS ? discount_step(factor, sum[k], x) : factor * sum[k] + x;
            out.at[k] = (T)sum[k];
        }
        if (whole) *(Pack<T, LENGTH> *)to = out;
#pragma unroll
        for (unsigned k = 0; k < LENGTH; k++)
            if (!whole && position + s < of.n && column + k < of.batch) to[k] = out.at[k];
    }
}

template <typename T, bool RESETS>
static __global__ void __launch_bounds__(GATE_THREADS_MAX, 2) columns_kernel(const __grid_constant__ ColumnsView<T> of) {
    constexpr unsigned LENGTH = VectorOf<T>::LENGTH;
    __shared__ ColumnShared<T> shared;
    __shared__ unsigned number;
    if (threadIdx.x == 0) number = of.parts > 1 ? atomicAdd(of.started, 1u) + 1 : blockIdx.x;
    __syncthreads();
    const unsigned part = number / of.across, beside = number % of.across;
    const size_t position = ((size_t)part * blockDim.x + threadIdx.x) / ACROSS * STEPS<T>;
    const size_t column = ((size_t)beside * ACROSS + threadIdx.x % ACROSS) * LENGTH;
    ColumnSteps<T> steps;
    load_steps<RESETS>(of, position, column, &steps);
    Affine<SumOf<T>> maps[LENGTH];
    compose<RESETS>(steps, maps);
#pragma unroll
    for (unsigned s = 0; s < STEPS<T>; s++) steps.x[s].stay_packed(), steps.factor[s].stay_packed();
    scan_warp<T>(maps, &shared);
    __syncthreads();
    enter(of, part, beside, &shared);
    write_steps<RESETS>(of, position, column, steps, maps, shared);
}

/* ---- Host. */
static size_t columns_n(const VariantArgs *args) {
    return args->in[0].shape[0];
}
static size_t columns_batch(const VariantArgs *args) {
    return args->in[0].shape[1];
}
static unsigned height_of(const VariantArgs *args, unsigned threads) {
    return threads / ACROSS * (dtype_size(args->problem->dtype) == 2 ? STEPS<__half> : STEPS<float>);
}
static unsigned threads_of(const VariantArgs *args) {
    const unsigned threads = tunable_threads(args);
    const size_t n = columns_n(args);
    return threads > 0 ? threads : n <= height_of(args, 64) ? 64 : n <= height_of(args, 128) ? 128 : 256;
}
static size_t tiles_across(const VariantArgs *args) {
    return divide_up(columns_batch(args) * dtype_size(args->problem->dtype), ACROSS * 16);
}
/* Also of a column without elements, whose state is to be moved. */
static size_t tiles_below(const VariantArgs *args) {
    const size_t parts = divide_up(columns_n(args), height_of(args, threads_of(args)));
    return parts > 0 ? parts : 1;
}
static size_t columns_of_tile(const VariantArgs *args) {
    return ACROSS * 16 / dtype_size(args->problem->dtype);
}
/* A map for each column of a tile, and the counter. */
static size_t scratch_bytes(const VariantArgs *args) {
    const size_t map = discount_is_f64(args) ? sizeof(Affine<double>) : sizeof(Affine<float>);
    if (tiles_below(args) == 1) return 0;
    return tiles_below(args) * tiles_across(args) * columns_of_tile(args) * map + sizeof(PublishedWord);
}

template <typename T> static Status run_columns(const VariantArgs *args) {
    const size_t batch = columns_batch(args), n = columns_n(args), bytes = scratch_bytes(args);
    const bool right = discount_is_right(args), state = array_count(&args->out[1]) > 0;
    const DiscountView<T> view = discount_view<T>(args);
    const ColumnsView<T> of = {view.x,
                               view.gamma,
                               view.reset,
                               state ? (const SumOf<T> *)args->in[2].data : nullptr,
                               view.y,
                               (SumOf<T> *)args->out[1].data,
                               batch,
                               n,
                               right && n > 0 ? (long long)((n - 1) * batch) : 0,
                               right ? -(long long)batch : (long long)batch,
                               (unsigned)tiles_across(args),
                               (unsigned)tiles_below(args),
                               discount_is_packed(args) && batch % VectorOf<T>::LENGTH == 0,
                               (PublishedWord *)args->scratch,
                               bytes > 0 ? (unsigned *)((PublishedWord *)args->scratch + bytes / sizeof(PublishedWord) - 1)
                                         : nullptr};
    if (bytes > 0) TRY_CUDA(cudaMemsetAsync(args->scratch, PUBLISHED_EMPTY_BYTE, bytes, (cudaStream_t)args->stream));
    const LaunchShape shape = {dim3(of.across * of.parts), dim3(threads_of(args)), 0, args->stream};
    return view.reset ? launch(columns_kernel<T, true>, shape, of) : launch(columns_kernel<T, false>, shape, of);
}

static Status run(const VariantArgs *args) {
    if (columns_batch(args) == 0) return STATUS_OK;
    return with_storage(args, [args]<typename T>() { return run_columns<T>(args); });
}

static bool supports(const VariantArgs *args, char reason[REASON_MAX]) {
    const unsigned threads = tunable_threads(args);
    if (params_choice(&args->problem->params, "layout") == 0)
        return variant_refuse(reason, "layout=row_major: this variant is for time_major");
    if (discount_gamma_per(args) != DISCOUNT_GAMMA_ELEMENT) return variant_refuse(reason, "gamma_per=element is supported");
    if (threads % 64 != 0) return variant_refuse(reason, "threads=%u is no multiple of 64", threads);
    return discount_fits_grid(args, tiles_across(args) * tiles_below(args), reason);
}

static const ParamSpec TUNABLES[] = {
    {"threads", "threads of a block, a multiple of 64; 0: by the length of a column", PARAM_INT, "0", 0, GATE_THREADS_MAX, NULL},
    {},
};
static const char *const OPTIONS[] = {"layout", "state", NULL};

RUNGS_VARIANT(discounted_cumsum, cuda_column_tiles) = {
    .backend = BACKEND_CUDA,
    .summary = "layout=time_major: tiles of columns, whose maps go down in groups",
    .origin = "Merrill and Garland 2016, decoupled look-back",
    .tunables = TUNABLES,
    .dtypes = STORAGE_TYPES,
    .options = OPTIONS,
    .supports = supports,
    .scratch_bytes = scratch_bytes,
    .run = run,
};
