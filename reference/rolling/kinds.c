/* See kinds.h. */
#include "kinds.h"

#include <math.h>

/* The k-th element that a scan comes to. */
static inline size_t place(size_t k, size_t count, bool back) {
    return back ? count - 1 - k : k;
}

/* Storing a long double takes longer than adding it, so this is done once for each. */
static inline void scan_sums(const double *x, size_t count, bool back, Part *out) {
    long double a = 0, b = 0, high = 0, low = 0;
    for (size_t k = 0; k < count; k++) {
        const size_t at = place(k, count, back);
        a += x[at];
        b += fabs(x[at]);
        if (a > high) high = a;
        if (a < low) low = a;
        /* Back: from sums up to the end to sums from the beginning. */
        out[at] = (Part){(double)(k + 1), a, b, back ? a - low : high, back ? a - high : low};
    }
}

static void scan_range(const double *x, size_t count, bool back, WindowRow *out) {
    if (back)
        scan_sums(x, count, true, out->part);
    else
        scan_sums(x, count, false, out->part);
}

static inline Part merge_range(Part left, Part right) {
    const long double high = left.a + right.high, low = left.a + right.low;
    return (Part){left.n + right.n, left.a + right.a, left.b + right.b, high > left.high ? high : left.high,
                  low < left.low ? low : left.low};
}

static void scan_size(const double *x, size_t count, bool back, WindowRow *out) {
    long double sum = 0;
    for (size_t k = 0; k < count; k++) {
        const size_t at = place(k, count, back);
        out->number[at] = sum += fabs(x[at]);
    }
}

/* Sums of d = x - c and of d^2, with c = the first x. Because c is itself an element, sum (x - mean)^2 >= (c - mean)^2, so that
 * sum d^2 <= (k + 1) sum (x - mean)^2: the subtraction costs at most a factor of 4097. */
static void scan_moments(const double *x, size_t count, bool back, WindowRow *out) {
    const long double c = x[place(0, count, back)];
    long double sum = 0, squares = 0;
    for (size_t k = 0; k < count; k++) {
        const size_t at = place(k, count, back);
        const long double d = x[at] - c;
        const double n = (double)(k + 1);
        sum += d;
        squares += d * d;
        const long double spread = squares - sum * (sum / n);
        out->part[at] = (Part){.n = n, .a = c + sum / n, .b = spread > 0 ? spread : 0};
    }
}

/* Chan, Golub, LeVeque (1979): no cancellation. */
static inline Part merge_moments(Part left, Part right) {
    if (left.n == 0) return right;
    if (right.n == 0) return left;
    const double n = left.n + right.n;
    const long double share = (long double)right.n / n, delta = right.a - left.a;
    return (Part){.n = n, .a = left.a + delta * share, .b = left.b + right.b + delta * delta * share * left.n};
}

static void scan_square(const double *x, size_t count, bool back, WindowRow *out) {
    long double sum = 0;
    for (size_t k = 0; k < count; k++) {
        const size_t at = place(k, count, back);
        out->number[at] = sum += (long double)x[at] * x[at];
    }
}

static Part merge_numbers(Part left, Part right) {
    return (Part){.n = left.n + right.n, .b = left.b + right.b};
}

static inline double least(double left, double right) {
    return right < left ? right : left;
}

static inline double most(double left, double right) {
    return right > left ? right : left;
}

static void scan_min(const double *x, size_t count, bool back, WindowRow *out) {
    double extreme = x[place(0, count, back)];
    for (size_t k = 0; k < count; k++) {
        const size_t at = place(k, count, back);
        out->extreme[at] = extreme = least(extreme, x[at]);
    }
}

static void scan_max(const double *x, size_t count, bool back, WindowRow *out) {
    double extreme = x[place(0, count, back)];
    for (size_t k = 0; k < count; k++) {
        const size_t at = place(k, count, back);
        out->extreme[at] = extreme = most(extreme, x[at]);
    }
}

static Part merge_min(Part left, Part right) {
    if (left.n == 0) return right;
    if (right.n == 0) return left;
    return (Part){.n = left.n + right.n, .a = right.a < left.a ? right.a : left.a};
}

static Part merge_max(Part left, Part right) {
    if (left.n == 0) return right;
    if (right.n == 0) return left;
    return (Part){.n = left.n + right.n, .a = right.a > left.a ? right.a : left.a};
}

static void join_range(const WindowRun *run, WindowRow *out, size_t at) {
    for (size_t j = 0; j < run->count; j++)
        out->part[at + j] = merge_range(merge_range(run->tail->part[run->from + j * run->from_step], run->between),
                                        run->head->part[run->to + j * run->to_step]);
}

static void join_moments(const WindowRun *run, WindowRow *out, size_t at) {
    for (size_t j = 0; j < run->count; j++)
        out->part[at + j] = merge_moments(merge_moments(run->tail->part[run->from + j * run->from_step], run->between),
                                          run->head->part[run->to + j * run->to_step]);
}

static void join_numbers(const WindowRun *run, WindowRow *out, size_t at) {
    const long double between = run->between.b;
    for (size_t j = 0; j < run->count; j++)
        out->number[at + j] =
            run->tail->number[run->from + j * run->from_step] + between + run->head->number[run->to + j * run->to_step];
}

static void join_min(const WindowRun *run, WindowRow *out, size_t at) {
    const double between = run->between.n > 0 ? (double)run->between.a : INFINITY;
    const double *tail = run->tail->extreme + run->from, *head = run->head->extreme + run->to;
    for (size_t j = 0; j < run->count; j++)
        out->extreme[at + j] = least(least(tail[j * run->from_step], between), head[j * run->to_step]);
}

static void join_max(const WindowRun *run, WindowRow *out, size_t at) {
    const double between = run->between.n > 0 ? (double)run->between.a : -INFINITY;
    const double *tail = run->tail->extreme + run->from, *head = run->head->extreme + run->to;
    for (size_t j = 0; j < run->count; j++)
        out->extreme[at + j] = most(most(tail[j * run->from_step], between), head[j * run->to_step]);
}

const Kind WINDOW_KINDS[] = {
    [WINDOW_RANGE] = {scan_range, merge_range, join_range, 0},
    [WINDOW_SIZE] = {scan_size, merge_numbers, join_numbers, 0},
    [WINDOW_MOMENTS] = {scan_moments, merge_moments, join_moments, 0},
    [WINDOW_SQUARE] = {scan_square, merge_numbers, join_numbers, 0},
    [WINDOW_MIN] = {scan_min, merge_min, join_min, INFINITY},
    [WINDOW_MAX] = {scan_max, merge_max, join_max, -INFINITY},
};
