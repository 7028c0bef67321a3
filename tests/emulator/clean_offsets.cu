/* Clean kernels of impls/common/strings/offsets.cuh: sizes of which nothing is in memory, in one tile and in several, with rounds
 * in a tile, with sums beyond 2^31 and 2^32. */
#include "common/strings/offsets.cuh"
#include "selftest.h"

#include <stdint.h>
#include <string.h>

/* Of 3 to 5 MiB, 0 for every seventh row. */
static size_t size_of(size_t row) {
    return row % 7 == 3 ? 0 : ((size_t)4 << 20) + row % 5 - 2;
}

struct FakeSizes {
    size_t rows;
    __device__ size_t operator()(size_t row) const { return row >= rows || row % 7 == 3 ? 0 : ((size_t)4 << 20) + row % 5 - 2; }
};

static const Device *test_device;

/* Nobody writes the bytes of these columns. */
static Status take(VariantMemory *, size_t bytes, void *, void **out) {
    *out = NULL;
    return bytes == 0 || bytes >= (size_t)1 << 20 ? STATUS_OK : test_device->allocate(bytes, out);
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

template <typename O> static Status column_of(const Device *device, size_t rows) {
    const VariantArgs args = arguments(device);
    StringsColumn<O> column;
    O *expected = static_cast<O *>(malloc((rows + 1) * sizeof(O)));
    expected[0] = 0;
    for (size_t row = 0; row < rows; row++) expected[row + 1] = (O)((size_t)expected[row] + size_of(row));
    TRY(strings_allocate(&args, rows, false, &column));
    TRY(strings_offsets(&args, "these", FakeSizes{rows}, &column));
    TRY(expect_equal(device, (const O *)column.offsets, (const O *)expected, rows + 1, "offsets"));
    if (column.bytes != (size_t)expected[rows])
        return status_fail(STATUS_CHECK, "%zu bytes, expected %zu", column.bytes, (size_t)expected[rows]);
    free(expected);
    strings_release(&args, &column);
    return STATUS_OK;
}

static Status run_within_int32(const Device *device) {
    static const size_t rows[] = {0, 1, 31, 32, 33, 255, 256, 257, 590};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) TRY(column_of<int32_t>(device, rows[i]));
    return STATUS_OK;
}

static Status run_beyond_int32(const Device *device) {
    TRY(column_of<int64_t>(device, 600));
    return column_of<int64_t>(device, 3001);
}

/* Just past 2^31, and past 2^32, where a sum that had wrapped round would look small. */
static Status run_refused(const Device *device) {
    static const size_t rows[] = {600, 1201};
    const VariantArgs args = arguments(device);
    for (int i = 0; i < 2; i++) {
        StringsColumn<int32_t> column;
        TRY(strings_allocate(&args, rows[i], false, &column));
        const Status status = strings_offsets(&args, "these", FakeSizes{rows[i]}, &column);
        if (status != STATUS_INVALID || strncmp(status_message(), "these would have ", 17) != 0 ||
            !strstr(status_message(), " bytes; int32 offsets hold 2147483647; use dtype=i64") || column.bytes != 0)
            return status_fail(STATUS_CHECK, "%zu rows were not refused", rows[i]);
        strings_release(&args, &column);
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
    OffsetsResult result;
    for (size_t row = 0; row < ROWS; row++) expected[row + 1] = expected[row] + (long long)size_of(row);
    TRY(make_array<long long>(device, NULL, ROWS + 1, &offsets));
    TRY(offsets_tiles_create(&args, ROWS, &tiles)); /* room for more tiles than there are now */
    tiles.rounds = ROUNDS;
    tiles.tiles = divide_up(ROWS, (size_t)OFFSETS_THREADS * ROUNDS);
    TRY(offsets_sum(&args, tiles, FakeSizes{ROWS}, &result));
    TRY(launch(offsets_fill_kernel<long long, FakeSizes>, offsets_shape(&args, tiles), tiles, FakeSizes{ROWS}, offsets));
    TRY(expect_equal(device, (const long long *)offsets, (const long long *)expected, ROWS + 1, "rounds"));
    offsets_tiles_release(&args, &tiles);
    return result.bytes == (unsigned long long)expected[ROWS] ? STATUS_OK : status_fail(STATUS_CHECK, "another total");
}

extern "C" const SelfTest CLEAN_OFFSETS[] = {
    {"offsets within 32 bits", run_within_int32, {}},
    {"offsets beyond 32 bits", run_beyond_int32, {}},
    {"offsets refused", run_refused, {}},
    {"offsets in rounds", run_rounds, {}},
    {NULL, NULL, {}},
};
