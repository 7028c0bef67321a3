/* The column functions of impls/redact/cuda_api_pipeline.cu, whose file this includes: by hand, and on random columns against loops
 * over rows. With nulls, characters of one to four bytes, bytes that are no UTF-8, empty rows and columns, slices whose offsets do
 * not begin at 0, rows short and long, offsets of both sizes. */
#include "redact/cuda_api_pipeline.cu"
#include "strings_support.h"

/* What a function is to give for the rows of two columns; `out` has room for two columns. */
typedef void (*Model)(const Row *a, const Row *b, size_t n, Row *out);

static void append(Row *row, const void *bytes, size_t size) {
    memcpy(row->bytes + row->size, bytes, size);
    row->size += size;
}

static bool has(const Row *row, const char *needle) {
    for (size_t i = 0; i + strlen(needle) <= row->size; i++)
        if (memcmp(row->bytes + i, needle, strlen(needle)) == 0) return true;
    return false;
}

static void model_copy(const Row *a, const Row *b, size_t n, Row *out) {
    for (size_t i = 0; i < n; i++) {
        const char *const hidden = "X X";
        if (!b[i].null && has(&b[i], "a"))
            out[i] = a[i];
        else
            rows_of(&hidden, 1, &out[i]);
    }
}

static void model_split(const Row *a, const Row *, size_t n, Row *out) {
    for (size_t i = 0; i < n; i++) {
        Row words[2] = {};
        int found = 0;
        bool inside = false;
        for (size_t k = 0; k < a[i].size && !a[i].null; k++) {
            if (a[i].bytes[k] > 32 && !inside) found++;
            inside = a[i].bytes[k] > 32;
            if (inside && found <= 2) append(&words[found - 1], &a[i].bytes[k], 1);
        }
        for (int w = 0; w < 2; w++) {
            words[w].null = found <= w;
            out[(size_t)w * n + i] = words[w];
        }
    }
}

static size_t width_of(unsigned char lead) {
    return (lead & 0xe0) == 0xc0 ? 2 : (lead & 0xf0) == 0xe0 ? 3 : (lead & 0xf8) == 0xf0 ? 4 : 1;
}

/* Characters 1 and 2 of each row. */
static void model_slice(const Row *a, const Row *, size_t n, Row *out) {
    for (size_t i = 0; i < n; i++) {
        out[i] = Row();
        out[i].null = a[i].null;
        size_t character = 0;
        for (size_t k = 0, width; k < a[i].size && !a[i].null; k += width, character++) {
            width = width_of(a[i].bytes[k]);
            if (width > a[i].size - k) width = a[i].size - k;
            if (character == 1 || character == 2) append(&out[i], &a[i].bytes[k], width);
        }
    }
}

static void model_concatenate(const Row *a, const Row *b, size_t n, Row *out) {
    for (size_t i = 0; i < n; i++) {
        out[i] = Row();
        out[i].null = a[i].null || b[i].null;
        if (out[i].null) continue;
        append(&out[i], a[i].bytes, a[i].size);
        append(&out[i], "--", 2);
        append(&out[i], b[i].bytes, b[i].size);
    }
}

/* Backwards, and every fifth row without a pointer; see spans_of(). */
static void model_gather(const Row *a, const Row *, size_t n, Row *out) {
    for (size_t i = 0; i < n; i++) {
        out[i] = Row();
        out[i].null = true;
        if (i % 5 != 3) out[i] = a[n - 1 - i];
    }
}

template <typename O> static __global__ void spans_kernel(StringsView<O> a, StringSpan *spans) {
    const size_t row = threadIdx.x, from = a.rows - 1 - row;
    spans[row] = {nullptr, row % 3};
    if (row % 5 != 3 && a.valid(from)) spans[row] = a.span(from);
}

template <typename O> static Status spans_of(const Bench *bench, StringsView<O> a, StringSpan **out) {
    TRY(make_array<StringSpan>(bench->device, NULL, a.rows ? a.rows : 1, out));
    if (a.rows == 0) return STATUS_OK;
    return launch(spans_kernel<O>, {dim3(1), dim3((unsigned)a.rows), 0, bench->args.stream}, a, *out);
}

enum { COPY, SPLIT, SLICE, CONCATENATE, GATHER, FUNCTIONS };
static const Model MODELS[FUNCTIONS] = {model_copy, model_split, model_slice, model_concatenate, model_gather};
static const char *const NAMES[FUNCTIONS] = {"copy_if_else", "split", "slice", "concatenate", "gather"};

template <typename O> static Status call(Bench *bench, int function, StringsView<O> a, StringsView<O> b, StringsColumn<O> *out) {
    const VariantArgs *args = &bench->args;
    StringSpan *spans;
    BoolsColumn mask;
    Status status;
    switch (function) {
    case COPY:
        status = strings_contains(args, b, "a", &mask);
        if (status == STATUS_OK) status = strings_copy_if_else(args, a, "X X", mask, out);
        bools_release(args, &mask);
        return status;
    case SPLIT:
        return strings_split(args, a, out);
    case SLICE:
        return strings_slice(args, a, 1, 3, out);
    case CONCATENATE:
        return strings_concatenate(args, a, b, "--", out);
    default:
        TRY(spans_of(bench, a, &spans));
        return strings_gather(args, spans, a.rows, out);
    }
}

/* What the model says, and nothing left when the columns are released. */
template <typename O>
static Status compare(Bench *bench, int function, const Row *a, const Row *b, size_t n, size_t lead, bool validity) {
    static Row expected[2 * ROWS_MAX];
    StringsView<O> left, right;
    StringsColumn<O> out[2];
    TRY(rows_upload(bench->device, a, n, lead, validity, &left));
    TRY(rows_upload(bench->device, b, n, 2 * lead, validity, &right));
    MODELS[function](a, b, n, expected);
    TRY(call(bench, function, left, right, out));
    for (size_t c = 0; c < (function == SPLIT ? 2 : 1); c++) {
        TRY(expect_rows(bench->device, &out[c], expected + c * n, n, NAMES[function]));
        strings_release(&bench->args, &out[c]);
    }
    return bench_expect_live(bench, 0, NAMES[function]);
}

static void random_rows(unsigned *state, size_t n, bool nulls, size_t most, Row *out) {
    static const char *const PARTS[] = {"a", "b", " ", "\t", "\n ", "é", "漢", "😀", "\x80", "\xff", "\xe6", "\xf0\x9f"};
    for (size_t i = 0; i < n; i++) {
        out[i] = Row();
        *state = *state * 1664525 + 1013904223;
        out[i].null = nulls && *state >> 28 < 3;
        const size_t wanted = (*state >> 8) % (most + 1);
        while (!out[i].null && out[i].size < wanted) {
            *state = *state * 1664525 + 1013904223;
            const char *part = PARTS[(*state >> 16) % 12];
            append(&out[i], part, strlen(part));
        }
        if (wanted % 7 == 1) append(&out[i], "\0", 1);
    }
}

static Status random_columns(const Device *device, size_t n, bool nulls, size_t most) {
    static Row a[ROWS_MAX], b[ROWS_MAX];
    Bench bench;
    bench_init(device, &bench);
    unsigned state = (unsigned)(n + most) * 7919 + nulls;
    random_rows(&state, n, nulls, most, a);
    random_rows(&state, n, nulls, most / 2, b);
    for (int function = 0; function < FUNCTIONS; function++) {
        TRY(compare<int>(&bench, function, a, b, n, 0, false));
        TRY(compare<long long>(&bench, function, a, b, n, 13, n % 2));
    }
    return STATUS_OK;
}

static Status run_short(const Device *device) {
    return random_columns(device, 33, true, 20);
}
static Status run_without_nulls(const Device *device) {
    return random_columns(device, 64, false, 12);
}
static Status run_long(const Device *device) {
    return random_columns(device, 9, true, 180);
}
static Status run_blocks(const Device *device) {
    return random_columns(device, ROWS_MAX, true, 5);
}
static Status run_no_rows(const Device *device) {
    TRY(random_columns(device, 0, false, 1));
    return random_columns(device, 1, true, 0);
}

/* One function, rows by hand; NULL is null. */
#define ROWS(...)                                                                                                                  \
    (const char *const[]) {                                                                                                        \
        __VA_ARGS__                                                                                                                \
    }
static Status by_hand(const Device *device, int function, const char *const *a, const char *const *b, size_t n,
                      const char *const *expected) {
    static Row left[ROWS_MAX], right[ROWS_MAX], wanted[ROWS_MAX];
    Bench bench;
    StringsView<int> views[2];
    StringsColumn<int> out[2];
    bench_init(device, &bench);
    TRY(rows_upload(device, left, rows_of(a, n, left), 5, false, &views[0]));
    TRY(rows_upload(device, right, rows_of(b, n, right), 0, false, &views[1]));
    TRY(call(&bench, function, views[0], views[1], out));
    for (size_t c = 0; c < (function == SPLIT ? 2 : 1); c++) {
        rows_of(expected + c * n, n, wanted);
        TRY(expect_rows(device, &out[c], wanted, n, NAMES[function]));
    }
    return STATUS_OK;
}

static Status run_by_hand(const Device *device) {
    const char *const names[] = {"John Lee", "", " 漢字  é\t", "Madonna", NULL, "Ed", "a b c", "É\xc3"};
    const char *const flags[] = {"a", "", "ba", "b", "a", NULL, "xxa", "\xff"};
    const char *const hidden[] = {"John Lee", "X X", " 漢字  é\t", "X X", NULL, "X X", "a b c", "X X"};
    const char *const words[] = {"John", NULL, "漢字", "Madonna", NULL, "Ed", "a", "É\xc3",
                                 "Lee",  NULL, "é",    NULL,      NULL, NULL, "b", NULL};
    const char *const stretch[] = {"oh", "", "漢字", "ad", NULL, "d", " b", "\xc3"};
    const char *const joined[] = {"John Lee--a", "--", " 漢字  é\t--ba", "Madonna--b", NULL, NULL, "a b c--xxa", "É\xc3--\xff"};
    const char *const gathered[] = {"É\xc3", "a b c", "Ed", NULL, "Madonna", " 漢字  é\t", "", "John Lee"};
    TRY(by_hand(device, COPY, names, flags, 8, hidden));
    TRY(by_hand(device, SPLIT, names, flags, 8, words));
    TRY(by_hand(device, SLICE, names, flags, 8, stretch));
    TRY(by_hand(device, CONCATENATE, names, flags, 8, joined));
    return by_hand(device, GATHER, names, flags, 8, gathered);
}

static Status contains(const Device *device, const char *needle, const char *expected, const char *null) {
    const char *const texts[] = {"public", "republic of", "Public", "publi", "", NULL, "pupublic", "é", "not public"};
    static Row rows[9];
    Bench bench;
    StringsView<int> view;
    BoolsColumn out;
    unsigned char bits[4], values[9];
    bench_init(device, &bench);
    TRY(rows_upload(device, rows, rows_of(texts, 9, rows), 3, false, &view));
    TRY(strings_contains(&bench.args, view, needle, &out));
    TRY(fetch(device, out.values, 9, values));
    TRY(fetch(device, out.validity, 4, bits));
    for (int i = 0; i < 9; i++)
        if (values[i] != expected[i] - '0' || (bits[i / 8] >> i % 8 & 1) != '1' - null[i])
            return status_fail(STATUS_CHECK, "contains '%s': row %d is %d, bits %02x %02x", needle, i, values[i], bits[0], bits[1]);
    if (bits[1] >> 1) return status_fail(STATUS_CHECK, "contains: bits of rows that there are not");
    bools_release(&bench.args, &out);
    return bench_expect_live(&bench, 0, "contains");
}

static Status run_contains(const Device *device) {
    TRY(contains(device, "public", "110000101", "000001000"));
    TRY(contains(device, "", "111110111", "000001000"));
    TRY(contains(device, "\xc3\xa9", "000000010", "000001000"));
    return contains(device, "a needle longer than every row", "000000000", "000001000");
}

/* Every allocation refused in its turn: an error, and nothing left. */
static Status run_refused(const Device *device) {
    static Row rows[3];
    const char *const texts[] = {"John Lee", NULL, "a"};
    StringsView<int> view;
    TRY(rows_upload(device, rows, rows_of(texts, 3, rows), 0, false, &view));
    for (int function = 0; function < FUNCTIONS; function++) {
        Bench bench;
        StringsColumn<int> out[2];
        bench_init(device, &bench);
        int refused = 0;
        while (bench.refuse_after = refused, call(&bench, function, view, view, out) != STATUS_OK) {
            for (int c = 0; c < 2; c++)
                strings_release(&bench.args, &out[c]); /* what was made before the refusal is the caller's */
            TRY(bench_expect_live(&bench, 0, NAMES[function]));
            refused++;
        }
        if (refused < 4) return status_fail(STATUS_CHECK, "%s: %d allocations", NAMES[function], refused);
    }
    return STATUS_OK;
}

static Status expect_too_long(Bench *bench, Status status, StringsColumn<int> *out, const char *message) {
    if (status != STATUS_INVALID || strcmp(status_message(), message) != 0)
        return status_fail(STATUS_CHECK, "not '%s': %s", message, status == STATUS_OK ? "it was not refused" : status_message());
    strings_release(&bench->args, out);
    return bench_expect_live(bench, 0, message);
}

/* Rows of nearly 2^31 bytes, which nobody reads: refused for their number, also where even 32 unsigned bits cannot count it. The
 * message names the function: a column between two functions may not fit where input and output of them all do. */
static Status run_too_long(const Device *device) {
    const int offsets[] = {0, 2147483647};
    const char *const separators[] = {"-", "--"};
    const char *const joined = "concatenate: its column would have 4294967295 bytes; int32 offsets hold 2147483647; use dtype=i64";
    int *device_offsets;
    unsigned char *values;
    StringSpan *spans;
    Bench bench;
    StringsColumn<int> out;
    bench_init(device, &bench);
    TRY(make_array(device, offsets, 2, &device_offsets));
    TRY(make_array<unsigned char>(device, NULL, 2, &values));
    const StringSpan rows[] = {{values, 2147483647}, {values, 2147483647}};
    TRY(make_array(device, rows, 2, &spans));
    const StringsView<int> view = {device_offsets, values, NULL, 1};
    for (int i = 0; i < 2; i++)
        TRY(expect_too_long(&bench, strings_concatenate(&bench.args, view, view, separators[i], &out), &out, joined));
    return expect_too_long(&bench, strings_gather(&bench.args, spans, 2, &out), &out,
                           "gather: its column would have 4294967294 bytes; int32 offsets hold 2147483647; use dtype=i64");
}

extern "C" const SelfTest CLEAN_STRINGS[] = {
    {"strings by hand", run_by_hand, {}},   {"strings contains", run_contains, {}},
    {"strings short", run_short, {}},       {"strings without nulls", run_without_nulls, {}},
    {"strings long", run_long, {}},         {"strings in blocks", run_blocks, {}},
    {"strings no rows", run_no_rows, {}},   {"strings refused memory", run_refused, {}},
    {"strings too long", run_too_long, {}}, {NULL, NULL, {}},
};
