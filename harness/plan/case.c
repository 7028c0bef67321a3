#include "plan/case.h"

#include "base/text.h"
#include "plan/registry.h"
#include "verify/families.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char BLANKS[] = " \t\r\n";

/* What every case has beside the op's parameters, in the order in which it is printed. */
enum { COMMON_DTYPE, COMMON_ACCUMULATE, COMMON_INPUT, COMMON_SEED, COMMON_COUNT };
static const char *const COMMON[COMMON_COUNT] = {"dtype", "accumulate", "input", "seed"};

static bool has_common(const Case *problem, int i) {
    return i != COMMON_ACCUMULATE || registry_op(problem->op)->accumulates;
}

/* 0 .. count-1: a parameter; from count on: COMMON; -1: unknown. */
static int name_index(const Case *problem, const char *name) {
    for (int i = 0; i < problem->params.count; i++)
        if (strcmp(problem->params.specs[i].name, name) == 0) return i;
    for (int i = 0; i < COMMON_COUNT; i++)
        if (strcmp(COMMON[i], name) == 0 && has_common(problem, i)) return problem->params.count + i;
    return -1;
}

bool case_has(const Case *problem, const char *name) {
    return name_index(problem, name) >= 0;
}

const DType *case_dtypes(const Op *op) {
    static const DType FLOATING[] = {DTYPE_F64, DTYPE_F32, DTYPE_COUNT};
    return op->dtypes ? op->dtypes : FLOATING;
}

Status case_init(const Op *op, Case *out) {
    *out = (Case){.op = op->name, .dtype = case_dtypes(op)[0], .seed = 1};
    TRY(params_init(op->params, &out->params));
    const char *family = op->families && op->families[0] ? op->families[0] : "uniform";
    snprintf(out->input, sizeof out->input, "%s", family);
    return STATUS_OK;
}

static Status unknown_name(const Case *problem, const char *name) {
    const char *names[PARAMS_MAX + COMMON_COUNT];
    int count = 0;
    for (int i = 0; i < problem->params.count; i++) names[count++] = problem->params.specs[i].name;
    for (int i = 0; i < COMMON_COUNT; i++)
        if (has_common(problem, i)) names[count++] = COMMON[i];
    return text_fail_listing(text_nearest(name, names, count), "known", names, count, "unknown parameter '%.80s' of %s", name,
                             problem->op);
}

/* An op lists families by name. "real:NAME" stands for every real series, "offset" for offset1e3 and its like: what follows is for
 * family_check to judge. */
static bool family_listed(const char *listed, const char *name) {
    if (strcmp(listed, name) == 0) return true;
    size_t stem = strlen(listed);
    while (stem > 0 && listed[stem - 1] >= 'A' && listed[stem - 1] <= 'Z') stem--;
    if (strncmp(listed, name, stem) != 0) return false;
    double number;
    const bool digits = stem > 0 && listed[stem - 1] >= '0' && listed[stem - 1] <= '9';
    return listed[stem] ? name[stem] != '\0' : !digits && text_real(name + stem, &number);
}

static Status set_input(const Op *op, Case *problem, const char *text) {
    int count = 0;
    bool listed = false;
    for (; op->families && op->families[count]; count++) listed = listed || family_listed(op->families[count], text);
    if (!listed)
        return text_fail_listing(text_nearest(text, op->families, count), "allowed", op->families, count,
                                 "input='%.80s' is not an input family of %s", text, op->name);
    if (strlen(text) >= sizeof problem->input)
        return status_fail(STATUS_INVALID, "input='%.80s': at most %zu characters are allowed", text, sizeof problem->input - 1);
    if (dtype_is_real(case_dtypes(op)[0])) TRY(family_check(text));
    snprintf(problem->input, sizeof problem->input, "%s", text);
    return STATUS_OK;
}

static bool dtype_allowed(const Op *op, DType dtype) {
    for (const DType *allowed = case_dtypes(op); *allowed != DTYPE_COUNT; allowed++)
        if (*allowed == dtype) return true;
    return false;
}

static Status set_dtype(const Op *op, Case *problem, const char *text) {
    DType dtype;
    if (dtype_parse(text, &dtype) && dtype_allowed(op, dtype)) {
        problem->dtype = dtype;
        return STATUS_OK;
    }
    const char *names[DTYPE_COUNT];
    int count = 0;
    for (int d = 0; d < DTYPE_COUNT; d++)
        if (dtype_allowed(op, (DType)d)) names[count++] = dtype_name((DType)d);
    return text_fail_listing(NULL, "allowed", names, count, "dtype='%.80s' is not allowed", text);
}

static bool may_accumulate(const Op *op, DType dtype, DType sums) {
    const DType usual = case_usual_sums(dtype), *allowed = op->accumulates;
    while (*allowed != sums && *allowed != DTYPE_COUNT) allowed++;
    const bool wider = dtype_unit_roundoff(sums) < dtype_unit_roundoff(usual);
    return sums == usual || (*allowed == sums && (sums == dtype || wider));
}

static Status set_accumulate(const Op *op, Case *problem, const char *text) {
    DType sums = DTYPE_COUNT;
    const char *names[DTYPE_COUNT];
    int count = 0;
    for (const DType *allowed = op->accumulates; *allowed != DTYPE_COUNT; allowed++) names[count++] = dtype_name(*allowed);
    if (dtype_parse(text, &sums))
        for (const DType *allowed = op->accumulates; *allowed != DTYPE_COUNT; allowed++)
            if (*allowed == sums) problem->accumulate = 1 + (int)sums;
    if (problem->accumulate == 1 + (int)sums) return STATUS_OK;
    return text_fail_listing(NULL, "allowed", names, count, "accumulate='%.80s' is not allowed", text);
}

Status case_complete(const Op *op, const Case *problem) {
    TRY(params_complete(&problem->params));
    if (!problem->accumulate || may_accumulate(op, problem->dtype, case_sums(problem))) return STATUS_OK;
    const char *names[DTYPE_COUNT];
    int count = 0;
    for (int d = 0; d < DTYPE_COUNT; d++)
        if (may_accumulate(op, problem->dtype, (DType)d)) names[count++] = dtype_name((DType)d);
    return text_fail_listing(NULL, "allowed", names, count, "accumulate=%s is not allowed with dtype=%s",
                             dtype_name(case_sums(problem)), dtype_name(problem->dtype));
}

static Status set_seed(Case *problem, const char *text) {
    long long seed;
    if (!text_integer(text, &seed) || seed < 0)
        return status_fail(STATUS_INVALID, "seed='%.80s' is not an integer; allowed: integers (also 1e8, 2^22) from 0 to 2^53 - 1",
                           text);
    problem->seed = (uint64_t)seed;
    return STATUS_OK;
}

Status case_set(const Op *op, Case *problem, const char *name, const char *text) {
    const int index = name_index(problem, name);
    if (index < 0) return unknown_name(problem, name);
    switch (index - problem->params.count) {
    case COMMON_DTYPE:
        return set_dtype(op, problem, text);
    case COMMON_ACCUMULATE:
        return set_accumulate(op, problem, text);
    case COMMON_INPUT:
        return set_input(op, problem, text);
    case COMMON_SEED:
        return set_seed(problem, text);
    default:
        return params_set(&problem->params, name, text);
    }
}

/* Sets one "name=value" (NUL-terminated, taken apart in place); `seen` has a bit per name met so far. */
static Status set_word(const Op *op, Case *problem, char *word, unsigned *seen) {
    char *equals = strchr(word, '=');
    if (!equals || equals == word)
        return status_fail(STATUS_INVALID, "'%.80s' is not allowed here; name=value is expected, such as dtype=f64", word);
    *equals = '\0';
    const int index = name_index(problem, word);
    if (index < 0) return unknown_name(problem, word);
    if (*seen & 1u << index) return status_fail(STATUS_INVALID, "'%s' is given twice; once is allowed", word);
    *seen |= 1u << index;
    return case_set(op, problem, word, equals + 1);
}

/* The next word between blanks, NUL-terminated in place; NULL at the end. */
static char *next_word(char **at) {
    char *word = *at + strspn(*at, BLANKS);
    if (*word == '\0') return NULL;
    char *end = word + strcspn(word, BLANKS);
    *at = *end ? end + 1 : end;
    *end = '\0';
    return word;
}

Status case_parse(const char *text, Case *out) {
    char line[CASE_TEXT_MAX];
    const size_t length = strlen(text);
    if (length >= sizeof line)
        return status_fail(STATUS_INVALID, "column %zu: a case is at most %zu characters long, not %zu", sizeof line,
                           sizeof line - 1, length);
    memcpy(line, text, length + 1);
    char *at = line;
    const char *name = next_word(&at);
    const Op *op;
    if (!name) return status_fail(STATUS_INVALID, "column 1: the case is empty; an op is expected, then name=value words");
    Status status = registry_require_op(name, &op);
    if (status != STATUS_OK) return status_prefix(status, "column %zu: ", (size_t)(name - line) + 1);
    TRY(case_init(op, out));
    unsigned seen = 0;
    for (char *word; (word = next_word(&at));) {
        status = set_word(op, out, word, &seen);
        if (status != STATUS_OK) return status_prefix(status, "column %zu: ", (size_t)(word - line) + 1);
    }
    status = case_complete(op, out);
    return status == STATUS_OK ? STATUS_OK : status_prefix(status, "column %zu: ", length + 1);
}

char *case_format(const Case *problem, char *text, size_t size) {
    const size_t op = (size_t)snprintf(text, size, "%s", problem->op);
    if (op >= size) return text;
    const size_t used = op + params_format(&problem->params, false, text + op, size - op);
    const bool usual = case_is_usual(problem);
    if (used < size)
        snprintf(text + used, size - used, " dtype=%s%s%s input=%s seed=%" PRIu64, dtype_name(problem->dtype),
                 usual ? "" : " accumulate=", usual ? "" : dtype_name(case_sums(problem)), problem->input, problem->seed);
    return text;
}

bool case_same(const Case *a, const Case *b) {
    char text[CASE_TEXT_MAX], other[CASE_TEXT_MAX];
    if (a->seed != b->seed || a->dtype != b->dtype || strcmp(a->input, b->input) != 0) return false; /* quickly, in most cases */
    return strcmp(case_format(a, text, sizeof text), case_format(b, other, sizeof other)) == 0;
}
