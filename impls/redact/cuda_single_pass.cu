/* Idea: one pass and one wait-free call. A block takes a tile of rows: it stages the tile's names and visibilities in shared memory
 * by bulk copies, and each thread makes its 8 rows once, in registers: up to 13 bytes a row. The tile's size goes to the agent
 *   (_agent.cuh), a block that turns sizes into positions while other tiles work. Meanwhile the rows are put together in shared
 *   memory, over the input they no longer need, and leave it in stores of 16 bytes. The host allocates the most that the output
 *   can be, names and 5 bytes a row, and leaves the count on the device: it never waits, unless int32 offsets might not hold
 *   that much.
 * Traffic: each byte of the work model once; 8 + 128 bytes a tile of 768 rows beside it. 1 kernel and a memset of as many; 2
 *   allocations (offsets, bytes), 3 with validity. The column's bytes have more room than they need.
 * Rounding: none; exact.
 * Limits: fast for rows that fit a vector of 16 bytes when redacted: the space among the first 12 bytes, an initial of one byte.
 *   Other rows of a staged tile are made byte by byte by one thread, from global memory. Tiles that do not fit their shared
 *   memory, in or out, are made by a warp for each row, in two passes over the tile.
 * Origin: ours; single-pass offsets after Merrill and Garland 2016, decoupled look-back. */
#include "_agent.cuh"
#include "_offsets.cuh"
#include "_stage.cuh"
#include "_words.cuh"
#include "common/device_limits.cuh"

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
enum { TILE_BLOCKS = 10 /* of an SM: 1024 threads */ };
#else
enum { TILE_BLOCKS = 12 };
#endif
enum { TILE_THREADS = 96, TILE_WARPS = TILE_THREADS / 32, THREAD_ROWS = 8 };
enum {
    TILE_ROWS = TILE_THREADS * THREAD_ROWS,
    OUT_SLACK = 48 /* bytes of zeros behind the output */
};
constexpr size_t STAGE_LEAST = 8192, STAGE_MOST = 49152; /* shared bytes of a tile */
static_assert(STAGE_LEAST >= TILE_ROWS * sizeof(ByteCount), "a tile's sizes fit where its bytes would be");

static const ParamSpec TUNABLES[] = {MEMORY_TUNABLE, {}};

template <typename O> struct SinglePass {
    StringsView<O> names, visibilities;
    size_t names_count, visibilities_count; /* bytes of the arrays */
    StringsColumn<O> out;
    unsigned long long *count; /* receives the output's bytes */
    unsigned stage_bytes;
    Agent agent;
};

/* Offsets of this thread's rows and the one behind them, modulo 2^32; past the last row the last offset. All lanes take part. */
template <typename O> static __device__ inline void load_offsets(const O *offsets, size_t rows, size_t row, unsigned *out) {
    constexpr unsigned PACK = 16 / sizeof(O);
    struct alignas(16) Pack {
        O v[PACK];
    };
    if (row + THREAD_ROWS <= rows) {
#pragma unroll
        for (unsigned j = 0; j < THREAD_ROWS; j += PACK) {
            const Pack pack = *(const Pack *)(offsets + row + j);
#pragma unroll
            for (unsigned k = 0; k < PACK; k++) out[j + k] = (unsigned)pack.v[k];
        }
    } else {
#pragma unroll
        for (unsigned j = 0; j < THREAD_ROWS; j++) out[j] = (unsigned)offsets[row + j < rows ? row + j : rows];
    }
    out[THREAD_ROWS] = __shfl_down_sync(0xffffffffu, out[0], 1);
    if (threadIdx.x % 32 == 31) out[THREAD_ROWS] = (unsigned)offsets[row + THREAD_ROWS < rows ? row + THREAD_ROWS : rows];
}

/* Validity of this thread's rows as bits; 0 past the last. Rows of a thread begin with a multiple of 8. */
template <typename O> static __device__ inline unsigned load_validity(const SinglePass<O> &pass, size_t row) {
    const size_t rows = pass.names.rows;
    if (row >= rows) return 0;
    unsigned bits = rows - row < 8 ? (1u << (rows - row)) - 1 : 0xffu;
    if (pass.names.validity) bits &= pass.names.validity[row / 8];
    if (pass.visibilities.validity) bits &= pass.visibilities.validity[row / 8];
    return bits;
}

/* Of a block. */
struct Tile {
    size_t tile, rows_begin, rows, position;
    bool is_placed;     /* position is known */
    StagePart parts[2]; /* names, visibilities */
    unsigned base[2];   /* offsets of the parts' first bytes, modulo 2^32 */
    bool staged;        /* they fit */
};

template <typename O> struct TileExtents { O begin[2], end[2]; };
template <typename O> static __device__ inline TileExtents<O> tile_extents(const SinglePass<O> &pass, size_t tile) {
    const size_t rows = pass.names.rows, begin = tile * TILE_ROWS < rows ? tile * TILE_ROWS : rows;
    const size_t end = begin + TILE_ROWS < rows ? begin + TILE_ROWS : rows;
    return {{pass.names.offsets[begin], pass.visibilities.offsets[begin]},
            {pass.names.offsets[end], pass.visibilities.offsets[end]}};
}

/* One thread: the tile's bytes begin to arrive. */
template <typename O>
static __device__ inline void tile_begin(const SinglePass<O> &pass, size_t tile, unsigned char *stage, unsigned long long *barrier,
                                         Tile *out) {
    const TileExtents<O> extents = tile_extents(pass, tile);
    const size_t begin = tile * TILE_ROWS, left = pass.names.rows - begin;
    out->tile = tile;
    out->rows_begin = begin;
    out->rows = left < TILE_ROWS ? left : TILE_ROWS;
    bool fits = true;
    const StagePart parts[2] = {
        stage_part(pass.names.chars, pass.names_count, (size_t)extents.begin[0], (size_t)extents.end[0], pass.stage_bytes, &fits),
        stage_part(pass.visibilities.chars, pass.visibilities_count, (size_t)extents.begin[1], (size_t)extents.end[1],
                   pass.stage_bytes, &fits)};
    const size_t behind = parts[0].bytes() + STAGE_PAD;
    fits = fits && behind + parts[1].bytes() + STAGE_PAD <= pass.stage_bytes;
    unsigned char *const shared[2] = {stage, stage + behind};
    if (fits) stage_begin(parts, shared, barrier);
    out->staged = fits;
    for (int i = 0; i < 2; i++) {
        out->parts[i] = parts[i];
        out->base[i] = (unsigned)extents.begin[i] - parts[i].skip;
    }
}

/* Bytes of the block's threads before this one; *all: of the block. Ends with the threads past one barrier. */
static __device__ inline unsigned block_bytes_before(unsigned own, unsigned *totals, unsigned *all) {
    const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    unsigned through = own, before = 0;
    for (unsigned distance = 1; distance < 32; distance *= 2) {
        const unsigned other = __shfl_up_sync(0xffffffffu, through, distance);
        if (lane >= distance) through += other;
    }
    if (lane == 31) totals[warp] = through;
    __syncthreads();
    *all = 0;
#pragma unroll
    for (unsigned w = 0; w < TILE_WARPS; w++) {
        if (w < warp) before += totals[w];
        *all += totals[w];
    }
    return before + through - own;
}

/* By one thread. */
static __device__ __noinline__ unsigned long_size(StringSpan name) {
    const RedactedRow row = redacted_public(name, find_space(name));
    return (unsigned)redacted_size(&row);
}
static __device__ __noinline__ void put_public(unsigned char *to, StringSpan name) {
    const RedactedRow row = redacted_public(name, find_space(name));
    to = string_copy(to, row.initial);
    *to++ = ' ';
    string_copy(to, row.rest);
}

/* By all threads of a block that has polled long: its position from the rows before it. */
template <typename O> static __device__ __noinline__ void place_again(const SinglePass<O> &pass, Tile *tile, ByteCount *totals) {
    ByteCount own = {}, all;
    for (size_t r = threadIdx.x; r < tile->rows_begin; r += TILE_THREADS) {
        if (!pass.names.valid(r) || !pass.visibilities.valid(r)) continue;
        const StringSpan name = pass.names.span(r);
        own.n += string_is_public(pass.visibilities.span(r)) ? long_size(name) : (unsigned long long)REDACTED_HIDDEN_BYTES;
    }
    block_scan_exclusive<true>(own, totals, &all);
    if (threadIdx.x == 0) tile->position = (size_t)all.n;
    __syncthreads();
}

/* A thread's offsets; behind the last row the last one, and the count. Rows past the last have no bytes. */
template <typename O>
static __device__ inline void store_offsets(const SinglePass<O> &pass, size_t row, size_t begin, const RowWords *words) {
    const size_t rows = pass.names.rows;
    if (row >= rows) return;
    constexpr unsigned PACK = 16 / sizeof(O);
    struct alignas(16) Pack {
        O v[PACK];
    };
#pragma unroll
    for (unsigned j = 0; j < THREAD_ROWS; j += PACK) {
        Pack pack;
#pragma unroll
        for (unsigned k = 0; k < PACK; k++) {
            pack.v[k] = (O)begin;
            begin += row_size(words[j + k]);
            if (row + j + k < rows && row + THREAD_ROWS > rows) pass.out.offsets[row + j + k] = pack.v[k];
        }
        if (row + THREAD_ROWS <= rows) *(Pack *)(pass.out.offsets + row + j) = pack;
    }
    if (row + THREAD_ROWS < rows) return;
    pass.out.offsets[rows] = (O)begin;
    *pass.count = begin;
}

/* ---- A tile of long rows: a warp takes a row, then the one behind those of all warps. */
template <typename O> static __device__ RedactedRow warp_row(const SinglePass<O> &pass, size_t row) {
    const StringSpan name = pass.names.span(row);
    return string_is_public(pass.visibilities.span(row)) ? redacted_public(name, warp_find_space(name)) : redacted_hidden(name);
}

/* sizes: shared, [TILE_ROWS]; they become the bytes of the tile before each row. */
template <typename O>
static __device__ __noinline__ void tile_by_warps(const SinglePass<O> &pass, Tile *tile, ByteCount *sizes, ByteCount *totals) {
    const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const size_t begin = tile->rows_begin, rows = tile->rows;
    __syncthreads(); /* sizes lie where bytes may have been */
    for (size_t r = warp; r < rows; r += TILE_WARPS) {
        size_t size = 0;
        if (pass.names.valid(begin + r) && pass.visibilities.valid(begin + r)) {
            const RedactedRow row = warp_row(pass, begin + r);
            size = redacted_size(&row);
        }
        if (lane == 0) sizes[r].n = size;
    }
    __syncthreads();
    const size_t first = threadIdx.x * THREAD_ROWS;
    ByteCount own = {}, all;
    for (size_t r = first; r < first + THREAD_ROWS && r < rows; r++) own.n += sizes[r].n;
    ByteCount before = block_scan_exclusive<true>(own, totals, &all);
    for (size_t r = first; r < first + THREAD_ROWS && r < rows; r++) {
        const unsigned long long size = sizes[r].n;
        sizes[r].n = before.n;
        before.n += size;
    }
    if (threadIdx.x == 0) {
        agent_publish(pass.agent, tile->tile, (size_t)all.n);
        tile->is_placed = agent_position(pass.agent, tile->tile, &tile->position);
    }
    __syncthreads();
    if (!tile->is_placed) place_again(pass, tile, totals);
    for (size_t r = threadIdx.x; r < rows; r += TILE_THREADS) pass.out.offsets[begin + r] = (O)(tile->position + sizes[r].n);
    if (threadIdx.x == 0 && begin + rows == pass.names.rows) {
        pass.out.offsets[begin + rows] = (O)(tile->position + all.n);
        *pass.count = tile->position + all.n;
    }
    for (size_t r = warp; r < rows; r += TILE_WARPS)
        if (pass.names.valid(begin + r) && pass.visibilities.valid(begin + r))
            warp_write(pass.out.chars + tile->position + sizes[r].n, warp_row(pass, begin + r));
}

template <typename O>
static __global__ void __launch_bounds__(TILE_THREADS, TILE_BLOCKS) redact_kernel(const __grid_constant__ SinglePass<O> pass) {
    DYN_SHARED(unsigned char, stage);
    __shared__ Tile tile;
    __shared__ AgentCarry carry;
    __shared__ unsigned totals[TILE_WARPS];
    __shared__ ByteCount long_totals[TILE_WARPS];
    __shared__ unsigned long long barrier;
    if (blockIdx.x == 0) {
        if (threadIdx.x == 0 && pass.names.rows == 0) pass.out.offsets[0] = 0, *pass.count = 0;
        if (threadIdx.x == 0) carry = {0, 0};
        __syncthreads();
        agent_run(pass.agent, &carry);
        return;
    }
    if (threadIdx.x == 0) tile_begin(pass, blockIdx.x - 1, stage, &barrier, &tile);
    const size_t row = (size_t)(blockIdx.x - 1) * TILE_ROWS + threadIdx.x * THREAD_ROWS;
    unsigned name[THREAD_ROWS + 1], visibility[THREAD_ROWS + 1];
    load_offsets(pass.names.offsets, pass.names.rows, row, name);
    load_offsets(pass.visibilities.offsets, pass.names.rows, row, visibility);
    __syncthreads();
    const unsigned valid = load_validity(pass, row);
    if (pass.out.validity && row < pass.names.rows) pass.out.validity[row / 8] = (unsigned char)valid;
    if (!tile.staged) return tile_by_warps(pass, &tile, (ByteCount *)stage, long_totals);

    unsigned char *const shared[2] = {stage, stage + tile.parts[0].bytes() + STAGE_PAD};
    stage_finish(tile.parts, shared, &barrier);
    const unsigned names_at = 0u - tile.base[0], visibilities_at = (unsigned)(shared[1] - stage) - tile.base[1];
    RowWords words[THREAD_ROWS];
    unsigned own = 0, all;
    bool has_long = false;
#pragma unroll
    for (unsigned j = 0; j < THREAD_ROWS; j++) {
        const bool is_public = staged_public(stage, visibilities_at + visibility[j], visibility[j + 1] - visibility[j]);
        const bool is_valid = valid >> j & 1, wanted = is_valid && is_public;
        words[j] = staged_row(stage, names_at + name[j], name[j + 1] - name[j]);
#pragma unroll
        for (int k = 0; k < 4; k++)
            if (!wanted) words[j].w[k] = !is_valid ? 0 : k == 0 ? 0x582058u /* X X */ : k == 3 ? 3u << 24 : 0;
        has_long = has_long || words[j].w[3] >> 24 == LONG;
    }
    if (has_long) {
#pragma unroll
        for (unsigned j = 0; j < THREAD_ROWS; j++)
            if (words[j].w[3] >> 24 == LONG) words[j].w[0] = long_size({stage + (names_at + name[j]), name[j + 1] - name[j]});
    }
#pragma unroll
    for (unsigned j = 0; j < THREAD_ROWS; j++) own += row_size(words[j]);
    const unsigned before = block_bytes_before(own, totals, &all);
    if (all + OUT_SLACK > pass.stage_bytes) return tile_by_warps(pass, &tile, (ByteCount *)stage, long_totals);
    if (threadIdx.x == 0) agent_publish(pass.agent, tile.tile, all);
    for (unsigned i = threadIdx.x * 16; i < all + OUT_SLACK - 16; i += TILE_THREADS * 16)
        *(uint4 *)(stage + i) = make_uint4(0, 0, 0, 0);
    __syncthreads();
    unsigned at = before;
#pragma unroll
    for (unsigned j = 0; j < THREAD_ROWS; j++) {
        if (words[j].w[3] >> 24 != LONG) put_row(stage, at, words[j]);
        at += row_size(words[j]);
    }
    if (threadIdx.x == 0) tile.is_placed = agent_position(pass.agent, tile.tile, &tile.position);
    const bool any_long = __syncthreads_or(has_long);
    if (!tile.is_placed) return tile_by_warps(pass, &tile, (ByteCount *)stage, long_totals);
    if (any_long) {
        at = before;
#pragma unroll
        for (unsigned j = 0; j < THREAD_ROWS; j++) { /* from global memory: the staged bytes are gone */
            if (words[j].w[3] >> 24 == LONG) put_public(stage + at, pass.names.span(row + j));
            at += row_size(words[j]);
        }
        __syncthreads();
    }
    store_offsets(pass, row, tile.position + before, words);
    copy_out(pass.out.chars + tile.position, stage, all);
}

/* ---- Host. */
static size_t tile_count(const VariantArgs *args) {
    return divide_up(args->in[0].shape[0] - 1, TILE_ROWS);
}

/* Shared bytes of a tile: what its rows take on average and a little more, where that lets several blocks share an SM. */
static unsigned stage_bytes(const VariantArgs *args) {
    const size_t rows = args->in[0].shape[0] - 1, bytes = args->in[1].shape[0] + args->in[4].shape[0];
    const size_t device = device_block_shared_max() - 1024, most = device < STAGE_MOST ? device : STAGE_MOST;
    const size_t average = rows ? bytes / rows * TILE_ROWS + bytes % rows * TILE_ROWS / rows : 0,
                 wanted = divide_up(average + 640, 128) * 128;
    return (unsigned)(wanted < STAGE_LEAST || wanted > most ? STAGE_LEAST : wanted);
}

template <typename O> static Status redact(const VariantArgs *args, StringsColumn<O> *out) {
    SinglePass<O> pass = {};
    pass.names = strings_input<O>(args, 0);
    pass.visibilities = strings_input<O>(args, 3);
    pass.names_count = args->in[1].shape[0];
    pass.visibilities_count = args->in[4].shape[0];
    pass.stage_bytes = stage_bytes(args);
    pass.count = args->counts + 1;
    const size_t most = pass.names_count + REDACTED_GROWTH_MAX * pass.names.rows;
    {
        const StepRange step("allocate");
        TRY(strings_allocate(args, pass.names.rows, pass.names.validity || pass.visibilities.validity, out));
        TRY(strings_allocate_chars(args, most, out));
    }
    const StepRange step("redact");
    pass.out = *out;
    TRY(agent_begin(args, tile_count(args), &pass.agent));
    TRY(launch(redact_kernel<O>, {dim3((unsigned)(1 + tile_count(args))), dim3(TILE_THREADS), pass.stage_bytes, args->stream},
               pass));
    out->bytes = COUNT_ON_DEVICE;
    if (most > (size_t)std::numeric_limits<O>::max()) {
        unsigned long long bytes = 0;
        TRY_CUDA(cudaMemcpyAsync(&bytes, pass.count, sizeof bytes, cudaMemcpyDeviceToHost, (cudaStream_t)args->stream));
        TRY_CUDA(cudaStreamSynchronize((cudaStream_t)args->stream));
        TRY(offsets_check<O>("redacted.chars", bytes));
    }
    strings_hand_over(args, 0, out);
    return STATUS_OK;
}

template <typename O> static Status run_typed(const VariantArgs *args) {
    StringsColumn<O> out;
    const Status status = redact(args, &out);
    strings_release(args, &out); /* after success it has nothing any more */
    return status;
}

static Status run(const VariantArgs *args) {
    return args->problem->dtype == DTYPE_I64 ? run_typed<int64_t>(args) : run_typed<int32_t>(args);
}

static size_t scratch_bytes(const VariantArgs *args) {
    return agent_scratch_bytes(tile_count(args));
}

static bool supports(const VariantArgs *args, char reason[REASON_MAX]) {
    if (tile_count(args) < GRID_BLOCKS_MAX) return true;
    return variant_refuse(reason, "rows=%zu: a grid has %zu blocks of %d rows at most", args->in[0].shape[0] - 1, GRID_BLOCKS_MAX,
                          TILE_ROWS);
}

static Status configuration(const VariantArgs *args, LaunchNotes *out) {
    launch_note(out, "threads", TILE_THREADS);
    launch_note(out, "blocks", (double)(1 + tile_count(args)));
    launch_note(out, "rows_of_block", TILE_ROWS);
    launch_note(out, "shared_bytes", stage_bytes(args));
    return STATUS_OK;
}

RUNGS_VARIANT(redact, cuda_single_pass) = {
    .backend = BACKEND_CUDA,
    .summary = "one pass: tiles staged in shared memory, positions from an agent block, room for the most, no wait",
    .origin = "ours, after Merrill and Garland 2016",
    .tunables = TUNABLES,
    .supports = supports,
    .scratch_bytes = scratch_bytes,
    .run = run,
    .configuration = configuration,
};
