/* Idea: layout=time_major, x[T, D] with D contiguous, as models with gates have it: sums go down the columns. A lane has one column
 * (f16, bf16: two) and STEPS positions below each other, all of whose loads are under way at once; a warp has 32 lanes side by
 * side, so that a load is 128 bytes in a row (f64: 256); the warps of a block are below each other. A lane composes the maps of its
 * positions, and warps exchange them by shared memory: no shuffles. Of tiles below each other TOGETHER are a group: each publishes
 * its map, the last one the sum that leaves the group. What enters a tile follows from the maps above it in its group, so that few
 * tiles wait for one another: T / 2048 in a column, of 16 positions in a lane T / 1024. Progress: a block takes its tile from a
 * counter when it starts, so the tiles before it belong to blocks that have started.
 * Traffic: x and gamma (and reset, states) once in, y once out; a map for each column of a tile, emptied by a memset before.
 * Rounding: all in the dtype (f16 and bf16: in float); depth n. The same bits each time.
 * Limits: layout=time_major, a discount for each element. Loads of an element each where D is odd in f16 and bf16. After a sum beyond
 *   the range, later ones may be finite.
 * Origin: Merrill and Garland 2016, Single-pass parallel prefix scan with decoupled look-back, with groups in place of the look-back. */
#include "common/discounted_cumsum/gates.cuh"
#include "common/published.cuh"

#include <type_traits>

constexpr unsigned TOGETHER = 8 /* tiles of a group */, COLUMN_THREADS_MAX = 256, COLUMN_WARPS_MAX = COLUMN_THREADS_MAX / WARP;
template <typename T> constexpr unsigned SIDE = sizeof(T) == 2 ? 2 : 1; /* columns of a lane */
template <typename T> constexpr unsigned COLUMNS = WARP *SIDE<T>;       /* of a tile */

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
    bool packed;            /* a lane's columns are aligned, and there are none without the others */
    PublishedWord *maps;    /* [parts][across][columns of a tile] */
    unsigned *started;      /* blocks, less one; at first all bits are one */
};

template <typename T> struct ColumnShared {
    SumOf<T> a[COLUMN_WARPS_MAX][COLUMNS<T>], b[COLUMN_WARPS_MAX][COLUMNS<T>]; /* the map of each warp */
    SumOf<T> above_a[TOGETHER][COLUMNS<T>], above_b[TOGETHER][COLUMNS<T>];     /* maps of tiles above */
};

/* Where a lane is. */
template <typename T, unsigned STEPS> struct ColumnPlace {
    unsigned part, beside, warp, at; /* at: its first column in the tile */
    size_t position, column;

    __device__ ColumnPlace(const ColumnsView<T> &of, unsigned number)
        : part(number / of.across), beside(number % of.across), warp(threadIdx.x / WARP), at(threadIdx.x % WARP * SIDE<T>),
          position(((size_t)part * (blockDim.x / WARP) + warp) * STEPS), column((size_t)beside * COLUMNS<T> + at) {}
    __device__ long long offset(const ColumnsView<T> &of) const {
        return of.first + (long long)position * of.step + (long long)column;
    }
    __device__ bool is_whole(const ColumnsView<T> &of) const { return of.packed && position + STEPS <= of.n && column < of.batch; }
    __device__ bool holds(const ColumnsView<T> &of, unsigned s, unsigned k) const {
        return position + s < of.n && column + k < of.batch;
    }
};

/* A position of a lane. */
template <typename T> using LaneWord = GateVector<T, SIDE<T> * sizeof(T) / 4>;
template <typename T> using LanePack = Pack<unsigned, SIDE<T> * sizeof(T) / 4>; /* one load or store */

/* What a lane has in registers: positions that are none are identities. */
template <typename T, unsigned STEPS> struct ColumnSteps {
    LaneWord<T> x[STEPS], factor[STEPS]; /* RESETS: factor of a reset: a cut */
};

template <typename T, unsigned STEPS>
static __device__ void load_words(const ColumnsView<T> &of, const ColumnPlace<T, STEPS> &place, const T *from, T otherwise,
                                  LaneWord<T> (&words)[STEPS]) {
    const T *const at = from + place.offset(of);
    if (place.is_whole(of)) {
#pragma unroll
        for (unsigned s = 0; s < STEPS; s++) {
            const LanePack<T> pack = *(const LanePack<T> *)(at + (long long)s * of.step);
            memcpy(words[s].words, pack.at, sizeof pack);
        }
        return;
    }
#pragma unroll
    for (unsigned s = 0; s < STEPS; s++) {
        words[s] = {};
#pragma unroll
        for (unsigned k = 0; k < SIDE<T>; k++) words[s].put(k, place.holds(of, s, k) ? at[(long long)s * of.step + k] : otherwise);
    }
}

/* A bit for each element of a lane: is it reset? Position by position, and in it column by column. */
template <typename T, unsigned STEPS>
static __device__ unsigned long long load_resets(const ColumnsView<T> &of, const ColumnPlace<T, STEPS> &place) {
    typedef std::conditional_t<SIDE<T> == 2, unsigned short, unsigned char> Flags;
    const unsigned char *const at = of.reset + place.offset(of);
    Flags flags[STEPS] = {};
#pragma unroll
    for (unsigned s = 0; s < STEPS; s++) {
        const unsigned char *const here = at + (long long)s * of.step;
        if (place.is_whole(of)) flags[s] = *(const Flags *)here;
#pragma unroll
        for (unsigned k = 0; k < SIDE<T>; k++)
            if (!place.is_whole(of) && place.holds(of, s, k)) flags[s] |= (Flags)(here[k] << 8 * k);
    }
    unsigned long long resets = 0;
#pragma unroll
    for (unsigned s = 0; s < STEPS; s++)
#pragma unroll
        for (unsigned k = 0; k < SIDE<T>; k++)
            if (flags[s] >> 8 * k & 0xff) resets |= 1ull << (s * SIDE<T> + k);
    return resets;
}

template <bool RESETS, typename T, unsigned STEPS>
static __device__ void load_steps(const ColumnsView<T> &of, const ColumnPlace<T, STEPS> &place, ColumnSteps<T, STEPS> *steps) {
    load_words(of, place, of.x, (T)0, steps->x);
    load_words(of, place, of.gamma, (T)1, steps->factor);
    if (!RESETS) return;
    const unsigned long long resets = load_resets(of, place);
#pragma unroll
    for (unsigned s = 0; s < STEPS; s++)
#pragma unroll
        for (unsigned k = 0; k < SIDE<T>; k++) {
            const bool cut = resets >> (s * SIDE<T> + k) & 1;
            const SumOf<T> factor = wide(steps->factor[s].element(k));
            steps->factor[s].put(k, (T)(cut ? affine_cut<SumOf<T>>() : affine_factor(factor)));
        }
}

/* The map of column k of a lane. A product in the normal range was never stopped at its ends, and has met no cut: where it is not,
 * all is done as Affine does it. */
template <bool RESETS, typename T, unsigned STEPS>
static __device__ Affine<SumOf<T>> compose(const ColumnSteps<T, STEPS> &steps, unsigned k) {
    typedef SumOf<T> Sum;
    constexpr Sum LEAST = sizeof(Sum) == 4 ? (Sum)0x1p-126 : (Sum)0x1p-1022;
    Sum a = 1, b = 0;
#pragma unroll
    for (unsigned s = 0; s < STEPS; s++) {
        const Sum factor = wide(steps.factor[s].element(k));
        b = factor * b + wide(steps.x[s].element(k));
        a *= factor;
    }
    if (fabs(a) >= LEAST && fabs(a) <= AffineRange<Sum>::LARGEST) return {a, b};
    Affine<Sum> map;
#pragma unroll
    for (unsigned s = 0; s < STEPS; s++) {
        const Sum factor = wide(steps.factor[s].element(k));
        map.merge({RESETS ? factor : affine_factor(factor), wide(steps.x[s].element(k))});
    }
    return map;
}

/* How many maps above a tile lead to what enters it: those of its group, and the sum that leaves the group before. */
static __device__ unsigned maps_above(unsigned part) {
    return part < TOGETHER ? part : part % TOGETHER + 1;
}

/* By all threads: the tile's map for those below it, then the maps above to shared memory. */
template <typename T, unsigned STEPS>
static __device__ void exchange(const ColumnsView<T> &of, const ColumnPlace<T, STEPS> &place, ColumnShared<T> *shared) {
    typedef Affine<SumOf<T>> Map;
    constexpr unsigned WORDS = sizeof(Map) / sizeof(PublishedWord);
    const unsigned warps = blockDim.x / WARP, count = maps_above(place.part);
    const size_t line = (size_t)of.across * COLUMNS<T>, first = (size_t)place.beside * COLUMNS<T>;
    if (place.warp == warps - 1 && place.part + 1 < of.parts && place.part % TOGETHER != TOGETHER - 1) {
#pragma unroll
        for (unsigned k = 0; k < SIDE<T>; k++) {
            Map total;
            for (unsigned w = 0; w < warps; w++) total.merge({shared->a[w][place.at + k], shared->b[w][place.at + k]});
            publish_words(of.maps + (place.part * line + place.column + k) * WORDS, 1, total);
        }
    }
    for (unsigned i = threadIdx.x; i < count * COLUMNS<T>; i += blockDim.x) {
        const unsigned above = i / COLUMNS<T>, column = i % COLUMNS<T>;
        Map map;
        while (!published_words(of.maps + ((place.part - count + above) * line + first + column) * WORDS, 1, &map)) continue;
        shared->above_a[above][column] = map.a, shared->above_b[above][column] = map.b;
    }
    __syncthreads();
}

/* The sum that enters column k of a lane. The last warp passes on what leaves the tile. */
template <typename T, unsigned STEPS>
static __device__ SumOf<T> enter(const ColumnsView<T> &of, const ColumnPlace<T, STEPS> &place, unsigned k,
                                 const ColumnShared<T> &shared) {
    typedef Affine<SumOf<T>> Map;
    constexpr unsigned WORDS = sizeof(Map) / sizeof(PublishedWord);
    const unsigned column = place.at + k;
    const bool has_state = of.initial && place.column + k < of.batch;
    SumOf<T> sum = has_state ? of.initial[place.column + k] : 0;
    for (unsigned i = 0; i < maps_above(place.part); i++) sum = Map{shared.above_a[i][column], shared.above_b[i][column]}.of(sum);
    for (unsigned w = 0; w < place.warp; w++) sum = Map{shared.a[w][column], shared.b[w][column]}.of(sum);
    if (place.warp < blockDim.x / WARP - 1) return sum;
    const SumOf<T> leaves = Map{shared.a[place.warp][column], shared.b[place.warp][column]}.of(sum);
    if (place.part + 1 == of.parts) {
        if (has_state) of.final[place.column + k] = leaves;
    } else if (place.part % TOGETHER == TOGETHER - 1) {
        const size_t line = (size_t)of.across * COLUMNS<T>;
        publish_words(of.maps + (place.part * line + place.column + k) * WORDS, 1, Map{affine_cut<SumOf<T>>(), leaves});
    }
    return sum;
}

template <bool RESETS, typename T, unsigned STEPS>
static __device__ void write_steps(const ColumnsView<T> &of, const ColumnPlace<T, STEPS> &place, const ColumnSteps<T, STEPS> &steps,
                                   SumOf<T> (&sum)[SIDE<T>]) {
    typedef SumOf<T> Sum;
    T *const begin = of.y + place.offset(of);
    const bool whole = place.is_whole(of);
#pragma unroll
    for (unsigned s = 0; s < STEPS; s++) {
        T *const to = begin + (long long)s * of.step;
        LaneWord<T> out = {};
#pragma unroll
        for (unsigned k = 0; k < SIDE<T>; k++) {
            const Sum factor = wide(steps.factor[s].element(k)), x = wide(steps.x[s].element(k));
            sum[k] = RESETS ? discount_step(factor, sum[k], x) : factor * sum[k] + x;
            out.put(k, (T)sum[k]);
        }
        LanePack<T> pack;
        memcpy(pack.at, out.words, sizeof pack);
        if (whole) *(LanePack<T> *)to = pack;
#pragma unroll
        for (unsigned k = 0; k < SIDE<T>; k++)
            if (!whole && place.holds(of, s, k)) to[k] = out.element(k);
    }
}

/* Of a multiprocessor, which has 64 Ki registers. */
template <typename T, unsigned STEPS> constexpr unsigned BLOCKS = STEPS * sizeof(LaneWord<T>) > 64 ? 2 : 3;

template <typename T, unsigned STEPS, bool RESETS>
static __global__ void __launch_bounds__(COLUMN_THREADS_MAX, BLOCKS<T, STEPS>)
    columns_kernel(const __grid_constant__ ColumnsView<T> of) {
    __shared__ ColumnShared<T> shared;
    __shared__ unsigned number;
    if (of.parts > 1) {
        if (threadIdx.x == 0) number = atomicAdd(of.started, 1u) + 1;
        __syncthreads();
    }
    const ColumnPlace<T, STEPS> place(of, of.parts > 1 ? number : blockIdx.x);
    ColumnSteps<T, STEPS> steps;
    load_steps<RESETS>(of, place, &steps);
#pragma unroll
    for (unsigned k = 0; k < SIDE<T>; k++) {
        const Affine<SumOf<T>> map = compose<RESETS>(steps, k);
        shared.a[place.warp][place.at + k] = map.a, shared.b[place.warp][place.at + k] = map.b;
    }
#pragma unroll
    for (unsigned s = 0; s < STEPS; s++) steps.x[s].stay_packed(), steps.factor[s].stay_packed();
    __syncthreads();
    if (of.parts > 1) exchange(of, place, &shared);
    SumOf<T> sum[SIDE<T>];
#pragma unroll
    for (unsigned k = 0; k < SIDE<T>; k++) sum[k] = enter(of, place, k, shared);
    write_steps<RESETS>(of, place, steps, sum);
}

/* ---- Host. */
static size_t columns_n(const VariantArgs *args) {
    return args->in[0].shape[0];
}
static size_t columns_batch(const VariantArgs *args) {
    return args->in[0].shape[1];
}
static unsigned steps_of(const VariantArgs *args) {
    const unsigned steps = (unsigned)params_int(args->tunables, "steps");
    const bool short_steps = discount_is_f64(args) || discount_has_reset(args) || columns_n(args) <= COLUMN_WARPS_MAX * 16;
    return steps > 0 ? steps : short_steps ? 16 : 32;
}
static unsigned threads_of(const VariantArgs *args) {
    const unsigned threads = tunable_threads(args), steps = steps_of(args);
    const size_t n = columns_n(args);
    return threads > 0 ? threads : n <= 2 * steps ? 64 : n <= 4 * steps ? 128 : 256;
}
static size_t columns_of_tile(const VariantArgs *args) {
    return dtype_size(args->problem->dtype) == 2 ? COLUMNS<__half> : COLUMNS<float>;
}
static size_t tiles_across(const VariantArgs *args) {
    return divide_up(columns_batch(args), columns_of_tile(args));
}
/* Also of a column without elements, whose state is to be moved. */
static size_t tiles_below(const VariantArgs *args) {
    const size_t parts = divide_up(columns_n(args), threads_of(args) / WARP * steps_of(args));
    return parts > 0 ? parts : 1;
}
/* A map for each column of a tile, and the counter. */
static size_t scratch_bytes(const VariantArgs *args) {
    const size_t map = discount_is_f64(args) ? sizeof(Affine<double>) : sizeof(Affine<float>);
    if (tiles_below(args) == 1) return 0;
    return tiles_below(args) * tiles_across(args) * columns_of_tile(args) * map + sizeof(PublishedWord);
}

template <typename T> static Status launch_columns(const VariantArgs *args, const ColumnsView<T> &of) {
    const LaunchShape shape = {dim3(of.across * of.parts), dim3(threads_of(args)), 0, args->stream};
    if (of.reset) return launch(columns_kernel<T, 16, true>, shape, of);
    if constexpr (sizeof(T) <= 4)
        if (steps_of(args) == 32) return launch(columns_kernel<T, 32, false>, shape, of);
    return launch(columns_kernel<T, 16, false>, shape, of);
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
                               SIDE<T> == 1 || (discount_is_packed(args) && batch % SIDE<T> == 0),
                               (PublishedWord *)args->scratch,
                               bytes > 0 ? (unsigned *)((PublishedWord *)args->scratch + bytes / sizeof(PublishedWord) - 1)
                                         : nullptr};
    if (bytes > 0) TRY_CUDA(cudaMemsetAsync(args->scratch, PUBLISHED_EMPTY_BYTE, bytes, (cudaStream_t)args->stream));
    return launch_columns(args, of);
}

static Status run(const VariantArgs *args) {
    if (columns_batch(args) == 0) return STATUS_OK;
    return with_storage(args, [args]<typename T>() { return run_columns<T>(args); });
}

static bool supports(const VariantArgs *args, char reason[REASON_MAX]) {
    const unsigned threads = tunable_threads(args), steps = (unsigned)params_int(args->tunables, "steps");
    if (params_choice(&args->problem->params, "layout") == 0)
        return variant_refuse(reason, "layout=row_major: this variant is for time_major");
    if (discount_gamma_per(args) != DISCOUNT_GAMMA_ELEMENT) return variant_refuse(reason, "gamma_per=element is supported");
    if (threads % WARP != 0) return variant_refuse(reason, "threads=%u is no multiple of 32", threads);
    if (steps % 16 != 0) return variant_refuse(reason, "steps=%u: 16 and 32 are supported", steps);
    if (steps == 32 && (discount_is_f64(args) || discount_has_reset(args)))
        return variant_refuse(reason, "steps=32: f64 and cases with resets have 16");
    return discount_fits_grid(args, tiles_across(args) * tiles_below(args), reason);
}

static const ParamSpec TUNABLES[] = {
    {"threads", "threads of a block, a multiple of 32; 0: by the length of a column", PARAM_INT, "0", 0, COLUMN_THREADS_MAX, NULL},
    {"steps", "positions of a lane, 16 or 32; 0: 16, or in columns of more than 128 32, but 16 in f64 and with resets", PARAM_INT,
     "0", 0, 32, NULL},
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
