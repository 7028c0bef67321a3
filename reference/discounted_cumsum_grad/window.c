/* dL/dg of sums of the last K terms: the cut of recurrence.c, differentiated backwards. A window that begins at `a` before a
 * border c and ends at e = a + K - 1 behind it is
 *     y[e] = H[e] + P[e] T[a],  H: sum of c .. e, P: product of g over c .. e, T: sum of a .. c - 1 as it stands at c - 1.
 * Nothing is divided by and nothing outside a window is touched, so a NaN reaches only what depends on it; products of factors, of
 * which only some meet elements that are not 0, have no range to leave.
 *
 * With an infinity within reach the cut is no definition: it multiplies sums over several windows, and inf times such a sum hides
 * that the windows' own products have both signs. There each window's product is made by itself: K steps a position.
 *
 * All below is by position of the reading order. For e in [c, c + K), with a = e - K + 1 < c:
 *     H[e] = x[e] + g[e] H[e-1], P[e] = g[e] P[e-1], P[c] = g[c];   T[a] = T[a+1] + Q[a+1] x[a], Q[a] = g[a] Q[a+1], Q[c] = 1. */
#include "gradient.h"

#include <stdlib.h>

typedef struct Tile {
    const GradientRow *row;
    size_t begin, border, end; /* tails in [begin, border), heads in [border, end) */
    Num *head, *path;          /* H, P by e - border */
    Num *tail, *to_border;     /* T, Q by a - begin, one more of each */
    Num *tail_bar;             /* dL/dT by a - begin */
} Tile;

static Num one(void) {
    return num_input(1, 0);
}

static Num input_at(const RecurrenceLine *line, size_t p) {
    const RecurrenceStep step = recurrence_step(line, p);
    return num_input(step.kind == KIND_FINITE ? step.x / line->scale : recurrence_special(step.kind), 0);
}

/* g[p]; empty where nothing is carried into p. */
static Num factor_at(const GradientRow *row, size_t p) {
    const RecurrenceStep step = recurrence_step(&row->x, p);
    return step.cut ? (Num){0} : num_input(step.sign, 1);
}

static void forwards(const Tile *t) {
    const GradientRow *row = t->row;
    t->tail[t->border - t->begin] = (Num){0};
    t->to_border[t->border - t->begin] = one();
    for (size_t a = t->border; a-- > t->begin;) {
        const size_t k = a - t->begin;
        t->tail[k] = num_add(t->tail[k + 1], num_multiply(t->to_border[k + 1], input_at(&row->x, a)));
        t->to_border[k] = num_multiply(factor_at(row, a), t->to_border[k + 1]);
        t->tail_bar[k] = (Num){0};
    }
    for (size_t e = t->border; e < t->end; e++) {
        const size_t k = e - t->border;
        const Num g = factor_at(row, e), x = input_at(&row->x, e);
        t->head[k] = k == 0 ? x : num_add(x, num_multiply(g, t->head[k - 1]));
        t->path[k] = k == 0 ? g : num_multiply(g, t->path[k - 1]);
    }
}

static void heads_backwards(const Tile *t, Num *products) {
    Num head_bar = {0}, path_bar = {0}, g_next = {0};
    for (size_t e = t->end; e-- > t->border;) {
        const size_t k = e - t->border;
        const Num dy = input_at(&t->row->dy, e), g = factor_at(t->row, e);
        head_bar = num_add(dy, num_multiply(g_next, head_bar));
        path_bar = num_multiply(g_next, path_bar);
        if (t->border > t->begin && k + 1 < t->row->terms) {
            const size_t a = e + 1 - t->row->terms - t->begin;
            path_bar = num_add(path_bar, num_multiply(dy, t->tail[a]));
            t->tail_bar[a] = num_add(t->tail_bar[a], num_multiply(dy, t->path[k]));
        }
        g_next = g;
        if (!g.some) continue;
        const Num by_head = k == 0 ? (Num){0} : num_multiply(head_bar, t->head[k - 1]);
        const Num by_path = num_multiply(path_bar, k == 0 ? one() : t->path[k - 1]);
        products[e] = num_add(products[e], num_add(by_head, by_path));
    }
}

static void tails_backwards(const Tile *t, Num *products) {
    Num tail_bar = {0}, to_border_bar = {0};
    for (size_t a = t->begin; a < t->border; a++) {
        const size_t k = a - t->begin;
        const Num g = factor_at(t->row, a);
        if (g.some) products[a] = num_add(products[a], num_multiply(to_border_bar, t->to_border[k + 1]));
        tail_bar = num_add(tail_bar, t->tail_bar[k]);
        to_border_bar = num_add(num_multiply(tail_bar, input_at(&t->row->x, a)), num_multiply(g, to_border_bar));
    }
}

/* z[e - p]: what comes back from the end e of a window to p; returns how many there are. */
static size_t come_back(const GradientRow *row, size_t p, Num *z) {
    Num path = one();
    size_t count = 0;
    for (size_t e = p; e < row->x.n && e - p + 1 < row->terms; e++) {
        const Num g = e == p ? one() : factor_at(row, e);
        if (!g.some) break;
        path = num_multiply(g, path);
        z[count++] = num_multiply(input_at(&row->dy, e), path);
    }
    return count;
}

/* dL/dg[p], window by window, the latest first: what each carries into p grows by one element. z: memory for `terms`. */
static Num by_windows(const GradientRow *row, size_t p, Num *z) {
    Num sum = {0}, carried = {0}, path = one();
    size_t begin = p;
    bool cut = false;
    for (size_t count = come_back(row, p, z); count-- > 0;) {
        const size_t end = p + count, wanted = end + 1 >= row->terms ? end + 1 - row->terms : 0;
        while (begin > wanted && !cut) {
            begin--;
            carried = num_add(carried, num_multiply(path, input_at(&row->x, begin)));
            const Num g = factor_at(row, begin);
            cut = !g.some;
            path = num_multiply(path, g);
        }
        sum = num_add(sum, num_multiply(z[count], carried));
    }
    return sum;
}

static bool special_at(const RecurrenceLine *line, size_t p) {
    return recurrence_step(line, p).kind != KIND_FINITE;
}

/* Positions that an x or a dy that is not finite may reach: x forwards, dy backwards. NULL: none. */
static Status reached_by_specials(const GradientRow *row, bool **out) {
    const size_t n = row->x.n, terms = row->terms;
    bool any = false, *reached = calloc(n + 1, sizeof *reached);
    if (!reached) return status_fail(STATUS_MEMORY, "reference of dgamma: no memory for a row of %zu", n);
    for (size_t p = 0, last = SIZE_MAX; p < n; p++) {
        reached[p] = last != SIZE_MAX && p - last < terms;
        if (special_at(&row->x, p)) last = p;
        any = any || last == p;
    }
    for (size_t p = n, next = SIZE_MAX; p-- > 0;) {
        if (special_at(&row->dy, p)) next = p;
        reached[p] = reached[p] || (next != SIZE_MAX && next - p < terms);
        any = any || next == p;
    }
    *out = any ? reached : NULL;
    if (!any) free(reached);
    return STATUS_OK;
}

static Status settle_specials(const GradientRow *row, Num *products) {
    bool starved = false, *reached;
    TRY(reached_by_specials(row, &reached));
    if (!reached) return STATUS_OK;
#pragma omp parallel
    {
        Num *z = malloc(row->terms * sizeof *z);
        if (!z) {
#pragma omp atomic write
            starved = true;
        }
#pragma omp for schedule(static, 256)
        for (size_t p = 0; p < row->x.n; p++)
            if (z && reached[p] && factor_at(row, p).some) products[p] = by_windows(row, p, z);
        free(z);
    }
    free(reached);
    return starved ? status_fail(STATUS_MEMORY, "reference of dgamma: no memory for windows of %zu", row->terms) : STATUS_OK;
}

Status gradient_window(const GradientRow *row, Num *products) {
    const size_t terms = row->terms, n = row->x.n;
    Num *memory = malloc((5 * terms + 2) * sizeof *memory);
    if (!memory) return status_fail(STATUS_MEMORY, "reference of dgamma: no memory for windows of %zu", terms);
    for (size_t border = 0; border < n; border += terms) {
        const Tile tile = {
            .row = row,
            .begin = border >= terms ? border - terms : 0,
            .border = border,
            .end = border + terms < n ? border + terms : n,
            .head = memory,
            .path = memory + terms,
            .tail_bar = memory + 2 * terms,
            .tail = memory + 3 * terms,
            .to_border = memory + 4 * terms + 1,
        };
        forwards(&tile);
        heads_backwards(&tile, products);
        tails_backwards(&tile, products);
    }
    free(memory);
    return settle_specials(row, products);
}
