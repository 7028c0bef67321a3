/* The array has up to 64 parts, each with its own draw, so that sums over many elements differ too: draws of single elements would
 * cancel in them. */
#include "verify/variation.h"

#include "base/rng.h"

#include <string.h>

enum { PARTS = 64, PART_LEAST = 256, STRIDES = 25 };

typedef struct Draw {
    uint64_t part_key, element_key;
    size_t part_length;
    size_t stride[PARTS], before[PARTS]; /* of each part: elements to a step, and how many steps lie before it */
} Draw;

Variation variation_of(const char *family) {
    if (strcmp(family, "ramp") == 0) return VARIATION_STEPS;
    if (strcmp(family, "ones") == 0) return VARIATION_LEVELS;
    return strncmp(family, "real:", strlen("real:")) == 0 ? VARIATION_FACTORS : VARIATION_SEED;
}

bool variation_reorders(Variation variation) {
    return variation == VARIATION_LEVELS || variation == VARIATION_FACTORS;
}

static void draw_open(Variation variation, uint64_t key, size_t n, Draw *draw) {
    const size_t unit = variation == VARIATION_LEVELS ? 4 : 1;
    *draw = (Draw){.part_key = rng_at(key, 0), .element_key = rng_at(key, 1)};
    draw->part_length = n / PARTS < PART_LEAST ? PART_LEAST : n / PARTS + 1;
    size_t steps = 0;
    for (size_t p = 0; p < PARTS; p++) {
        draw->stride[p] = unit * (8 + rng_at(draw->part_key, p) % STRIDES);
        draw->before[p] = steps;
        steps += draw->part_length / draw->stride[p] + 1;
    }
}

/* Steps up to element i: one in every stride, each at a place of its own. */
static size_t steps_to(const Draw *draw, size_t i) {
    const size_t part = i / draw->part_length, stride = draw->stride[part], at = i % draw->part_length;
    const size_t place = rng_at(draw->element_key, i - at % stride) % stride;
    return draw->before[part] + at / stride + (at % stride >= place);
}

static double ramp_at(const Draw *draw, size_t i) {
    return (double)(i + steps_to(draw, i));
}

/* 1 + m / 64: up and down by one at each step, from a level of the part's own. */
static double level_at(const Draw *draw, size_t i) {
    enum { LEVELS = 8 };
    const size_t turn = (steps_to(draw, i) + draw->part_key) % (2 * LEVELS), up = turn < LEVELS ? turn : 2 * LEVELS - turn;
    const size_t base = 1 + rng_at(draw->part_key, PARTS + i / draw->part_length) % LEVELS;
    return 1 + (double)(base + up) / 64;
}

static double factor_at(const Draw *draw, size_t i) {
    return 1 + rng_uniform(draw->part_key, i / draw->part_length) / 32 +
           rng_uniform(draw->element_key, steps_to(draw, i)) * 0x1p-12;
}

static double varied(Variation variation, const Draw *draw, size_t i, double x) {
    switch (variation) {
    case VARIATION_STEPS:
        return ramp_at(draw, i);
    case VARIATION_LEVELS:
        return x * level_at(draw, i);
    case VARIATION_FACTORS:
        return x * factor_at(draw, i);
    default:
        return x;
    }
}

void variation_apply(Variation variation, uint64_t key, Array *array) {
    const size_t n = array_count(array);
    double *f64 = array->dtype == DTYPE_F64 ? array->data : NULL;
    float *f32 = array->dtype == DTYPE_F32 ? array->data : NULL;
    Draw draw;
    if (variation == VARIATION_SEED) return;
    draw_open(variation, key, n, &draw);
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < n; i++) {
        if (f64)
            f64[i] = varied(variation, &draw, i, f64[i]);
        else
            f32[i] = (float)varied(variation, &draw, i, (double)f32[i]);
    }
}
