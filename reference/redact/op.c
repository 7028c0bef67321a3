/* redact - hides names in an Arrow column of strings: meaning, parameters, oracles, work. See docs/ops/redact.md.
 *
 * The oracles are in exact.c, generated columns in families.c. */
#include "redact.h"

#include "reference/vector.h"

#include <stdio.h>
#include <string.h>

static const DType DTYPES[] = {DTYPE_I32, DTYPE_I64, DTYPE_COUNT};
static const char *const NULLS[] = {"none", "some", "names", "visibilities", NULL};
static const char *const SLICE[] = {"none", "head", NULL};

static const ParamSpec PARAMS[] = {
    {"rows", "rows of both columns", PARAM_INT, "600000", 0, 0x1p40, NULL},
    {"nulls", "about a tenth of both columns (some) or of one is null; none: no validity bitmaps", PARAM_CHOICE, "none", 0, 0,
     NULLS},
    {"slice", "head: the columns are slices, offsets do not begin at 0 and bytes before and after belong to no row", PARAM_CHOICE,
     "none", 0, 0, SLICE},
    {"names_bytes", "of data of your own, set by `rungs exec`: bytes of names.chars", PARAM_INT, "0", 0, 0x1p52, NULL},
    {"visibilities_bytes", "likewise: bytes of visibilities.chars", PARAM_INT, "0", 0, 0x1p52, NULL},
    {"redacted_bytes", "likewise: the most bytes that redacted.chars can need", PARAM_INT, "0", 0, 0x1p52, NULL},
    {0},
};

static const Bound BOUNDS[] = {
    [REDACT_EXACT] = {"exact",
                      "equal to the byte: visibility equals 'public' -> first character after the first space + ' ' + what "
                      "precedes it; no space: first character + ' ' + name; empty: ' '; else 'X X'; a null gives null"},
    [REDACT_API] = {"api", "equal to the byte: visibility contains 'public' -> first character of the second token + ' ' + the "
                           "first, tokens between runs of bytes up to 0x20; no second token or a null name: null; else 'X X', also "
                           "where the visibility is null"},
    {NULL, NULL},
};

bool redact_is_own(const Case *problem) {
    return redact_family(problem->input) < 0;
}

Status redact_check_bytes(DType offsets, const char *what, size_t bytes) {
    if (offsets != DTYPE_I32 || bytes <= INT32_MAX) return STATUS_OK;
    return status_fail(STATUS_INVALID, "%s: %zu bytes; int32 offsets hold %d; use dtype=i64", what, bytes, INT32_MAX);
}

static RedactNulls nulls_of(const Case *problem) {
    return (RedactNulls)params_choice(&problem->params, "nulls");
}

/* What the rows own; of the user's own data, what the arrays hold. */
static RedactSizes sizes_of(const Case *problem) {
    if (!redact_is_own(problem))
        return redact_family_sizes(redact_family(problem->input), nulls_of(problem), vector_size(problem, "rows"));
    const size_t redacted = vector_size(problem, "redacted_bytes");
    return (RedactSizes){vector_size(problem, "names_bytes"), vector_size(problem, "visibilities_bytes"), {redacted, redacted}};
}

static Status no_sizes_given(const Case *problem) {
    static const char *const names[] = {"names_bytes", "visibilities_bytes", "redacted_bytes"};
    for (int i = 0; i < 3; i++)
        if (vector_size(problem, names[i]) != 0)
            return status_fail(STATUS_INVALID, "%s=%zu, but input=%s decides the bytes; only data of your own sets it", names[i],
                               vector_size(problem, names[i]), problem->input);
    return STATUS_OK;
}

static Status shapes(const Case *problem, Array *in, Array *out) {
    if (!redact_is_own(problem)) TRY(no_sizes_given(problem));
    const RedactSizes sizes = sizes_of(problem);
    const size_t rows = vector_size(problem, "rows"), bitmap = redact_validity_bytes(rows);
    const bool slice = params_choice(&problem->params, "slice") != 0 && !redact_is_own(problem);
    const RedactNulls nulls = nulls_of(problem);
    const size_t names = sizes.names + (slice ? REDACT_NAMES_BEFORE + REDACT_NAMES_AFTER : 0);
    const size_t visibilities = sizes.visibilities + (slice ? REDACT_VISIBILITIES_BEFORE + REDACT_VISIBILITIES_AFTER : 0);
    const size_t exact = sizes.redacted[REDACT_EXACT], api = sizes.redacted[REDACT_API], redacted = exact > api ? exact : api;
    TRY(redact_check_bytes(problem->dtype, "names.chars", names));
    TRY(redact_check_bytes(problem->dtype, "visibilities.chars", visibilities));
    TRY(redact_check_bytes(problem->dtype, "redacted.chars", redacted));
    in[REDACT_NAMES_OFFSETS] = array_1d("names.offsets", problem->dtype, rows + 1);
    in[REDACT_NAMES_CHARS] = array_1d("names.chars", DTYPE_U8, names);
    in[REDACT_NAMES_VALIDITY] = array_1d("names.validity", DTYPE_U8, redact_names_have_nulls(nulls) ? bitmap : 0);
    in[REDACT_VISIBILITIES_OFFSETS] = array_1d("visibilities.offsets", problem->dtype, rows + 1);
    in[REDACT_VISIBILITIES_CHARS] = array_1d("visibilities.chars", DTYPE_U8, visibilities);
    in[REDACT_VISIBILITIES_VALIDITY] =
        array_1d("visibilities.validity", DTYPE_U8, redact_visibilities_have_nulls(nulls) ? bitmap : 0);
    out[REDACT_OFFSETS] = array_1d("redacted.offsets", problem->dtype, rows + 1);
    out[REDACT_CHARS] = array_1d("redacted.chars", DTYPE_U8, redacted);
    out[REDACT_VALIDITY] = array_1d("redacted.validity", DTYPE_U8, bitmap);
    return STATUS_OK;
}

/* column: offsets, chars, validity. */
static Status adopt_column(const Array *column, const char *word, size_t rows, bool *has_nulls) {
    static const char *const parts[] = {"offsets", "chars", "validity"};
    *has_nulls = column[2].rank >= 0 && column[2].shape[0] > 0;
    for (int i = 0; i < 3; i++) {
        if (i == 2 && column[2].rank < 0) continue;
        if (column[i].rank < 0)
            return status_fail(STATUS_INVALID, "%s.%s: missing; an Arrow column has one: give --in %s=FILE, or its arrays", word,
                               parts[i], word);
        if (column[i].rank != 1)
            return status_fail(STATUS_INVALID, "%s.%s: one dimension is expected, not %d", word, parts[i], column[i].rank);
        const DType dtype = column[i].dtype;
        if (i == 0 ? dtype != DTYPE_I32 && dtype != DTYPE_I64 : dtype != DTYPE_U8)
            return status_fail(STATUS_INVALID, "%s.%s: %s is expected, not %s", word, parts[i], i == 0 ? "i32 or i64" : "u8",
                               dtype_name(dtype));
    }
    if (column[0].shape[0] != rows + 1)
        return status_fail(STATUS_INVALID, "%s.offsets: one more than rows, [%zu], is expected, not [%zu]", word, rows + 1,
                           column[0].shape[0]);
    if (*has_nulls && column[2].shape[0] != redact_validity_bytes(rows))
        return status_fail(STATUS_INVALID, "%s.validity: a bit for each of %zu rows, [%zu], is expected, not [%zu]", word, rows,
                           redact_validity_bytes(rows), column[2].shape[0]);
    char what[ARRAY_NAME_MAX];
    snprintf(what, sizeof what, "%s.chars", word);
    return redact_check_bytes(column[0].dtype, what, column[1].shape[0]);
}

/* What the output can need by either oracle: counted where the data is there, and bounded where only its shape is. */
static Status most_redacted(const Array *in, size_t rows, bool names_null, bool visibilities_null, size_t *most) {
    Array present[REDACT_INPUT_COUNT];
    memcpy(present, in, sizeof present);
    if (!names_null) present[REDACT_NAMES_VALIDITY] = array_1d("names.validity", DTYPE_U8, 0);
    if (!visibilities_null) present[REDACT_VISIBILITIES_VALIDITY] = array_1d("visibilities.validity", DTYPE_U8, 0);
    *most = in[REDACT_NAMES_CHARS].shape[0] + 5 * rows; /* a first character of four bytes, a space, the whole name */
    for (int i = 0; i < REDACT_INPUT_COUNT; i++)
        if (!present[i].data && array_count(&present[i]) > 0) {
            if (in[REDACT_NAMES_OFFSETS].dtype == DTYPE_I32 && *most > INT32_MAX) *most = INT32_MAX;
            return STATUS_OK;
        }
    size_t bytes[REDACT_BOUND_COUNT];
    for (int b = 0; b < REDACT_BOUND_COUNT; b++) TRY(redact_count(present, (RedactBound)b, &bytes[b]));
    *most = bytes[REDACT_EXACT] > bytes[REDACT_API] ? bytes[REDACT_EXACT] : bytes[REDACT_API];
    return STATUS_OK;
}

static Status adopt(const Array *in, Case *problem) {
    const Array *names = &in[REDACT_NAMES_OFFSETS], *visibilities = &in[REDACT_VISIBILITIES_OFFSETS];
    if (names->rank == 1 && names->shape[0] == 0)
        return status_fail(STATUS_INVALID, "names.offsets: one more than rows is expected, and at least one");
    const size_t rows = names->rank == 1 ? names->shape[0] - 1 : 0;
    bool names_null, visibilities_null;
    TRY(adopt_column(names, "names", rows, &names_null));
    TRY(adopt_column(visibilities, "visibilities", rows, &visibilities_null));
    if (visibilities->dtype != names->dtype)
        return status_fail(STATUS_INVALID, "visibilities.offsets: %s is expected, as names.offsets is, not %s",
                           dtype_name(names->dtype), dtype_name(visibilities->dtype));
    size_t redacted;
    TRY(most_redacted(in, rows, names_null, visibilities_null, &redacted));
    TRY(redact_check_bytes(names->dtype, "redacted.chars", redacted));
    problem->dtype = names->dtype;
    snprintf(problem->input, sizeof problem->input, "own");
    TRY(vector_set_size(problem, "rows", rows));
    TRY(vector_set_size(problem, "names_bytes", names[1].shape[0]));
    TRY(vector_set_size(problem, "visibilities_bytes", visibilities[1].shape[0]));
    TRY(vector_set_size(problem, "redacted_bytes", redacted));
    TRY(params_set(&problem->params, "slice", SLICE[0]));
    return params_set(&problem->params, "nulls",
                      NULLS[names_null && visibilities_null ? REDACT_NULLS_SOME
                            : names_null                    ? REDACT_NULLS_NAMES
                            : visibilities_null             ? REDACT_NULLS_VISIBILITIES
                                                            : REDACT_NULLS_NONE]);
}

/* Each byte that a row owns, each offset and each bitmap once. */
static Work work(const Case *problem) {
    const RedactSizes sizes = sizes_of(problem);
    const RedactNulls nulls = nulls_of(problem);
    const double rows = (double)vector_size(problem, "rows");
    const int bitmaps = (redact_names_have_nulls(nulls) ? 1 : 0) + (redact_visibilities_have_nulls(nulls) ? 1 : 0) +
                        (nulls != REDACT_NULLS_NONE ? 1 : 0);
    return (Work){.bytes = (double)(sizes.names + sizes.visibilities + sizes.redacted[REDACT_EXACT]) +
                           3 * (rows + 1) * (double)dtype_size(problem->dtype) +
                           bitmaps * (double)redact_validity_bytes(vector_size(problem, "rows")),
                  .elements = rows};
}

RUNGS_OP(redact) = {
    .name = "redact",
    .summary = "names whose visibility is 'public' become 'L John', all others 'X X', over Arrow columns of strings",
    .params = PARAMS,
    .dtypes = DTYPES,
    .families = REDACT_FAMILY_NAMES,
    .bounds = BOUNDS,
    .in_count = REDACT_INPUT_COUNT,
    .out_count = REDACT_OUTPUT_COUNT,
    .sized_by_data = true,
    .text = 1 + REDACT_NAMES_CHARS,
    .shapes = shapes,
    .adopt = adopt,
    .generate = redact_generate,
    .exact = redact_exact,
    .work = work,
    .least_read = redact_least_read,
};
