/* windows.h - sizes, moments and extremes of sliding windows, which the tolerances of `rolling` are made of, at a cost independent
 * of the window's length, the same bits for any number of threads. In long double, whose exponents hold every square of a double;
 * right to some length 2^-64. Extremes are exact.
 *
 * The array is cut at multiples of a tile of 2^k <= min(length, 4096) elements. A window is the tail of one tile, whole tiles, and
 * the head of another: out = tail + middle + head, three merges, no subtraction, so nothing that is outside a window can touch it.
 * Heads and tails come from one scan per tile; runs of whole tiles from a binary tree over the tiles.
 *
 * Kinds that are one number are kept as such: most of the time goes into storing and loading, of long doubles above all.
 */
#pragma once

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { WINDOW_BLOCK = 4096, WINDOW_LEVELS = 48 };

typedef enum WindowKind {
    WINDOW_RANGE, /* of partial sums: a = sum x, b = sum |x|, high and low: the largest and the least sum of x[first .. k], or 0 */
    WINDOW_SIZE,  /* b = sum |x|; of numbers of one sign, it is the range of partial sums */
    WINDOW_MOMENTS, /* a = mean, b = sum (x - mean)^2 */
    WINDOW_SQUARE,  /* b = sum x^2 */
    WINDOW_MIN,     /* a */
    WINDOW_MAX,
} WindowKind;

/* What is known of a set of elements. n = 0: nothing, the identity of every merge. */
typedef struct Part {
    double n;
    long double a, b, high, low;
} Part;

/* Of a block's outputs, or of the heads or tails of a tile. */
typedef union WindowRow {
    Part part[WINDOW_BLOCK];          /* WINDOW_RANGE, WINDOW_MOMENTS */
    long double number[WINDOW_BLOCK]; /* WINDOW_SIZE, WINDOW_SQUARE */
    double extreme[WINDOW_BLOCK];     /* WINDOW_MIN, WINDOW_MAX */
} WindowRow;

/* The input as the reference sees it: elements that are not finite count as 0 (for MIN and MAX: a NaN as the identity), because
 * their windows are settled apart. */
typedef struct WindowInput {
    const void *data;
    bool f32;
    size_t n;
} WindowInput;

/* Windows [i - length + 1 + shift, i + shift], clipped to the array. */
typedef struct WindowPlan {
    const WindowInput *input;
    WindowKind kind;
    int64_t length, shift;
    int tile_bits;
    int levels;
    Part *tree[WINDOW_LEVELS]; /* tree[l][j]: tiles [j 2^l, (j + 1) 2^l); absent while no window holds two whole tiles */
} WindowPlan;

/* One thread's buffers; about two thirds of a MiB. */
typedef struct WindowScratch {
    double x[WINDOW_BLOCK];
    WindowRow head, tail; /* of a tile; head[k]: its elements up to k, tail[k]: from k on */
} WindowScratch;

/* As given: NaN and inf kept. */
static inline double window_element(const WindowInput *input, size_t i) {
    return input->f32 ? (double)((const float *)input->data)[i] : ((const double *)input->data)[i];
}
Status window_plan(const WindowInput *input, WindowKind kind, size_t length, size_t shift, WindowPlan *out);
void window_plan_free(WindowPlan *plan);
/* Outputs first .. first + count - 1, count <= WINDOW_BLOCK. */
void window_compute(const WindowPlan *plan, WindowScratch *scratch, size_t first, size_t count, WindowRow *out);
