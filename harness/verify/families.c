/* Element i of a family is a function of (seed, stream, i) alone. A family is one line in EACH_FAMILY and one function. */
#include "verify/families.h"

#include "base/rng.h"
#include "base/text.h"
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
    F(outlier, "N(0,1) with one 1e150 in every 100000 elements, at least one; f32: 1e15")                                          \
    F(alternating, "large values of alternating sign that nearly cancel")                                                          \
    F(mixed, "both signs, magnitudes from 2^-40 to 2^40")                                                                          \
    F(denormal, "subnormal numbers of the dtype, both signs")                                                                      \
    F(naninf, "U(0,1) with a NaN, a +inf and a -inf near each other in every 100000 elements")                                     \
    F(gaps, "N(0,1) with runs of NaN: up to 64 in every 128 elements, 128 at most")                                                \
    F(sorted, "ascending, in (0,1)")                                                                                               \
    F(heavytail, "Cauchy: no mean, no variance")                                                                                   \
    F(huge, "U(-1,1) times 2^34 in f32, 2^258 in f64: fourth powers overflow")

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
    return (void)i, 0.1 * (double)(5 * (d->key[0] % 199) + 1 + (d->key[1] & 3));
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
    return !planted ? normal_at(d, i) : d->dtype == DTYPE_F32 ? 1e15 : 1e150;
}

static double alternating_at(const Draw *d, size_t i) {
    return (i % 2 ? -1e8 : 1e8) * (1 + uniform_at(d, i));
}

static double mixed_at(const Draw *d, size_t i) {
    const uint64_t bits = rng_at(d->key[1], i);
    const double magnitude = ldexp(1 + uniform_at(d, i), (int)((bits >> 1) % 80) - 40);
    return bits & 1 ? -magnitude : magnitude;
}

static double denormal_at(const Draw *d, size_t i) {
    const uint64_t bits = rng_at(d->key[0], i);
    const double magnitude = d->dtype == DTYPE_F32 ? ldexp((double)(bits >> 41), -149) : ldexp((double)(bits >> 12), -1074);
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
    return ldexp(2 * uniform_at(d, i) - 1, d->dtype == DTYPE_F32 ? 34 : 258);
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

static void put(Array *array, size_t i, double value) {
    if (array->dtype == DTYPE_F64)
        ((double *)array->data)[i] = value;
    else
        ((float *)array->data)[i] = (float)value;
}

static double array_number(const Array *array, size_t i) {
    return array->dtype == DTYPE_F64 ? ((const double *)array->data)[i] : (double)((const float *)array->data)[i];
}

Status family_fill(const Case *problem, uint64_t stream, Array *array) {
    if (array->dtype != DTYPE_F32 && array->dtype != DTYPE_F64)
        return status_fail(STATUS_INTERNAL, "%s: input families are for f32 and f64, not %s", array->name,
                           dtype_name(array->dtype));
    if (starts_with(problem->input, REAL)) return family_real_fill(problem->input + strlen(REAL), problem->seed, stream, array);
    int index;
    Draw draw = {.n = array_count(array), .dtype = array->dtype};
    TRY(find(problem->input, &index, &draw.offset));
    for (uint64_t k = 0; k < KEYS; k++) draw.key[k] = rng_at(rng_at(problem->seed, stream), k);
    const ElementAt element_at = ELEMENTS[index];
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < draw.n; i++) put(array, i, element_at(&draw, i));
    return STATUS_OK;
}

/* ---- Varies the families that have no seed (ramp, ones, real:NAME), so that timed calls get different inputs: NaN keeps
 * its places, the scale stays, and no scaled, shifted or rotated result of another draw is correct.
 *
 * The array has up to 64 parts, each with its own draw, so that sums over many elements differ too: draws of single elements would
 * cancel in them. */

typedef enum Variation {
    VARIATION_SEED,   /* the family has a seed: nothing to vary */
    VARIATION_STEPS,  /* ramp: steps of 1, and of 2 once in 8 to 32 elements; whole numbers that ascend, up to 1.125 n */
    VARIATION_LEVELS, /* ones: times 1 + m / 64, 1 <= m <= 16, one level up or down in 32 to 128 elements; sums stay as exact */
    VARIATION_FACTORS /* real:NAME: times 1 + d, d < 1/32 + 2^-12, the 2^-12 drawn for each 8 to 32 elements, the rest for n / 64 */
} Variation;

enum { PARTS = 64, PART_LEAST = 256, STRIDES = 25 };

typedef struct Variety {
    uint64_t part_key, element_key;
    size_t part_length;
    size_t stride[PARTS], before[PARTS]; /* of each part: elements to a step, and how many steps lie before it */
} Variety;

static Variation variation_of(const char *family) {
    if (strcmp(family, "ramp") == 0) return VARIATION_STEPS;
    if (strcmp(family, "ones") == 0) return VARIATION_LEVELS;
    return strncmp(family, "real:", strlen("real:")) == 0 ? VARIATION_FACTORS : VARIATION_SEED;
}

bool family_reorders(const char *family) {
    const Variation variation = variation_of(family);
    return variation == VARIATION_LEVELS || variation == VARIATION_FACTORS;
}

static void draw_open(Variation variation, uint64_t key, size_t n, Variety *draw) {
    const size_t unit = variation == VARIATION_LEVELS ? 4 : 1;
    *draw = (Variety){.part_key = rng_at(key, 0), .element_key = rng_at(key, 1)};
    draw->part_length = n / PARTS < PART_LEAST ? PART_LEAST : n / PARTS + 1;
    size_t steps = 0;
    for (size_t p = 0; p < PARTS; p++) {
        draw->stride[p] = unit * (8 + rng_at(draw->part_key, p) % STRIDES);
        draw->before[p] = steps;
        steps += draw->part_length / draw->stride[p] + 1;
    }
}

/* Steps up to element i: one in every stride, each at a place of its own. */
static size_t steps_to(const Variety *draw, size_t i) {
    const size_t part = i / draw->part_length, stride = draw->stride[part], at = i % draw->part_length;
    const size_t place = rng_at(draw->element_key, i - at % stride) % stride;
    return draw->before[part] + at / stride + (at % stride >= place);
}

static double stepped_ramp_at(const Variety *draw, size_t i) {
    return (double)(i + steps_to(draw, i));
}

/* 1 + m / 64: up and down by one at each step, from a level of the part's own. */
static double level_at(const Variety *draw, size_t i) {
    enum { LEVELS = 8 };
    const size_t turn = (steps_to(draw, i) + draw->part_key) % (2 * LEVELS), up = turn < LEVELS ? turn : 2 * LEVELS - turn;
    const size_t base = 1 + rng_at(draw->part_key, PARTS + i / draw->part_length) % LEVELS;
    return 1 + (double)(base + up) / 64;
}

static double factor_at(const Variety *draw, size_t i) {
    return 1 + rng_uniform(draw->part_key, i / draw->part_length) / 32 +
           rng_uniform(draw->element_key, steps_to(draw, i)) * 0x1p-12;
}

static double varied(Variation variation, const Variety *draw, size_t i, double x) {
    switch (variation) {
    case VARIATION_STEPS:
        return stepped_ramp_at(draw, i);
    case VARIATION_LEVELS:
        return x * level_at(draw, i);
    case VARIATION_FACTORS:
        return x * factor_at(draw, i);
    default:
        return x;
    }
}

/* Varies an array of f32 or f64 that holds the numbers of its family; the key chooses the draw. */
static void variation_apply(Variation variation, uint64_t key, Array *array) {
    const size_t n = array_count(array);
    Variety draw;
    if (variation == VARIATION_SEED) return;
    draw_open(variation, key, n, &draw);
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < n; i++) put(array, i, varied(variation, &draw, i, array_number(array, i)));
}

/* ---- Inputs of a case. */

static Status family_input_by(const Op *op, const Case *named, const Case *problem, Variation variation, int index, Array *in) {
    const uint64_t stream = (uint64_t)index;
    if (in->dtype == DTYPE_F32 || in->dtype == DTYPE_F64) {
        TRY(family_fill(named, stream, in));
        variation_apply(variation, rng_at(rng_at(problem->seed, stream), KEYS), in);
    } else if (array_bytes(in) > 0) {
        memset(in->data, 0, array_bytes(in));
    }
    return op->generate ? op->generate(problem, index, in) : STATUS_OK;
}

Status family_input(const Op *op, const Case *problem, int index, Array *in) {
    return family_input_by(op, problem, problem, VARIATION_SEED, index, in);
}

Status family_input_anew(const Op *op, const Case *named, const Case *problem, int index, Array *in) {
    const Variation variation = op->dtypes ? VARIATION_SEED : variation_of(problem->input);
    return family_input_by(op, variation == VARIATION_SEED ? problem : named, problem, variation, index, in);
}
