/* Clean kernels of the functions of impls/redact/_offsets.cuh: sizes of which nothing is in memory, in one tile and in several,
 * with rounds in a tile, with sums beyond 2^31 and 2^32. */
#include "redact/_offsets.cuh"
#include "selftest.h"

#include <stdint.h>
#include <string.h>

/* Of 3 to 5 MiB, 0 for every seventh row. */
static size_t size_of(size_t row) {
    return row % 7 == 3 ? 0 : ((size_t)4 << 20) + row % 5 - 2;
}

static __device__ size_t device_size_of(size_t row, size_t rows) {
    return row >= rows || row % 7 == 3 ? 0 : ((size_t)4 << 20) + row % 5 - 2;
}

static __global__ void __launch_bounds__(OFFSETS_THREADS) sums_kernel(OffsetsTiles tiles) {
    __shared__ ByteCount totals[OFFSETS_WARPS];
    ByteCount own = {};
    for (size_t round = 0; round < tiles.rounds; round++) own.n += device_size_of(offsets_row(tiles, round), tiles.rows);
    offsets_sum(tiles, own, totals);
}

static __global__ void __launch_bounds__(OFFSETS_SCAN_THREADS) scan_kernel(OffsetsTiles tiles) {
    __shared__ ByteCount totals[WARP];
    offsets_scan(tiles, totals);
}

template <typename O> static __global__ void __launch_bounds__(OFFSETS_THREADS) fill_kernel(OffsetsTiles tiles, O *offsets) {
    __shared__ ByteCount totals[OFFSETS_WARPS];
    unsigned long long base = tiles.tiles ? tiles.sums[blockIdx.x] : 0;
    for (size_t round = 0; round < tiles.rounds; round++) {
        const size_t row = offsets_row(tiles, round), size = device_size_of(row, tiles.rows);
        const unsigned long long begin = offsets_before(size, totals, &base);
        offsets_store(tiles, row, begin, size, offsets);
    }
}

/* The three kernels, in the order that _offsets.cuh asks for. */
template <typename O>
static Status fill(const VariantArgs *args, const OffsetsTiles &tiles, O *offsets, unsigned long long *bytes) {
    if (tiles.tiles) TRY(launch(sums_kernel, offsets_shape(args, tiles), tiles));
    TRY(launch(scan_kernel, {dim3(1), dim3(OFFSETS_SCAN_THREADS), 0, args->stream}, tiles));
    TRY(offsets_total(args, tiles, bytes));
    TRY(offsets_check<O>("these", *bytes));
    return launch(fill_kernel<O>, offsets_shape(args, tiles), tiles, offsets);
}

static const Device *test_device;

static Status take(VariantMemory *, size_t bytes, void *, void **out) {
    *out = NULL;
    return bytes == 0 ? STATUS_OK : test_device->allocate(bytes, out);
}

static void give(VariantMemory *, void *pointer, void *) {
    test_device->release(pointer);
}

static VariantMemory test_memory = {take, give};

static VariantArgs arguments(const Device *device) {
    VariantArgs args = {};
    test_device = device;
    args.stream = device->stream();
    args.memory = &test_memory;
    return args;
}

template <typename O> static Status offsets_of(const Device *device, size_t rows) {
    const VariantArgs args = arguments(device);
    O *expected = static_cast<O *>(malloc((rows + 1) * sizeof(O))), *offsets;
    OffsetsTiles tiles;
    unsigned long long bytes;
    expected[0] = 0;
    for (size_t row = 0; row < rows; row++) expected[row + 1] = (O)((size_t)expected[row] + size_of(row));
    TRY(make_array<O>(device, NULL, rows + 1, &offsets));
    TRY(offsets_tiles_create(&args, rows, &tiles));
    TRY(fill(&args, tiles, offsets, &bytes));
    TRY(expect_equal(device, (const O *)offsets, (const O *)expected, rows + 1, "offsets"));
    if (bytes != (unsigned long long)expected[rows])
        return status_fail(STATUS_CHECK, "%llu bytes, expected %zu", bytes, (size_t)expected[rows]);
    free(expected);
    offsets_tiles_release(&args, &tiles);
    return STATUS_OK;
}

static Status run_within_int32(const Device *device) {
    static const size_t rows[] = {0, 1, 31, 32, 33, 255, 256, 257, 590};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) TRY(offsets_of<int32_t>(device, rows[i]));
    return STATUS_OK;
}

static Status run_beyond_int32(const Device *device) {
    TRY(offsets_of<int64_t>(device, 600));
    return offsets_of<int64_t>(device, 3001);
}

/* Just past 2^31, and past 2^32, where a sum that had wrapped round would look small. */
static Status run_refused(const Device *device) {
    static const size_t rows[] = {600, 1201};
    const VariantArgs args = arguments(device);
    for (int i = 0; i < 2; i++) {
        OffsetsTiles tiles;
        unsigned long long bytes;
        int32_t *const offsets = NULL; /* nothing is written */
        TRY(offsets_tiles_create(&args, rows[i], &tiles));
        const Status status = fill(&args, tiles, offsets, &bytes);
        if (status != STATUS_INVALID || strncmp(status_message(), "these would have ", 17) != 0 ||
            !strstr(status_message(), " bytes; int32 offsets hold 2147483647; use dtype=i64"))
            return status_fail(STATUS_CHECK, "%zu rows were not refused", rows[i]);
        offsets_tiles_release(&args, &tiles);
    }
    /* Offsets of 64 bits have no wider ones to be advised. */
    if (offsets_check<int64_t>("these", 1ull << 63) != STATUS_INVALID || strstr(status_message(), "dtype"))
        return status_fail(STATUS_CHECK, "2^63 bytes: %s", status_message());
    return offsets_check<int64_t>("these", (1ull << 63) - 1);
}

/* As of 4 194 305 rows on: several rounds in a tile. */
static Status run_rounds(const Device *device) {
    enum { ROWS = 1300, ROUNDS = 3 };
    const VariantArgs args = arguments(device);
    long long expected[ROWS + 1] = {0}, *offsets;
    OffsetsTiles tiles;
    unsigned long long bytes;
    for (size_t row = 0; row < ROWS; row++) expected[row + 1] = expected[row] + (long long)size_of(row);
    TRY(make_array<long long>(device, NULL, ROWS + 1, &offsets));
    TRY(offsets_tiles_create(&args, ROWS, &tiles)); /* room for more tiles than there are now */
    tiles.rounds = ROUNDS;
    tiles.tiles = divide_up(ROWS, (size_t)OFFSETS_THREADS * ROUNDS);
    tiles.total = tiles.sums + tiles.tiles;
    TRY(fill(&args, tiles, offsets, &bytes));
    TRY(expect_equal(device, (const long long *)offsets, (const long long *)expected, ROWS + 1, "rounds"));
    offsets_tiles_release(&args, &tiles);
    return bytes == (unsigned long long)expected[ROWS] ? STATUS_OK : status_fail(STATUS_CHECK, "another total");
}

extern "C" const SelfTest CLEAN_OFFSETS[] = {
    {"offsets within 32 bits", run_within_int32, {}},
    {"offsets beyond 32 bits", run_beyond_int32, {}},
    {"offsets refused", run_refused, {}},
    {"offsets in rounds", run_rounds, {}},
    {NULL, NULL, {}},
};
