/* Element i of a family is a function of (seed, stream, i) alone. A family is one line in EACH_FAMILY and one function. */
#include "verify/families.h"

#include "base/numbers.h"
#include "base/rng.h"
#include "base/text.h"
#include "base/vary.h"
#include "verify/elementary.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define EACH_FAMILY(F)                                                                                                             \
    F(uniform, "U(0,1)")                                                                                                           \
    F(normal, "N(0,1)")                                                                                                            \
    F(ones, "1 everywhere")                                                                                                        \
    F(ramp, "x[i] = i, as in the published benchmarks")                                                                            \
    F(constant, "one awkward value: 0.1 times an integer that the seed chooses")                                                   \
    F(integers, "random integers from -8 to 8")                                                                                    \
    F(offset, "a number follows: offset1e8 is 1e8 + N(0,1)")                                                                       \
    F(spike1e16, "U(0,1) with one 1e16 in every 100000 elements, at least one")                                                    \
    F(outlier, "N(0,1) with one 1e150 in every 100000 elements, at least one; f32 and bf16: 1e15, f16: 3e4")                       \
    F(alternating, "large values of alternating sign that nearly cancel")                                                          \
    F(mixed, "both signs, magnitudes from 2^-40 to 2^40; f16: 2^-10 to 2^10")                                                      \
    F(denormal, "subnormal numbers of the dtype, both signs")                                                                      \
    F(naninf, "U(0,1) with a NaN, a +inf and a -inf near each other in every 100000 elements")                                     \
    F(gaps, "N(0,1) with runs of NaN: up to 64 in every 128 elements, 128 at most")                                                \
    F(sorted, "ascending, in (0,1)")                                                                                               \
    F(heavytail, "Cauchy: no mean, no variance")                                                                                   \
    F(huge, "U(-1,1) times 2^258; f32 and bf16: 2^34, f16 and e5m2: 2^5, e4m3: 2^3: fourth powers overflow")                       \
    F(overflow, "U(-1,1) times most of the range of the dtype: of f16, sums leave it that f32 holds")                              \
    F(sparse, "N(0,1) in 1 of 64 elements, 0 in others: sums of few terms")                                                        \
    F(own, "as generate() of the op makes them")

enum {
    KEYS = 4,
    PERIOD = 100000 /* elements per planted event */,
    CLUSTER = 512 /* elements that hold one of each, naninf */,
    GAP_MAX = 64 /* NaN in every 2 GAP_MAX elements */
};

/* What the elements of one array have in common. */
typedef struct Draw {
    uint64_t key[KEYS]; /* independent random sequences */
    size_t n;
    DType dtype;
    double offset;
} Draw;

/* What follows from the range of a type. */
static const struct Range {
    double outlier;
    int mixed, huge, end; /* exponents */
    int fraction, lowest; /* bits of a subnormal number, exponent of the least */
} RANGES[DTYPE_COUNT] = {[DTYPE_F64] = {1e150, 40, 258, 1024, 52, -1074},
                         [DTYPE_F32] = {1e15, 40, 34, 128, 23, -149},
                         [DTYPE_F16] = {3e4, 10, 5, 16, 10, -24},
                         [DTYPE_BF16] = {1e15, 40, 34, 128, 7, -133},
                         [DTYPE_E4M3] = {256, 5, 3, 8, 3, -9},
                         [DTYPE_E5M2] = {3e4, 10, 5, 16, 2, -16}};

static double uniform_at(const Draw *d, size_t i) {
    return rng_uniform(d->key[0], i);
}

/* Box and Muller's transform; the sine half is left unused so that each element stands alone. */
static double normal_at(const Draw *d, size_t i) {
    double sine, cosine;
    elementary_turn(rng_uniform(d->key[1], i), &sine, &cosine);
    return sqrt(-2 * elementary_log(rng_uniform(d->key[0], i))) * cosine;
}

static double ones_at(const Draw *d, size_t i) {
    return (void)d, (void)i, 1;
}

static double ramp_at(const Draw *d, size_t i) {
    return (void)d, (double)i;
}

static double constant_at(const Draw *d, size_t i) {
    return (void)i, vary_constant(d->key[0], d->key[1]);
}

static double integers_at(const Draw *d, size_t i) {
    return (double)(rng_at(d->key[0], i) % 17) - 8;
}

static double offset_at(const Draw *d, size_t i) {
    return d->offset + normal_at(d, i);
}

static double spike1e16_at(const Draw *d, size_t i) {
    const size_t period = i / PERIOD, room = period == 0 && d->n < PERIOD ? d->n : PERIOD;
    return i % PERIOD == rng_at(d->key[1], period) % room ? 1e16 : uniform_at(d, i);
}

static double outlier_at(const Draw *d, size_t i) {
    const size_t period = i / PERIOD, room = period == 0 && d->n < PERIOD ? d->n : PERIOD;
    const bool planted = i % PERIOD == rng_at(d->key[2], period) % room;
    return !planted ? normal_at(d, i) : RANGES[d->dtype].outlier;
}

static double alternating_at(const Draw *d, size_t i) {
    return (i % 2 ? -1e8 : 1e8) * (1 + uniform_at(d, i));
}

static double mixed_at(const Draw *d, size_t i) {
    const int range = RANGES[d->dtype].mixed;
    const uint64_t bits = rng_at(d->key[1], i);
    const double magnitude = ldexp(1 + uniform_at(d, i), (int)((bits >> 1) % (2 * (uint64_t)range)) - range);
    return bits & 1 ? -magnitude : magnitude;
}

static double denormal_at(const Draw *d, size_t i) {
    const uint64_t bits = rng_at(d->key[0], i);
    const struct Range *range = &RANGES[d->dtype];
    const double magnitude = ldexp((double)(bits >> (64 - range->fraction)), range->lowest);
    return bits & 1 ? -magnitude : magnitude;
}

/* A cluster of at most CLUSTER elements at a random place in each period; each third of it holds one of the three, in an order that
 * turns with the seed. Most windows are clean, some see one, some see both infinities. */
static double naninf_at(const Draw *d, size_t i) {
    static const double planted[] = {NAN, INFINITY, -INFINITY};
    const size_t period = i / PERIOD, at = i % PERIOD, room = period == 0 && d->n < PERIOD ? d->n : PERIOD;
    const size_t third = (room < 2 * CLUSTER ? room / 2 : CLUSTER) / 3;
    const size_t start = third ? rng_at(d->key[1], period) % (room - 3 * third + 1) : at + 1;
    if (at >= start && at < start + 3 * third) {
        const size_t which = (at - start) / third;
        const uint64_t bits = rng_at(d->key[2], 3 * period + which);
        if ((at - start) % third == (bits >> 8) % third) return planted[(which + rng_at(d->key[3], period)) % 3];
    }
    return uniform_at(d, i);
}

static double gaps_at(const Draw *d, size_t i) {
    const size_t block = i / (2 * GAP_MAX), at = i % (2 * GAP_MAX);
    const size_t start = rng_at(d->key[2], block) % (GAP_MAX + 1), length = rng_at(d->key[3], block) % (GAP_MAX + 1);
    return at >= start && at < start + length ? NAN : normal_at(d, i);
}

static double sorted_at(const Draw *d, size_t i) {
    return ((double)i + uniform_at(d, i)) / (double)d->n;
}

static double heavytail_at(const Draw *d, size_t i) {
    double sine, cosine;
    elementary_turn(0.5 * uniform_at(d, i), &sine, &cosine); /* the cotangent of half a turn */
    return cosine / sine;
}

static double huge_at(const Draw *d, size_t i) {
    return ldexp(2 * uniform_at(d, i) - 1, RANGES[d->dtype].huge);
}

static double overflow_at(const Draw *d, size_t i) {
    return ldexp(0.87 * (2 * uniform_at(d, i) - 1), RANGES[d->dtype].end); /* 0.875: the largest of e5m2 */
}

static double sparse_at(const Draw *d, size_t i) {
    return rng_at(d->key[2], i) % 64 ? 0 : normal_at(d, i);
}

static double own_at(const Draw *d, size_t i) {
    return uniform_at(d, i);
}

#define FAMILY_LINE(word, summary) {#word, summary},
#define FAMILY_FUNCTION(word, summary) word##_at,

const Family FAMILIES[] = {EACH_FAMILY(FAMILY_LINE){NULL, NULL}};

typedef double (*ElementAt)(const Draw *draw, size_t i);
static const ElementAt ELEMENTS[] = {EACH_FAMILY(FAMILY_FUNCTION)};

static const char REAL[] = "real:", OFFSET[] = "offset";

static bool starts_with(const char *text, const char *prefix) {
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

static Status unknown_family(const char *name) {
    enum { COUNT = sizeof ELEMENTS / sizeof *ELEMENTS };
    const char *names[COUNT], *known[COUNT + 1];
    for (int i = 0; i < COUNT; i++) {
        names[i] = FAMILIES[i].name;
        known[i] = strcmp(names[i], OFFSET) == 0 ? "offset1e3 .. offset1e9" : names[i];
    }
    known[COUNT] = "real:NAME";
    return text_fail_listing(text_nearest(name, names, COUNT), "known", known, COUNT + 1, "unknown input family '%s'", name);
}

/* The family's index and, for offsetNUMBER, the number. */
static Status find(const char *name, int *index, double *offset) {
    *offset = 0;
    for (int i = 0; FAMILIES[i].name; i++) {
        const bool takes_number = strcmp(FAMILIES[i].name, OFFSET) == 0;
        if (takes_number ? !starts_with(name, OFFSET) : strcmp(name, FAMILIES[i].name) != 0) continue;
        *index = i;
        if (!takes_number) return STATUS_OK;
        if (text_real(name + strlen(OFFSET), offset) && *offset >= 0 && *offset <= FLT_MAX / 2) return STATUS_OK;
        return status_fail(STATUS_INVALID, "input family '%s': a number from 0 to 1e38 must follow 'offset', as in offset1e8",
                           name);
    }
    return unknown_family(name);
}

Status family_check(const char *name) {
    int index;
    double offset;
    if (starts_with(name, REAL)) return family_real_check(name + strlen(REAL));
    return find(name, &index, &offset);
}

/* VARY_MIX: the family has a seed. */
static VaryHow variation_of(const char *family) {
    if (strcmp(family, "ramp") == 0) return VARY_STEPS;
    if (strcmp(family, "ones") == 0) return VARY_LEVELS;
    if (strcmp(family, "constant") == 0) return VARY_VALUE;
    return starts_with(family, REAL) ? VARY_FACTORS : VARY_MIX;
}

Status family_fill(const Case *problem, uint64_t stream, Array *array) {
    if (!dtype_is_real(array->dtype))
        return status_fail(STATUS_INTERNAL, "%s: input families are for floating-point numbers, not %s", array->name,
                           dtype_name(array->dtype));
    if (starts_with(problem->input, REAL)) return family_real_fill(problem->input + strlen(REAL), problem->seed, stream, array);
    int index;
    Draw draw = {.n = array_count(array), .dtype = array->dtype};
    TRY(find(problem->input, &index, &draw.offset));
    if (variation_of(problem->input) == VARY_STEPS && 1.125 * (double)draw.n > 1 / dtype_unit_roundoff(array->dtype) &&
        dtype_is_narrow(array->dtype))
        return status_fail(STATUS_UNSUPPORTED,
                           "input=ramp counts up to n, and %s has whole numbers up to %g: another family, or a smaller n",
                           dtype_name(array->dtype), 1 / dtype_unit_roundoff(array->dtype));
    for (uint64_t k = 0; k < KEYS; k++) draw.key[k] = rng_at(rng_at(problem->seed, stream), k);
    const ElementAt element_at = ELEMENTS[index];
    bool beyond = false;
#pragma omp parallel for schedule(static) reduction(|| : beyond)
    for (size_t i = 0; i < draw.n; i++) {
        const double x = element_at(&draw, i);
        number_put(array, i, x);
        if (!dtype_is_narrow(array->dtype) || !isfinite(x) || isfinite(number_at(array, i))) continue;
        if (element_at == heavytail_at)
            number_put(array, i, copysign(narrow_largest(narrow_form(array->dtype)), x));
        else
            beyond = true;
    }
    if (beyond)
        return status_fail(STATUS_UNSUPPORTED, "input=%s has numbers beyond the range of %s (largest %g): another family",
                           problem->input, dtype_name(array->dtype), narrow_largest(narrow_form(array->dtype)));
    return STATUS_OK;
}

/* ---- The inputs of timed calls, and other data of families that a seed does not change (ramp, ones, real:NAME): NaN keeps its
 * places, the scale stays, and no scaled, shifted or rotated result of another draw is correct. */

/* Has it the family's numbers, or others that Op.generate put there? */
static bool is_plain(VaryHow how, const Array *in) {
    enum { LOOKS = 64 };
    const size_t n = array_count(in);
    for (size_t k = 0; k < LOOKS && n > 0; k++) {
        const size_t i = k * (n - 1) / (LOOKS - 1);
        const double expected = how == VARY_STEPS    ? number_rounded(in->dtype, (double)i)
                                : how == VARY_LEVELS ? 1
                                                     : number_at(in, 0);
        if (number_at(in, i) != expected) return false;
    }
    return true;
}

/* Families whose finite elements are drawn independently and alike: another place is as good. */
static bool is_drawn_alike(const Case *problem, const Array *in) {
    static const char *const words[] = {"uniform", "normal",   "integers", "mixed",  "denormal", "naninf",   "heavytail",
                                        "huge",    "overflow", "gaps",     "sparse", "outlier",  "spike1e16"};
    enum { LOOKS = 64 };
    int index = -1;
    Draw draw = {.n = array_count(in), .dtype = in->dtype};
    bool alike = starts_with(problem->input, OFFSET);
    for (size_t k = 0; k < sizeof words / sizeof *words; k++) alike = alike || strcmp(problem->input, words[k]) == 0;
    if (!alike || in->dtype != problem->dtype || find(problem->input, &index, &draw.offset) != STATUS_OK) return false;
    for (uint64_t k = 0; k < KEYS; k++) draw.key[k] = rng_at(rng_at(problem->seed, 0), k);
    for (size_t k = 0; k < LOOKS && draw.n > 0; k++) { /* are they the family's, or others that Op.generate put there? */
        const size_t i = k * (draw.n - 1) / (LOOKS - 1);
        const double drawn = number_rounded(in->dtype, ELEMENTS[index](&draw, i)), given = number_at(in, i);
        if (isfinite(drawn) && given != drawn) return false;
    }
    return true;
}

/* Do offsets, bytes and validity of one column of strings follow each other in the inputs `from`, `from` + 1 and `from` + 2? */
static bool is_column(const Op *op, const Array *all, int from) {
    static const char *const parts[] = {".offsets", ".chars", ".validity"};
    if (from < 0 || from + 3 > op->in_count || array_count(&all[from]) == 0) return false;
    for (int i = 0; i < 3; i++) {
        const size_t length = strlen(all[from + i].name), part = strlen(parts[i]);
        if (length < part || strcmp(all[from + i].name + length - part, parts[i]) != 0) return false;
    }
    return true;
}

static VaryHow text_vary(const Op *op, int index, const Array *all) {
    const bool letters = op->text == index + 1;
    if (is_column(op, all, index)) return VARY_ROW_OFFSETS;
    if (is_column(op, all, index - 1)) return letters ? VARY_ROW_LETTERS : VARY_ROW_BYTES;
    if (is_column(op, all, index - 2)) return VARY_ROW_BITS;
    return letters ? VARY_LETTERS : VARY_NOTHING;
}

VaryHow family_vary(const Op *op, const Case *problem, int index, const Array *all) {
    const Array *in = &all[index];
    if (op->text > 0) return text_vary(op, index, all);
    if (!dtype_is_real(in->dtype)) return VARY_NOTHING;
    const VaryHow how = dtype_is_real(problem->dtype) ? variation_of(problem->input) : VARY_MIX;
    if (how == VARY_MIX && index == 0 && is_drawn_alike(problem, in)) return VARY_SHUFFLE;
    const bool own = index == 0 && (how == VARY_FACTORS || how == VARY_MIX || is_plain(how, in));
    return own ? how : VARY_MIX;
}

/* ---- Inputs of a case. */

/* anew: the case's seed gives other data, for a family without one by varying those of `named`. */
static Status family_input_by(const Op *op, const Case *named, const Case *problem, bool anew, int index, Array *in) {
    const uint64_t stream = (uint64_t)index;
    if (dtype_is_real(in->dtype)) {
        const VaryHow how = dtype_is_real(problem->dtype) ? variation_of(problem->input) : VARY_MIX;
        const bool varied = anew && how != VARY_MIX && how != VARY_VALUE;
        TRY(family_fill(varied ? named : problem, stream, in));
        const Vary vary = vary_open(how, rng_at(rng_at(problem->seed, stream), KEYS), array_count(in));
        if (varied) vary_all(&vary, in->dtype, array_count(in), in->data, NULL, in->data);
    } else if (array_bytes(in) > 0) {
        memset(in->data, 0, array_bytes(in));
    }
    return op->generate ? op->generate(problem, index, in) : STATUS_OK;
}

Status family_input(const Op *op, const Case *problem, int index, Array *in) {
    return family_input_by(op, problem, problem, false, index, in);
}

Status family_input_anew(const Op *op, const Case *named, const Case *problem, int index, Array *in) {
    return family_input_by(op, named, problem, true, index, in);
}
