/* Idea: one pass and one wait-free call. A block takes a tile of rows: it stages the tile's names and visibilities in shared memory
 * by bulk copies, and each thread makes its 8 rows once, in registers: up to 13 bytes a row. The tile's size goes to the agent
 *   (_agent.cuh), a block that turns sizes into positions while other tiles work. Meanwhile each thread puts its rows together in
 *   shared memory, in whole words, over the input they no longer need; they leave it in stores of 16 bytes. The host allocates the
 *   most that the output can be, names and 5 bytes a row, and leaves the count on the device: it never waits, unless int32 offsets
 *   might not hold that much.
 * Traffic: each byte of the work model once; 8 + 128 bytes a tile of 768 rows beside it. 2 kernels, the first clears as many, and the
 *   second begins early (early_launch.cuh); 2 allocations (offsets, bytes), 3 with validity. The column's bytes have more
 *   room than they need.
 * Rounding: none; exact.
 *   Columns of long rows have tiles of 8 to 64 rows that are not staged.
 * Limits: fast for rows that fit a vector of 16 bytes when redacted: the space among the first 12 bytes, an initial of one byte.
 *   Tiles with other rows are written by their threads, a word at a time. Tiles that do not fit their shared memory, in or out, are
 *   made by a warp for each row, in two passes over the tile.
 * Origin: ours; single-pass offsets after Merrill and Garland 2016, decoupled look-back. */
#include "_agent.cuh"
#include "_offsets.cuh"
#include "_stage.cuh"
#include "_thread_rows.cuh"
#include "_tile_rows.cuh"
#include "_warp_rows.cuh"
#include "common/device_limits.cuh"

enum {
    TILE_ROWS = 768,
    TILE_THREADS = 96,      /* 8 rows a thread */
    TILE_THREADS_FEW = 192, /* 4, where the device holds all tiles at once */
    OUT_SLACK = 32,         /* bytes behind the output that may be read */
    TILE_SPARE = 1280,      /* bytes above an average tile's: with 10 bytes of deviation a row, one tile of 300,000 has more */
    LONG_THREADS = 256,     /* columns of long rows: threads, rows and names' bytes of a tile */
    LONG_ROWS_MOST = 64,
    LONG_ROWS_LEAST = 8, /* whole bytes of validity */
    LONG_BYTES = 65536
};
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
enum { TILE_BLOCKS = 10, TILE_BLOCKS_FEW = 5 }; /* of an SM: 1024 threads */
#else
enum { TILE_BLOCKS = 13, TILE_BLOCKS_FEW = 8 };
#endif
constexpr size_t STAGE_LEAST = 8192, STAGE_MOST = 48128; /* shared bytes of a tile; 48 KiB with the static ones */
static_assert(STAGE_LEAST >= TILE_ROWS * sizeof(ByteCount), "a tile's sizes fit where its bytes would be");

static const ParamSpec TUNABLES[] = {MEMORY_TUNABLE, {}};

template <typename O> struct SinglePass {
    StringsView<O> names, visibilities;
    size_t names_count, visibilities_count; /* bytes of the arrays */
    StringsColumn<O> out;
    unsigned long long *count; /* receives the output's bytes */
    unsigned stage_bytes, tile_rows;
    Agent agent;
};

/* Of a block: what its first thread finds out. */
struct Tile {
    bool staged;                        /* the tile's bytes fit */
    unsigned names_at, visibilities_at; /* byte of the stage where offset 0 would lie, modulo 2^32 */
    StagePart parts[2];                 /* names, visibilities */
    bool is_placed;                     /* position is known */
    size_t position;
};
static __device__ inline size_t tile_of_block() {
    return (size_t)blockIdx.x - 1;
}
/* The tile's first row, and how many it has. most: what tiles have but for the last. */
static __device__ inline size_t tile_first(size_t most) {
    return tile_of_block() * most;
}
static __device__ inline size_t tile_rows(size_t rows, size_t most) {
    const size_t left = rows - tile_first(most);
    return left < most ? left : most;
}

template <typename O> struct TileExtents { O begin[2], end[2]; };
template <typename O> static __device__ inline TileExtents<O> tile_extents(const SinglePass<O> &pass) {
    const size_t begin = tile_first(TILE_ROWS), end = begin + tile_rows(pass.names.rows, TILE_ROWS);
    return {{pass.names.offsets[begin], pass.visibilities.offsets[begin]},
            {pass.names.offsets[end], pass.visibilities.offsets[end]}};
}

/* One thread: the tile's bytes begin to arrive. */
template <typename O>
static __device__ inline void tile_begin(const SinglePass<O> &pass, const TileExtents<O> &extents, unsigned char *stage,
                                         unsigned long long *barrier, Tile *out) {
    StagePart parts[2];
    const bool names_fit = stage_part(pass.names.chars, pass.names_count, (size_t)extents.begin[0], (size_t)extents.end[0],
                                      pass.stage_bytes, &parts[0]);
    const bool visibilities_fit = stage_part(pass.visibilities.chars, pass.visibilities_count, (size_t)extents.begin[1],
                                             (size_t)extents.end[1], pass.stage_bytes, &parts[1]);
    const bool fits = names_fit && visibilities_fit && parts[0].bytes + parts[1].bytes <= pass.stage_bytes;
    unsigned char *const shared[2] = {stage, stage + parts[0].bytes};
    if (fits) stage_begin(parts, shared, barrier);
    out->staged = fits;
    out->names_at = 0u - (unsigned)extents.begin[0] / STAGE_UNIT * STAGE_UNIT;
    out->visibilities_at = parts[0].bytes - (unsigned)extents.begin[1] / STAGE_UNIT * STAGE_UNIT;
    out->parts[0] = parts[0];
    out->parts[1] = parts[1];
}

/* Bytes of the block's threads before this one; *all: of the block, and ANY_LONG if a thread has long rows: above what fits shared
 * memory. Ends with the threads past one barrier. */
constexpr unsigned ANY_LONG = 1u << 31;
template <unsigned WARPS>
static __device__ inline unsigned block_bytes_before(unsigned own, bool has_long, unsigned *totals, unsigned *all) {
    const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    unsigned through = own, before = 0, sum = 0, flag = 0;
    for (unsigned distance = 1; distance < 32; distance *= 2) {
        const unsigned other = __shfl_up_sync(0xffffffffu, through, distance);
        if (lane >= distance) through += other;
    }
    const unsigned some = __any_sync(0xffffffffu, has_long) ? ANY_LONG : 0;
    if (lane == 31) totals[warp] = through | some;
    __syncthreads();
#pragma unroll
    for (unsigned w = 0; w < WARPS; w++) {
        if (w < warp) before += totals[w];
        sum += totals[w];
        flag |= totals[w];
    }
    *all = (sum & ~ANY_LONG) | (flag & ANY_LONG);
    return (before & ~ANY_LONG) + through - own;
}

/* By one thread. */
static __device__ inline RedactedRow long_row(StringSpan name) {
    return redacted_public(name, find_space(name));
}
template <typename O> static __device__ inline RedactedRow row_of(const SinglePass<O> &pass, size_t r) {
    const StringSpan name = pass.names.span(r);
    return string_is_public(pass.visibilities.span(r)) ? long_row(name) : redacted_hidden(name);
}

/* By all threads of a block that has polled long: its position from the rows before it. */
template <typename O> static __device__ __noinline__ void place_again(const SinglePass<O> &pass, Tile *tile, ByteCount *totals) {
    ByteCount own = {}, all;
    for (size_t r = threadIdx.x; r < tile_first(pass.tile_rows); r += blockDim.x) {
        if (!pass.names.valid(r) || !pass.visibilities.valid(r)) continue;
        const RedactedRow row = row_of(pass, r);
        own.n += redacted_size(&row);
    }
    block_scan_exclusive<true>(own, totals, &all);
    if (threadIdx.x == 0) tile->position = (size_t)all.n;
    __syncthreads();
}

/* Behind the last row: the last offset, and the count. */
template <typename O> static __device__ inline void store_last(const SinglePass<O> &pass, size_t bytes) {
    pass.out.offsets[pass.names.rows] = (O)bytes;
    *pass.count = bytes;
}

/* ---- A tile of long rows: a warp takes a row, then the one behind those of all warps. */
template <typename O> static __device__ bool row_is_valid(const SinglePass<O> &pass, size_t row) {
    return pass.names.valid(row) && pass.visibilities.valid(row);
}
/* space: in: of a public name, or UNKNOWN; out: of a public name. */
constexpr size_t UNKNOWN = ~(size_t)0;
template <bool WIDE, typename O> static __device__ RedactedRow warp_row(const SinglePass<O> &pass, size_t row, size_t *space) {
    const StringSpan name = pass.names.span(row);
    if (!string_is_public(pass.visibilities.span(row))) return redacted_hidden(name);
    if (*space == UNKNOWN) *space = WIDE ? wide_find_space(name) : warp_find_space(name);
    return redacted_public(name, *space);
}

/* sizes: shared, for each row of a tile; they become the bytes of the tile before it. WIDE: with the registers of _warp_rows.cuh,
 * and with room for spaces, so that they are searched once. */
template <bool WIDE, typename O>
static __device__ __noinline__ void tile_by_warps(const SinglePass<O> &pass, Tile *tile, ByteCount *sizes, ByteCount *totals,
                                                  size_t *spaces = nullptr) {
    const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
    const unsigned most = WIDE ? pass.tile_rows : (unsigned)TILE_ROWS, each = (most + blockDim.x - 1) / blockDim.x;
    const size_t begin = tile_first(most), rows = tile_rows(pass.names.rows, most);
    __syncthreads(); /* sizes lie where bytes may have been */
    for (size_t r = warp; r < rows; r += warps) {
        size_t size = 0, space = UNKNOWN;
        if (row_is_valid(pass, begin + r)) {
            const RedactedRow row = warp_row<WIDE>(pass, begin + r, &space);
            size = redacted_size(&row);
        }
        if (lane == 0) sizes[r].n = size;
        if (WIDE && lane == 0) spaces[r] = space;
    }
    __syncthreads();
    const size_t first = threadIdx.x * each;
    ByteCount own = {}, all;
    for (size_t r = first; r < first + each && r < rows; r++) own.n += sizes[r].n;
    ByteCount before = block_scan_exclusive<true>(own, totals, &all);
    for (size_t r = first; r < first + each && r < rows; r++) {
        const unsigned long long size = sizes[r].n;
        sizes[r].n = before.n;
        before.n += size;
    }
    if (threadIdx.x == 0) {
        agent_publish(pass.agent, tile_of_block(), (size_t)all.n);
        tile->is_placed = agent_position(pass.agent, tile_of_block(), &tile->position);
    }
    __syncthreads();
    if (!tile->is_placed) place_again(pass, tile, totals);
    for (size_t r = threadIdx.x; r < rows; r += blockDim.x) pass.out.offsets[begin + r] = (O)(tile->position + sizes[r].n);
    if (threadIdx.x == 0 && begin + rows == pass.names.rows) store_last(pass, tile->position + (size_t)all.n);
    for (size_t r = warp; r < rows; r += warps) {
        size_t space = WIDE ? spaces[r] : UNKNOWN;
        if (!row_is_valid(pass, begin + r)) continue;
        const RedactedRow row = warp_row<WIDE>(pass, begin + r, &space);
        unsigned char *const to = pass.out.chars + tile->position + sizes[r].n;
        if (WIDE)
            wide_write(to, row);
        else
            warp_write(to, row);
    }
}

/* Block 0 of a launch. */
template <typename O> static __device__ inline void be_agent(const SinglePass<O> &pass, Word *carry) {
    if (threadIdx.x == 0) *carry = 0;
    __syncthreads();
    agent_run(pass.agent, carry);
    if (threadIdx.x == 0 && pass.names.rows == 0) store_last(pass, 0);
}

template <typename O>
static __global__ void __launch_bounds__(LONG_THREADS) long_rows_kernel(const __grid_constant__ SinglePass<O> pass) {
    __shared__ Tile tile;
    __shared__ Word carry;
    __shared__ ByteCount totals[LONG_THREADS / 32], sizes[LONG_ROWS_MOST];
    __shared__ size_t spaces[LONG_ROWS_MOST];
    if (blockIdx.x == 0) return be_agent(pass, &carry);
    const size_t rows = pass.names.rows, row = tile_first(pass.tile_rows) + threadIdx.x * 8;
    if (pass.out.validity && threadIdx.x * 8 < tile_rows(rows, pass.tile_rows))
        pass.out.validity[row / 8] = (unsigned char)load_validity<8>(pass.names.validity, pass.visibilities.validity, rows, row);
    tile_by_warps<true>(pass, &tile, sizes, totals, spaces);
}

/* All threads of a block whose tile is staged: their rows, while their offsets are in registers. Returns the sizes. */
template <unsigned ROWS>
static __device__ inline unsigned staged_rows(const unsigned char *stage, const Tile &tile, const unsigned *name,
                                              const unsigned *visibility, unsigned valid, RowWords *words) {
    const unsigned names_at = tile.names_at, visibilities_at = tile.visibilities_at;
    unsigned sizes = 0;
#pragma unroll
    for (unsigned j = 0; j < ROWS; j++) {
        const bool is_public = staged_public(stage, visibilities_at + visibility[j], visibility[j + 1] - visibility[j]);
        unsigned bytes;
        words[j] = staged_row(stage, names_at + name[j], name[j + 1] - name[j], &bytes);
        if (!is_public) words[j].w[0] = 0x580058u /* X X */, bytes = REDACTED_HIDDEN_BYTES;
        sizes |= bytes << SIZE_BITS * j;
    }
    if (valid == (1u << ROWS) - 1) return sizes;
    for (unsigned j = 0; j < ROWS; j++)
        if (!(valid >> j & 1)) sizes &= ~((unsigned)LONG << SIZE_BITS * j);
    return sizes;
}

/* ---- A staged tile with rows that do not fit the words: its threads write to global memory, while the staged bytes stay. */
/* Bytes of a thread that has long rows. */
template <unsigned ROWS, typename O>
static __device__ __noinline__ unsigned long_bytes(const SinglePass<O> &pass, const unsigned char *stage, const Tile *tile,
                                                   unsigned sizes) {
    const size_t row = tile_first(TILE_ROWS) + threadIdx.x * ROWS;
    unsigned bytes = 0;
    for (unsigned j = 0; j < ROWS; j++) {
        if (row_size(sizes, j) == LONG) {
            const unsigned at = tile->names_at + (unsigned)pass.names.offsets[row + j];
            const RedactedRow redacted = staged_public_row(stage, at, (unsigned)pass.names.size(row + j));
            bytes += (unsigned)redacted_size(&redacted);
        } else
            bytes += row_size(sizes, j);
    }
    return bytes;
}

/* before: bytes of the block's threads before this one; all: of the block. */
template <unsigned ROWS, typename O>
static __device__ __noinline__ void tile_by_threads(const SinglePass<O> &pass, const unsigned char *stage, Tile *tile,
                                                    unsigned before, unsigned all, ByteCount *totals) {
    const size_t row = tile_first(TILE_ROWS) + threadIdx.x * ROWS;
    if (threadIdx.x == 0) {
        agent_publish(pass.agent, tile_of_block(), all);
        tile->is_placed = agent_position(pass.agent, tile_of_block(), &tile->position);
    }
    __syncthreads();
    if (!tile->is_placed) place_again(pass, tile, totals);
    size_t at = tile->position + before;
    ByteWriter writer(pass.out.chars + at);
    for (size_t r = row; r < row + ROWS && r < pass.names.rows; r++) {
        pass.out.offsets[r] = (O)at;
        if (!pass.names.valid(r) || !pass.visibilities.valid(r)) continue;
        const unsigned name = tile->names_at + (unsigned)pass.names.offsets[r],
                       visibility = tile->visibilities_at + (unsigned)pass.visibilities.offsets[r];
        if (!staged_public(stage, visibility, (unsigned)pass.visibilities.size(r))) {
            writer.append(0x582058u /* X X */, REDACTED_HIDDEN_BYTES);
            at += REDACTED_HIDDEN_BYTES;
            continue;
        }
        const RedactedRow redacted = staged_public_row(stage, name, (unsigned)pass.names.size(r));
        writer.append_staged(stage, (unsigned)(redacted.initial.bytes - stage), (unsigned)redacted.initial.size);
        writer.append(' ', 1);
        writer.append_staged(stage, name, (unsigned)redacted.rest.size);
        at += redacted_size(&redacted);
    }
    writer.finish();
    if (row < pass.names.rows && row + ROWS >= pass.names.rows) store_last(pass, at);
}

template <typename O, unsigned THREADS>
static __global__ void __launch_bounds__(THREADS, THREADS == TILE_THREADS ? TILE_BLOCKS : TILE_BLOCKS_FEW)
    redact_kernel(const __grid_constant__ SinglePass<O> pass) {
    constexpr unsigned ROWS = TILE_ROWS / THREADS;
    DYN_SHARED(unsigned char, stage);
    __shared__ Tile tile;
    __shared__ Word carry;
    __shared__ unsigned totals[THREADS / 32];
    __shared__ ByteCount long_totals[THREADS / 32];
    __shared__ unsigned long long barrier;
    if (blockIdx.x == 0) return be_agent(pass, &carry);
    /* All loads that need no other are under way before the first is waited for. */
    TileExtents<O> extents = {};
    if (threadIdx.x == 0) extents = tile_extents(pass);
    const size_t rows = pass.names.rows, row = tile_of_block() * TILE_ROWS + threadIdx.x * ROWS;
    unsigned name[ROWS + 1], visibility[ROWS + 1];
    load_offsets<ROWS>(pass.names.offsets, rows, row, name);
    load_offsets<ROWS>(pass.visibilities.offsets, rows, row, visibility);
    if (threadIdx.x == 0) tile_begin(pass, extents, stage, &barrier, &tile);
    share_offsets<ROWS>(name);
    share_offsets<ROWS>(visibility);
    const unsigned valid = load_validity<ROWS>(pass.names.validity, pass.visibilities.validity, rows, row);
    if (pass.out.validity) store_validity<ROWS>(pass.out.validity, rows, row, valid);
    __syncthreads();
    if (!tile.staged) return tile_by_warps<false>(pass, &tile, (ByteCount *)stage, long_totals);
    unsigned char *const shared[2] = {stage, stage + tile.parts[0].bytes};
    stage_finish(tile.parts, shared, &barrier);

    RowWords words[ROWS];
    const unsigned sizes = staged_rows<ROWS>(stage, tile, name, visibility, valid, words);
    const unsigned own = has_long_rows(sizes) ? long_bytes<ROWS>(pass, stage, &tile, sizes) : sizes_sum(sizes);
    unsigned all;
    const unsigned before = block_bytes_before<THREADS / 32>(own, has_long_rows(sizes), totals, &all);
    if (all & ANY_LONG) return tile_by_threads<ROWS>(pass, stage, &tile, before, all & ~ANY_LONG, long_totals);
    if (all + OUT_SLACK > pass.stage_bytes) return tile_by_warps<false>(pass, &tile, (ByteCount *)stage, long_totals);
    if (threadIdx.x == 0) agent_publish(pass.agent, tile_of_block(), all);
    /* A word has one thread that fills it, and stores it. Threads that leave it open add their bytes after the barrier. */
    const unsigned end = before + own;
    const bool is_last = threadIdx.x == THREADS - 1;
    unsigned *const out = (unsigned *)stage, open = put_rows<ROWS>(stage, before, words, sizes);
    if (is_last) out[end / 4] = open;
    __syncthreads();
    if (open && !is_last) atomicOr(out + end / 4, open);
    if (threadIdx.x == 0) tile.is_placed = agent_position(pass.agent, tile_of_block(), &tile.position);
    __syncthreads();
    if (!tile.is_placed) return tile_by_warps<false>(pass, &tile, (ByteCount *)stage, long_totals);
    const size_t begin = tile.position + before;
    store_offsets<ROWS>(pass.out.offsets, rows, row, begin, sizes);
    if (row < rows && row + ROWS >= rows) store_last(pass, begin + own);
    copy_out<THREADS>(pass.out.chars + tile.position, stage, all);
}

/* ---- Host. */
/* Of a launch; made once a call, which asks the device and takes time of it. */
struct StagePlan {
    unsigned threads, rows, stage_bytes; /* of a tile */
    size_t tiles;
};

/* Columns of rows so long that hardly a tile would fit. */
static StagePlan long_plan(size_t rows, size_t names_bytes) {
    StagePlan plan = {LONG_THREADS, LONG_ROWS_MOST, 0, 0};
    while (plan.rows > LONG_ROWS_LEAST && plan.rows * divide_up(names_bytes, rows) > LONG_BYTES) plan.rows /= 2;
    plan.tiles = divide_up(rows, plan.rows);
    return plan;
}

static StagePlan stage_plan(const VariantArgs *args) {
    const size_t rows = args->in[0].shape[0] - 1, bytes = args->in[1].shape[0] + args->in[4].shape[0];
    const size_t device = device_block_shared_max() - 1024, most = device < STAGE_MOST ? device : STAGE_MOST;
    /* What a tile's rows take on average and a little more, where that lets several blocks share an SM. */
    const size_t average = rows ? bytes / rows * TILE_ROWS + bytes % rows * TILE_ROWS / rows : 0,
                 wanted = divide_up(average + TILE_SPARE, 128) * 128;
    if (wanted > most) return long_plan(rows, args->in[1].shape[0]);
    /* More threads where the device has room for all tiles at once: then it is the time of one block that counts. */
    const size_t tiles = divide_up(rows, TILE_ROWS),
                 room = device_sm_count() * (device_sm_threads_max() * 3 / 4 / TILE_THREADS_FEW);
    const unsigned threads = tiles < room ? TILE_THREADS_FEW : TILE_THREADS;
    return {threads, TILE_ROWS, (unsigned)(wanted < STAGE_LEAST ? STAGE_LEAST : wanted), tiles};
}

template <typename O> static Status redact(const VariantArgs *args, StringsColumn<O> *out) {
    const StagePlan plan = stage_plan(args);
    SinglePass<O> pass = {};
    pass.names = strings_input<O>(args, 0);
    pass.visibilities = strings_input<O>(args, 3);
    pass.names_count = args->in[1].shape[0];
    pass.visibilities_count = args->in[4].shape[0];
    pass.stage_bytes = plan.stage_bytes;
    pass.tile_rows = plan.rows;
    pass.count = args->counts + 1;
    const size_t most = pass.names_count + REDACTED_GROWTH_MAX * pass.names.rows;
    {
        const StepRange step("allocate");
        TRY(strings_allocate(args, pass.names.rows, pass.names.validity || pass.visibilities.validity, out));
        TRY(strings_allocate_chars(args, most, out));
    }
    const StepRange step("redact");
    pass.out = *out;
    TRY(agent_begin(args, plan.tiles, &pass.agent));
    TRY(launch_early(plan.threads == LONG_THREADS   ? long_rows_kernel<O>
                     : plan.threads == TILE_THREADS ? redact_kernel<O, TILE_THREADS>
                                                    : redact_kernel<O, TILE_THREADS_FEW>,
                     {dim3((unsigned)(1 + plan.tiles)), dim3(plan.threads), plan.stage_bytes, args->stream}, pass));
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
    return agent_scratch_bytes(stage_plan(args).tiles);
}

static bool supports(const VariantArgs *args, char reason[REASON_MAX]) {
    const StagePlan plan = stage_plan(args);
    if (plan.tiles < GRID_BLOCKS_MAX) return true;
    return variant_refuse(reason, "rows=%zu: a grid has %zu blocks of %u rows at most", args->in[0].shape[0] - 1, GRID_BLOCKS_MAX,
                          plan.rows);
}

static Status configuration(const VariantArgs *args, LaunchNotes *out) {
    const StagePlan plan = stage_plan(args);
    launch_note(out, "threads", plan.threads);
    launch_note(out, "blocks", (double)(1 + plan.tiles));
    launch_note(out, "rows_of_block", plan.rows);
    launch_note(out, "shared_bytes", plan.stage_bytes);
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
