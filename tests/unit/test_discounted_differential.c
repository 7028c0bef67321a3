/* Random cases of discounted sums and their gradients against their definitions in 2600 bits: every number of a double or a float,
 * subnormal and huge ones, both zeros, infinities and NaN, factors beyond 1 and 0, masks, sums of k terms. A hundred seeds;
 * RUNGS_TEST_FULL=1: five thousand. */
/* needs: discounted_cumsum discounted_cumsum_grad */
#include "base/rng.h"
#include "scan_support.h"

#include <float.h>
#include <mpfr.h>

enum { DIFFERENTIAL_BITS = 2600, SEEDS = 100, SEEDS_FULL = 5000, N_MAX = 24, BATCH_MAX = 3 };

/* A number without a range, and what NaN and infinities alone make of it: 0 is neither. */
typedef struct Value {
    mpfr_t number;
    double special;
} Value;

static uint64_t draw_key, draw_index;

static uint64_t draw(uint64_t count) {
    return rng_at(draw_key, draw_index++) % count;
}

/* mood 0: about 1. 1: any exponent. 2: zeros, infinities and NaN among others. 3: small integers. */
static double draw_number(int mood, bool f32) {
    const double about_one = (rng_uniform(draw_key, draw_index++) * 2 - 1) * 4;
    const int range = f32 ? 149 : 1074;
    static const double specials[] = {INFINITY, -INFINITY, NAN, 0.0, -0.0};
    if (mood == 3) return (double)draw(7) - 3;
    if (mood == 2 && draw(5) == 0) return specials[draw(5)];
    if (mood == 1 && draw(2) == 0) {
        const double any = ldexp(about_one / 8, (int)draw((uint64_t)(2 * range - 24)) - range + 2);
        return f32 ? (double)(float)any : any;
    }
    return f32 ? (double)(float)about_one : about_one;
}

static void fill(Array *array, int mood) {
    for (size_t i = 0; i < array_count(array); i++) array_set(array, i, draw_number(mood, array->dtype == DTYPE_F32));
}

static void open_random(Scan *self, const char *op, uint64_t seed) {
    static const char *const gammas[] = {"0.99", "1", "-1", "0", "-0.0", "0.5", "-0.7", "1.3", "2", "1e-30", "1e30", "-1e-3"};
    static const char *const per[] = {"all", "row", "element"};
    draw_key = rng_at(seed, 4711);
    draw_index = 0;
    const size_t n = 1 + draw(N_MAX);
    char text[512];
    const bool options = strcmp(op, "discounted_cumsum") == 0 && draw(2);
    int used = snprintf(text, sizeof text, "%s batch=%d n=%zu k=%d gamma=%s gamma_per=%s direction=%s reset=%s dtype=%s input=%s",
                        op, 1 + (int)draw(BATCH_MAX), n, !options && draw(2) ? (int)draw(n + 2) : 0, gammas[draw(12)], per[draw(3)],
                        draw(2) ? "left" : "right", draw(3) ? "none" : "mask", draw(2) ? "f32" : "f64", "normal");
    if (options)
        snprintf(text + used, sizeof text - (size_t)used, "%s%s", draw(2) ? " layout=time_major" : "",
                 draw(2) ? " state=both" : "");
    *self = scan_open("%s", text);
    snprintf(self->text, sizeof self->text, "seed %llu: %.400s", (unsigned long long)seed, text);
    /* Not integers with powers of 1e30: the leading terms may cancel exactly, and the next are 2^-100 of them. */
    const int mood = (int)draw(strstr(text, "e30") || strstr(text, "e-30") ? 3 : 4);
    fill(scan_array(self, "x"), mood);
    if (strcmp(op, "discounted_cumsum_grad") == 0)
        fill(scan_array(self, "dy"), draw(2) ? mood : 0);
    else
        fill(scan_array(self, "initial"), mood);
    Array *gamma = scan_array(self, "gamma"), *reset = scan_array(self, "reset");
    for (size_t i = 0; i < array_count(gamma) && array_count(gamma) > 1; i++)
        if (draw(6) == 0) array_set(gamma, i, (double)draw(5) / 2 - 1);
    for (size_t i = 0; i < array_count(reset); i++) array_set(reset, i, draw(6) == 0);
}

typedef struct Reader {
    Scan *scan;
    const Array *x, *dy, *gamma, *reset, *initial; /* initial: NULL: none */
    bool left, f32, columns;
    int per;
    size_t n, terms; /* terms: n + 1 for all */
} Reader;

static Reader reader_of(Scan *scan) {
    const Params *params = &scan->problem.params;
    const size_t k = (size_t)params_int(params, "k");
    return (Reader){.scan = scan,
                    .x = scan_array(scan, "x"),
                    .dy = strcmp(scan->op->name, "discounted_cumsum_grad") == 0 ? scan_array(scan, "dy") : NULL,
                    .initial = strstr(scan->text, "state=both") ? scan_array(scan, "initial") : NULL,
                    .columns = strstr(scan->text, "time_major") != NULL,
                    .gamma = scan_array(scan, "gamma"),
                    .reset = scan_array(scan, "reset"),
                    .left = params_choice(params, "direction") == 1,
                    .f32 = scan->problem.dtype == DTYPE_F32,
                    .per = params_choice(params, "gamma_per"),
                    .n = scan->n,
                    .terms = k && k <= scan->n ? k : scan->n + 1};
}

static size_t at(const Reader *r, size_t row, size_t p) {
    const size_t i = r->left ? p : r->n - 1 - p;
    return r->columns ? i * r->scan->batch + row : row * r->n + i;
}

static size_t gamma_at(const Reader *r, size_t row, size_t p) {
    return r->per == 0 ? 0 : r->per == 1 ? row : at(r, row, p);
}

static double factor(const Reader *r, size_t row, size_t p) {
    return array_get(r->gamma, gamma_at(r, row, p));
}

static bool cut(const Reader *r, size_t row, size_t p) {
    return p == 0 || (array_count(r->reset) > 0 && array_get(r->reset, at(r, row, p)) != 0);
}

static double plain(const Reader *r, const Value *v) {
    if (v->special != 0) return v->special;
    const double number = mpfr_get_d(v->number, MPFR_RNDN);
    return r->f32 && fabs(number) >= 0x1.ffffffp127 ? copysign(INFINITY, number) : number;
}

static double sign_of(const Value *v) {
    return v->special != 0 ? v->special : (double)mpfr_sgn(v->number);
}

static void clear(Value *v) {
    mpfr_set_zero(v->number, 1);
    v->special = 0;
}

static void set(Value *v, double x) {
    clear(v);
    if (isfinite(x))
        mpfr_set_d(v->number, x, MPFR_RNDN);
    else
        v->special = x;
}

static void add(Value *to, const Value *v) {
    mpfr_add(to->number, to->number, v->number, MPFR_RNDN);
    to->special = to->special + v->special;
}

static void multiply(Value *to, const Value *v) {
    const bool special = to->special != 0 || v->special != 0;
    const double product = special ? sign_of(to) * sign_of(v) : 0;
    mpfr_mul(to->number, to->number, v->number, MPFR_RNDN);
    to->special = product;
    if (special) mpfr_set_zero(to->number, 1);
}

static Value scratch[4];

/* y <- x + g y, or x where nothing is carried in; a sum of all terms that leaves the range stays an infinity. */
static void advance(const Reader *r, Value *y, bool begins, double g, double x) {
    set(&scratch[0], g);
    set(&scratch[1], x);
    if (begins)
        clear(y);
    else
        multiply(y, &scratch[0]);
    add(y, &scratch[1]);
    if (r->terms > r->n && y->special == 0 && isinf(plain(r, y))) y->special = plain(r, y);
}

static size_t begin_of(const Reader *r, size_t row, size_t p) {
    size_t first = p + 1 >= r->terms ? p + 1 - r->terms : 0;
    for (size_t q = p; q > first; q--)
        if (cut(r, row, q)) first = q;
    return first;
}

/* The recurrence over x[from .. to], at a row's beginning from its state. */
static void sum_over(const Reader *r, size_t row, size_t from, size_t to, Value *out) {
    const bool state = r->initial && from == 0 && !(array_count(r->reset) > 0 && array_get(r->reset, at(r, row, 0)) != 0);
    if (state) {
        set(out, array_get(r->initial, row));
        advance(r, out, false, factor(r, row, 0), array_get(r->x, at(r, row, 0)));
        from++;
    }
    for (size_t q = from; q <= to; q++) advance(r, out, q == from && !state, factor(r, row, q), array_get(r->x, at(r, row, q)));
}

/* dx[p]: the transposed recurrence over dy, from the last output that x[p] is in. */
static void transposed(const Reader *r, size_t row, size_t p, Value *out) {
    size_t end = p;
    while (end + 1 < r->n && end + 1 - p < r->terms && !cut(r, row, end + 1)) end++;
    for (size_t e = end + 1; e-- > p;)
        advance(r, out, e == end, e == end ? 0 : factor(r, row, e + 1), array_get(r->dy, at(r, row, e)));
}

/* dL/dg[p]: of all terms dx[p] y[p-1]; of k, window by window, what it carries into p times what comes back from its end. */
static void of_factor(const Reader *r, size_t row, size_t p, Value *out) {
    clear(out);
    if (cut(r, row, p)) return;
    if (r->terms > r->n) {
        transposed(r, row, p, out);
        sum_over(r, row, begin_of(r, row, p - 1), p - 1, &scratch[2]);
        multiply(out, &scratch[2]);
        return;
    }
    for (size_t e = p; e < r->n && e - p + 1 < r->terms && (e == p || !cut(r, row, e)); e++) {
        const size_t begin = begin_of(r, row, e);
        if (begin >= p) continue;
        sum_over(r, row, begin, p - 1, &scratch[2]);
        set(&scratch[3], array_get(r->dy, at(r, row, e)));
        for (size_t m = e; m > p; m--) {
            set(&scratch[0], factor(r, row, m));
            multiply(&scratch[3], &scratch[0]);
        }
        multiply(&scratch[2], &scratch[3]);
        add(out, &scratch[2]);
    }
}

static void expect(const Reader *r, int output, size_t i, const Value *exact) {
    const Reference *reference = &r->scan->reference[output];
    const double expected = plain(r, exact);
    if (!reference_agrees(reference->value[i], expected, 0x1p-52, reference->tolerance[i]))
        fail_msg("%s: %s[%zu] = %a, not %a (tolerance %a)", r->scan->text, r->scan->out[output].name, i, reference->value[i],
                 expected, reference->tolerance[i]);
}

static void check_sums(const Reader *r, Value *v) {
    for (size_t row = 0; row < r->scan->batch; row++)
        for (size_t p = 0; p < r->n; p++) {
            sum_over(r, row, begin_of(r, row, p), p, v);
            expect(r, 0, at(r, row, p), v);
            if (r->initial && p + 1 == r->n) expect(r, 1, row, v);
        }
}

static void check_gradients(const Reader *r, Value *v, Value *totals) {
    const size_t gammas = array_count(r->gamma);
    for (size_t i = 0; i < gammas; i++) clear(&totals[i]);
    for (size_t row = 0; row < r->scan->batch; row++)
        for (size_t p = 0; p < r->n; p++) {
            transposed(r, row, p, v);
            expect(r, 0, at(r, row, p), v);
            of_factor(r, row, p, v);
            add(&totals[gamma_at(r, row, p)], v);
        }
    for (size_t i = 0; i < gammas; i++) expect(r, 1, i, &totals[i]);
}

static void random_cases(void **state) {
    static const char *const ops[] = {"discounted_cumsum", "discounted_cumsum_grad"};
    enum { TOTALS = N_MAX * BATCH_MAX };
    (void)state;
    Value v, totals[TOTALS];
    mpfr_init(v.number);
    for (size_t i = 0; i < TOTALS; i++) mpfr_init(totals[i].number);
    for (size_t i = 0; i < sizeof scratch / sizeof *scratch; i++) mpfr_init(scratch[i].number);
    const char *full = getenv("RUNGS_TEST_FULL");
    const uint64_t seeds = full && *full ? SEEDS_FULL : SEEDS;
    for (uint64_t seed = 0; seed < seeds; seed++)
        for (int op = 0; op < 2; op++) {
            Scan scan;
            open_random(&scan, ops[op], seed);
            scan_reference(&scan, 0);
            const Reader r = reader_of(&scan);
            if (op == 0)
                check_sums(&r, &v);
            else
                check_gradients(&r, &v, totals);
            scan_close(&scan);
        }
    mpfr_clear(v.number);
    for (size_t i = 0; i < TOTALS; i++) mpfr_clear(totals[i].number);
    for (size_t i = 0; i < sizeof scratch / sizeof *scratch; i++) mpfr_clear(scratch[i].number);
}

int main(void) {
    mpfr_set_default_prec(DIFFERENTIAL_BITS);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_cases),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
