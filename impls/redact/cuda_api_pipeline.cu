/* Idea: a chain of general column functions, as a user of a library writes it: contains(visibilities,
 *   "public"), copy_if_else(names, "X X"), split, slice(second, 0, 1), concatenate(initials, first, " "). Each makes a whole
 *   new column in the same five kernels: sizes and validity (a thread a row), offsets by a scan (3 kernels), bytes. The host
 *   waits for the number of bytes before it allocates them. No function is specific to this op.
 * Traffic: 27 kernels (contains 1, copy_if_else 5, split 1 + 2 x 5, slice 5, concatenate 5) and 5 numbers to the host, which
 *   waits for each. Bytes of names are written four times over: as redacted names, words, initials and result. Words also
 *   pass through memory as 16 bytes of pointer and size each. Sizes are written, read twice and replaced by the offsets.
 * Rounding: none; bytes.
 * Limits: a column between two functions can have more bytes than its offsets count, although input and output fit; the
 *   function's name is in the error. The result is what these functions do, not the op's definition: "public" anywhere in the
 *   visibility, words between runs of blanks, names of one word become null. So it is held to the reference `api`.
 * Origin: Wendt and Kimball, "Mastering String Transformations in RAPIDS libcudf" (2022), the variant of libcudf's public
 *   functions; the kernels are ours. */
#include "_offsets.cuh"

#include <stdio.h>
#include <type_traits>

static const ParamSpec TUNABLES[] = {MEMORY_TUNABLE, {}};
enum { THREADS = 256, LONG_BYTES = 64 /* rows that are longer on average are copied by warps */, SCALAR_MAX = 63, WORDS = 2 };

/* A string that is the same for all rows; a kernel argument. */
struct StringsScalar {
    unsigned char bytes[SCALAR_MAX];
    unsigned char size;

    __device__ StringSpan span() const { return {bytes, size}; }
};

static Status scalar_of(const char *text, StringsScalar *out) {
    *out = StringsScalar();
    const size_t size = strlen(text);
    if (size > SCALAR_MAX) return status_fail(STATUS_INTERNAL, "a string of %zu bytes for all rows; %d fit", size, (int)SCALAR_MAX);
    memcpy(out->bytes, text, size);
    out->size = (unsigned char)size;
    return STATUS_OK;
}

/* Booleans, a byte each, of 0 or 1; that of a null row is 0. Owned. */
struct BoolsColumn {
    unsigned char *values = nullptr, *validity = nullptr;

    __device__ bool valid(size_t i) const { return !validity || (validity[i / 8] >> i % 8 & 1); }
};

static void bools_release(const VariantArgs *args, BoolsColumn *column) {
    memory_release(args, &column->values);
    memory_release(args, &column->validity);
}

/* --- What all functions share: a row's size is noted, sizes become offsets, a row is copied. */
static __device__ inline size_t thread_index() {
    return (size_t)blockIdx.x * THREADS + threadIdx.x;
}

static LaunchShape threads_shape(const VariantArgs *args, size_t n) {
    return {dim3((unsigned)divide_up(n, THREADS)), dim3(THREADS), 0, args->stream};
}

/* Sizes stand where the offsets will be, as unsigned numbers: a row that does not even fit into those is cut to the largest, which
 * is too large for the offsets all the same, so that it is refused. Null rows have no bytes. Called by whole warps. */
template <typename O> static __device__ void store_size(const StringsColumn<O> &column, size_t row, bool valid, size_t size) {
    constexpr size_t largest = (std::make_unsigned_t<O>)-1;
    if (row < column.rows) column.offsets[row] = !valid ? 0 : (O)(std::make_unsigned_t<O>)(size < largest ? size : largest);
    validity_write(column.validity, column.rows, row, valid);
}

template <typename O> static __device__ size_t size_at(const O *sizes, size_t row, size_t rows) {
    return row < rows ? (size_t)(std::make_unsigned_t<O>)sizes[row] : 0;
}

template <typename O> static __global__ void __launch_bounds__(OFFSETS_THREADS) sums_kernel(OffsetsTiles tiles, const O *sizes) {
    __shared__ ByteCount totals[OFFSETS_WARPS];
    ByteCount own = {};
    for (size_t round = 0; round < tiles.rounds; round++) own.n += size_at(sizes, offsets_row(tiles, round), tiles.rows);
    offsets_sum(tiles, own, totals);
}

static __global__ void __launch_bounds__(OFFSETS_SCAN_THREADS) scan_kernel(OffsetsTiles tiles) {
    __shared__ ByteCount totals[WARP];
    offsets_scan(tiles, totals);
}

/* In place: a row's size is read before its offset is written, both by its thread. */
template <typename O> static __global__ void __launch_bounds__(OFFSETS_THREADS) fill_kernel(OffsetsTiles tiles, O *offsets) {
    __shared__ ByteCount totals[OFFSETS_WARPS];
    unsigned long long base = tiles.tiles ? tiles.sums[blockIdx.x] : 0;
    for (size_t round = 0; round < tiles.rounds; round++) {
        const size_t row = offsets_row(tiles, round);
        const unsigned long long size = size_at(offsets, row, tiles.rows), begin = offsets_before(size, totals, &base);
        offsets_store(tiles, row, begin, size, offsets);
    }
}

template <typename O>
static Status fill_offsets(const VariantArgs *args, const OffsetsTiles &tiles, const char *function, StringsColumn<O> *column) {
    unsigned long long bytes;
    char what[64];
    if (tiles.tiles) TRY(launch(sums_kernel<O>, offsets_shape(args, tiles), tiles, (const O *)column->offsets));
    TRY(launch(scan_kernel, {dim3(1), dim3(OFFSETS_SCAN_THREADS), 0, args->stream}, tiles));
    TRY(offsets_total(args, tiles, &bytes));
    snprintf(what, sizeof what, "%s: its column", function);
    TRY(offsets_check<O>(what, bytes));
    {
        const StepRange step("allocate");
        TRY(strings_allocate_chars(args, (size_t)bytes, column));
    }
    return launch(fill_kernel<O>, offsets_shape(args, tiles), tiles, column->offsets);
}

/* Sizes become offsets, and memory for so many bytes is allocated. function: whose column it is, for messages. */
template <typename O> static Status offsets_of_sizes(const VariantArgs *args, const char *function, StringsColumn<O> *column) {
    OffsetsTiles tiles;
    {
        const StepRange step("allocate");
        TRY(offsets_tiles_create(args, column->rows, &tiles));
    }
    const Status status = fill_offsets(args, tiles, function, column);
    const StepRange step("release");
    offsets_tiles_release(args, &tiles);
    return status;
}

template <typename O> static Status allocate_column(const VariantArgs *args, size_t rows, bool nullable, StringsColumn<O> *out) {
    const StepRange step("allocate");
    return strings_allocate(args, rows, nullable, out);
}

/* Long rows are copied by a warp each, short ones by a thread. */
template <typename O> static bool rows_are_long(const StringsColumn<O> &column) {
    return column.bytes / column.rows >= LONG_BYTES;
}

/* LANES threads copy together; returns the end. */
template <unsigned LANES> static __device__ unsigned char *lanes_copy(unsigned char *to, StringSpan from) {
    if constexpr (LANES == 1)
        string_copy(to, from);
    else
        for (size_t i = threadIdx.x % LANES; i < from.size; i += LANES) to[i] = from.bytes[i];
    return to + from.size;
}

/* --- contains: which rows contain a string. Byte by byte: in UTF-8 no character is part of another. */
static __device__ inline bool string_contains(StringSpan s, StringSpan needle) {
    for (size_t begin = 0; begin + needle.size <= s.size; begin++) {
        size_t i = 0;
        while (i < needle.size && s.bytes[begin + i] == needle.bytes[i]) i++;
        if (i == needle.size) return true;
    }
    return false;
}

template <typename O>
static __global__ void __launch_bounds__(THREADS)
    contains_kernel(StringsView<O> strings, const __grid_constant__ StringsScalar needle, BoolsColumn out) {
    const size_t row = thread_index();
    const bool valid = row < strings.rows && strings.valid(row);
    if (row < strings.rows) out.values[row] = valid && string_contains(strings.span(row), needle.span());
    validity_write(out.validity, strings.rows, row, valid);
}

/* Null rows give null; every row contains "". */
template <typename O>
static Status strings_contains(const VariantArgs *args, StringsView<O> strings, const char *text, BoolsColumn *out) {
    const StepRange step("contains");
    StringsScalar needle;
    TRY(scalar_of(text, &needle));
    {
        const StepRange allocation("allocate");
        TRY(memory_allocate(args, strings.rows, &out->values));
        if (strings.validity) TRY(memory_allocate(args, validity_room(strings.rows), &out->validity));
    }
    return strings.rows ? launch(contains_kernel<O>, threads_shape(args, strings.rows), strings, needle, *out) : STATUS_OK;
}

/* --- copy_if_else: a column's rows where a mask is true, one string elsewhere. A null in the mask counts as false. */
template <typename O>
static __global__ void __launch_bounds__(THREADS)
    copy_if_else_sizes(StringsView<O> strings, size_t otherwise_size, BoolsColumn mask, StringsColumn<O> out) {
    const size_t row = thread_index();
    const bool taken = row < out.rows && mask.valid(row) && mask.values[row];
    const bool valid = row < out.rows && (!taken || strings.valid(row));
    store_size(out, row, valid, taken && valid ? strings.size(row) : otherwise_size);
}

template <typename O, unsigned LANES>
static __global__ void __launch_bounds__(THREADS)
    copy_if_else_chars(StringsView<O> strings, const __grid_constant__ StringsScalar otherwise, BoolsColumn mask,
                       StringsColumn<O> out) {
    const size_t row = thread_index() / LANES;
    if (row >= out.rows) return;
    const bool taken = mask.valid(row) && mask.values[row];
    if (taken && !strings.valid(row)) return;
    lanes_copy<LANES>(out.chars + out.offsets[row], taken ? strings.span(row) : otherwise.span());
}

/* A row is null where the mask takes a null row. */
template <typename O>
static Status strings_copy_if_else(const VariantArgs *args, StringsView<O> strings, const char *text, BoolsColumn mask,
                                   StringsColumn<O> *out) {
    const StepRange step("copy_if_else");
    StringsScalar otherwise;
    TRY(scalar_of(text, &otherwise));
    TRY(allocate_column(args, strings.rows, strings.validity, out));
    if (out->rows) TRY(launch(copy_if_else_sizes<O>, threads_shape(args, out->rows), strings, (size_t)otherwise.size, mask, *out));
    TRY(offsets_of_sizes(args, "copy_if_else", out));
    if (out->bytes == 0) return STATUS_OK;
    if (rows_are_long(*out))
        return launch(copy_if_else_chars<O, WARP>, threads_shape(args, out->rows * WARP), strings, otherwise, mask, *out);
    return launch(copy_if_else_chars<O, 1>, threads_shape(args, out->rows), strings, otherwise, mask, *out);
}

/* --- gather: a new column from rows that lie anywhere, by pointer and size; null where the pointer is. */
template <typename O>
static __global__ void __launch_bounds__(THREADS) gather_sizes(const StringSpan *spans, StringsColumn<O> out) {
    const size_t row = thread_index();
    const bool valid = row < out.rows && spans[row].bytes;
    store_size(out, row, valid, valid ? spans[row].size : 0);
}

template <typename O, unsigned LANES>
static __global__ void __launch_bounds__(THREADS) gather_chars(const StringSpan *spans, StringsColumn<O> out) {
    const size_t row = thread_index() / LANES;
    if (row < out.rows && spans[row].bytes) lanes_copy<LANES>(out.chars + out.offsets[row], spans[row]);
}

template <typename O>
static Status strings_gather(const VariantArgs *args, const StringSpan *spans, size_t rows, StringsColumn<O> *out) {
    const StepRange step("gather");
    TRY(allocate_column(args, rows, true, out));
    if (rows) TRY(launch(gather_sizes<O>, threads_shape(args, rows), spans, *out));
    TRY(offsets_of_sizes(args, "gather", out));
    if (out->bytes == 0) return STATUS_OK;
    if (rows_are_long(*out)) return launch(gather_chars<O, WARP>, threads_shape(args, rows * WARP), spans, *out);
    return launch(gather_chars<O, 1>, threads_shape(args, rows), spans, *out);
}

/* --- split: a column of the first words, one of the second. Words are between runs of the space and all control characters before
 * it. A kernel finds the words, two gathers make columns of them. */
/* The next word of s, which loses it; without a pointer if there is none. */
static __device__ inline StringSpan split_word(StringSpan *s) {
    size_t begin = 0;
    while (begin < s->size && s->bytes[begin] <= ' ') begin++;
    size_t end = begin;
    while (end < s->size && s->bytes[end] > ' ') end++;
    const StringSpan word = {end > begin ? s->bytes + begin : nullptr, end - begin};
    *s = {s->bytes + end, s->size - end};
    return word;
}

/* words: those of column c at words[c * rows]. */
template <typename O> static __global__ void __launch_bounds__(THREADS) split_kernel(StringsView<O> strings, StringSpan *words) {
    const size_t row = thread_index();
    if (row >= strings.rows) return;
    StringSpan rest = {nullptr, 0};
    if (strings.valid(row)) rest = strings.span(row);
    for (int c = 0; c < WORDS; c++) words[c * strings.rows + row] = split_word(&rest);
}

/* out[c] has the word c of each row; null where a row has not so many, and in null rows. Later words are left out. */
template <typename O> static Status strings_split(const VariantArgs *args, StringsView<O> strings, StringsColumn<O> out[WORDS]) {
    const StepRange step("split");
    StringSpan *words = nullptr;
    {
        const StepRange allocation("allocate");
        TRY(memory_allocate(args, strings.rows * WORDS, &words));
    }
    Status status = STATUS_OK;
    if (strings.rows) status = launch(split_kernel<O>, threads_shape(args, strings.rows), strings, words);
    for (int c = 0; c < WORDS && status == STATUS_OK; c++)
        status = strings_gather(args, words + (size_t)c * strings.rows, strings.rows, &out[c]);
    const StepRange end("release");
    memory_release(args, &words);
    return status;
}

/* --- slice: characters [start, stop) of each row, as many of them as it has; characters of UTF-8, not bytes. */
static __device__ inline StringSpan string_slice(StringSpan s, size_t start, size_t stop) {
    size_t begin = 0, n = 0;
    for (; n < start && begin < s.size; n++) begin += utf8_first(s.bytes + begin, s.size - begin);
    size_t end = begin;
    for (; n < stop && end < s.size; n++) end += utf8_first(s.bytes + end, s.size - end);
    return {s.bytes + begin, end - begin};
}

template <typename O>
static __global__ void __launch_bounds__(THREADS)
    slice_sizes(StringsView<O> strings, size_t start, size_t stop, StringsColumn<O> out) {
    const size_t row = thread_index();
    const bool valid = row < out.rows && strings.valid(row);
    store_size(out, row, valid, valid ? string_slice(strings.span(row), start, stop).size : 0);
}

template <typename O, unsigned LANES>
static __global__ void __launch_bounds__(THREADS)
    slice_chars(StringsView<O> strings, size_t start, size_t stop, StringsColumn<O> out) {
    const size_t row = thread_index() / LANES;
    if (row >= out.rows || !strings.valid(row)) return;
    lanes_copy<LANES>(out.chars + out.offsets[row], string_slice(strings.span(row), start, stop));
}

/* Null rows stay null. */
template <typename O>
static Status strings_slice(const VariantArgs *args, StringsView<O> strings, size_t start, size_t stop, StringsColumn<O> *out) {
    const StepRange step("slice");
    TRY(allocate_column(args, strings.rows, strings.validity, out));
    if (out->rows) TRY(launch(slice_sizes<O>, threads_shape(args, out->rows), strings, start, stop, *out));
    TRY(offsets_of_sizes(args, "slice", out));
    if (out->bytes == 0) return STATUS_OK;
    if (rows_are_long(*out)) return launch(slice_chars<O, WARP>, threads_shape(args, out->rows * WARP), strings, start, stop, *out);
    return launch(slice_chars<O, 1>, threads_shape(args, out->rows), strings, start, stop, *out);
}

/* --- concatenate: two columns, row by row, with a separator between them. */
template <typename O>
static __global__ void __launch_bounds__(THREADS)
    concatenate_sizes(StringsView<O> left, StringsView<O> right, size_t separator_size, StringsColumn<O> out) {
    const size_t row = thread_index();
    const bool valid = row < out.rows && left.valid(row) && right.valid(row);
    store_size(out, row, valid, valid ? left.size(row) + separator_size + right.size(row) : 0);
}

template <typename O, unsigned LANES>
static __global__ void __launch_bounds__(THREADS)
    concatenate_chars(StringsView<O> left, StringsView<O> right, const __grid_constant__ StringsScalar separator,
                      StringsColumn<O> out) {
    const size_t row = thread_index() / LANES;
    if (row >= out.rows || !left.valid(row) || !right.valid(row)) return;
    unsigned char *to = out.chars + out.offsets[row];
    to = lanes_copy<LANES>(to, left.span(row));
    to = lanes_copy<LANES>(to, separator.span());
    lanes_copy<LANES>(to, right.span(row));
}

/* Both columns have as many rows; a row is null where either is. */
template <typename O>
static Status strings_concatenate(const VariantArgs *args, StringsView<O> left, StringsView<O> right, const char *text,
                                  StringsColumn<O> *out) {
    const StepRange step("concatenate");
    StringsScalar separator;
    TRY(scalar_of(text, &separator));
    TRY(allocate_column(args, left.rows, left.validity || right.validity, out));
    if (out->rows) TRY(launch(concatenate_sizes<O>, threads_shape(args, out->rows), left, right, (size_t)separator.size, *out));
    TRY(offsets_of_sizes(args, "concatenate", out));
    if (out->bytes == 0) return STATUS_OK;
    if (rows_are_long(*out))
        return launch(concatenate_chars<O, WARP>, threads_shape(args, out->rows * WARP), left, right, separator, *out);
    return launch(concatenate_chars<O, 1>, threads_shape(args, out->rows), left, right, separator, *out);
}

/* --- The pipeline. A column is released at once when a function has replaced it; after a failure all are. */
template <typename O> struct Columns {
    BoolsColumn visible;
    StringsColumn<O> redacted, words[WORDS], initials, result;
};

template <typename Column>
static void drop(const VariantArgs *args, Column *column, void (*release)(const VariantArgs *, Column *)) {
    const StepRange step("release");
    release(args, column);
}

template <typename O> static Status chain(const VariantArgs *args, Columns<O> *made) {
    const StringsView<O> names = strings_input<O>(args, 0), visibilities = strings_input<O>(args, 3);
    TRY(strings_contains(args, visibilities, "public", &made->visible));
    TRY(strings_copy_if_else(args, names, "X X", made->visible, &made->redacted));
    drop(args, &made->visible, bools_release);
    TRY(strings_split(args, made->redacted.view(), made->words));
    drop(args, &made->redacted, strings_release<O>);
    TRY(strings_slice(args, made->words[1].view(), 0, 1, &made->initials));
    drop(args, &made->words[1], strings_release<O>);
    TRY(strings_concatenate(args, made->initials.view(), made->words[0].view(), " ", &made->result));
    strings_hand_over(args, 0, &made->result);
    return STATUS_OK;
}

template <typename O> static Status run_typed(const VariantArgs *args) {
    Columns<O> made;
    const Status status = chain(args, &made);
    const StepRange step("release");
    bools_release(args, &made.visible);
    strings_release(args, &made.redacted);
    for (int c = 0; c < WORDS; c++) strings_release(args, &made.words[c]);
    strings_release(args, &made.initials);
    strings_release(args, &made.result);
    return status;
}

static Status run(const VariantArgs *args) {
    return args->problem->dtype == DTYPE_I64 ? run_typed<long long>(args) : run_typed<int>(args);
}

RUNGS_VARIANT(redact, cuda_api_pipeline) = {
    .backend = BACKEND_CUDA,
    .summary = "a library's column functions one after the other: contains, copy_if_else, split, slice, concatenate",
    .origin = "Wendt and Kimball 2022, libcudf's public functions",
    .tunables = TUNABLES,
    .bound = "api",
    .run = run,
};
