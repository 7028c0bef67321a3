/* Op.least_read against its definition: an element has to be read if another value in its place changes an output. */
/* needs: rolling ewm discounted_cumsum discounted_cumsum_grad moments */
#include "scan_support.h"

#include <omp.h>

static bool same_outputs(const Scan *self, const double *const before[]) {
    for (int i = 0; i < self->op->out_count; i++)
        for (size_t k = 0; k < array_count(&self->out[i]); k++)
            if (!same_value(self->reference[i].value[k], before[i][k])) return false;
    return true;
}

/* Does any of some other values in element k of an input change an output? */
static bool matters(Scan *self, Array *in, size_t k, const double *const before[]) {
    static const double OTHERS[] = {NAN, INFINITY, -INFINITY, 1e3, -0.25};
    const double kept = array_get(in, k);
    const bool mask = in->dtype == DTYPE_U8, factor = strcmp(in->name, "gamma") == 0, weight = strcmp(in->name, "weights") == 0;
    bool changed = false;
    for (size_t i = 0; i < (mask ? 1 : sizeof OTHERS / sizeof *OTHERS) && !changed; i++) {
        if ((factor || weight) && !(isfinite(OTHERS[i]) && (factor || OTHERS[i] > 0))) continue; /* no others are valid */
        array_set(in, k, mask ? (kept == 0) : OTHERS[i]);
        scan_reference(self, 0);
        changed = !same_outputs(self, before);
    }
    array_set(in, k, kept);
    return changed;
}

static double bytes_that_matter(Scan *self) {
    double *before[OP_MAX_ARRAYS], bytes = 0;
    scan_reference(self, 0);
    for (int i = 0; i < self->op->out_count; i++) {
        const size_t size = sizeof(double) * array_count(&self->out[i]);
        before[i] = malloc(size + 1);
        assert_non_null(before[i]);
        memcpy(before[i], self->reference[i].value, size);
    }
    for (int i = 0; i < self->op->in_count; i++)
        for (size_t k = 0; k < array_count(&self->in[i]); k++)
            if (matters(self, &self->in[i], k, (const double *const *)before)) bytes += (double)dtype_size(self->in[i].dtype);
    for (int i = 0; i < self->op->out_count; i++) free(before[i]);
    return bytes;
}

static double least_of(const Scan *self) {
    return self->op->least_read(&self->problem, self->in, 0);
}

/* Never more than what matters; for ordinary data nearly all of it. */
static void never_more_than_what_matters(void **state) {
    (void)state;
    static const char *const CASES[] = {
        "rolling n=24 window=3",
        "rolling n=24 window=1",
        "rolling n=24 window=24 agg=min",
        "rolling n=24 window=25",
        "rolling n=24 window=1 agg=var",
        "rolling n=24 window=5 agg=std",
        "ewm n=24 span=5",
        "ewm n=24 span=1 agg=var",
        "ewm n=24 span=1",
        "ewm n=24 span=5 agg=var min_periods=4",
        "ewm n=24 nan=propagate",
        "ewm n=24 min_periods=25",
        "ewm n=24 min_periods=3 segments=mask",
        "discounted_cumsum batch=3 n=12",
        "discounted_cumsum batch=3 n=12 k=1 gamma_per=element reset=mask",
        "discounted_cumsum batch=3 n=12 k=4 direction=left",
        "discounted_cumsum batch=3 n=12 gamma_per=row reset=mask",
        "discounted_cumsum batch=3 n=12 gamma_per=element reset=mask direction=left",
        "discounted_cumsum batch=12 n=1 gamma_per=element reset=mask",
        "discounted_cumsum_grad batch=3 n=12",
        "discounted_cumsum_grad batch=3 n=12 k=1 gamma_per=element reset=mask",
        "discounted_cumsum_grad batch=3 n=12 gamma_per=row reset=mask",
        "discounted_cumsum_grad batch=3 n=12 gamma_per=element reset=mask direction=left",
        "moments rows=10 cols=4",
        "moments rows=10 cols=4 weights=row order=6",
    };
    static const char *const FAMILIES_TRIED[] = {"normal", "naninf", "uniform"};
    for (size_t c = 0; c < sizeof CASES / sizeof *CASES; c++)
        for (size_t f = 0; f < sizeof FAMILIES_TRIED / sizeof *FAMILIES_TRIED; f++)
            for (int seed = 1; seed <= 4; seed++) {
                Scan self = scan_open("%s dtype=f64 input=%s seed=%d", CASES[c], FAMILIES_TRIED[f], seed);
                if (strstr(CASES[c], "mask"))
                    for (int i = 0; i < self.op->in_count; i++)
                        for (size_t k = 0; self.in[i].dtype == DTYPE_U8 && k < array_count(&self.in[i]); k++)
                            array_set(&self.in[i], k, (k * (size_t)seed) % 5 == 2);
                const double least = least_of(&self), most = bytes_that_matter(&self);
                if (!(least <= most)) fail_msg("%s: %g bytes have to be read, but only %g matter", self.text, least, most);
                if (f != 1 && !(least >= 0.85 * most)) fail_msg("%s: %g bytes of %g that matter", self.text, least, most);
                scan_close(&self);
            }
}

static double least_after(const char *text, size_t element, double value) {
    Scan self = scan_open("%s dtype=f64 input=ones", text);
    array_set(&self.in[0], element, value);
    const double least = least_of(&self);
    scan_close(&self);
    return least;
}

static void known_answers(void **state) {
    (void)state;
    assert_true(least_after("rolling n=8 window=3", 0, 1) == 64);
    assert_true(least_after("rolling n=8 window=3", 3, NAN) == 56); /* 0 to 2 and 4 to 7 */
    assert_true(least_after("rolling n=8 window=4", 3, NAN) == 32);
    assert_true(least_after("rolling n=8 window=9", 0, 1) == 0);
    assert_true(least_after("ewm n=8", 0, NAN) == 64);
    assert_true(least_after("ewm n=8 min_periods=9", 0, 1) == 0);
    assert_true(least_after("ewm n=8 nan=propagate", 3, NAN) == 24);
    assert_true(least_after("discounted_cumsum n=8", 5, NAN) == 24);
    assert_true(least_after("discounted_cumsum n=8 k=2", 5, NAN) == 56);
    assert_true(least_after("discounted_cumsum n=8 k=1", 5, NAN) == 64);
    assert_true(least_after("discounted_cumsum_grad n=8", 0, 1) == 120); /* dy, and x but for its last in reading order */
    assert_true(least_after("moments rows=4 cols=2", 0, 1) == 64);
    assert_true(least_after("moments rows=4 cols=2", 3, NAN) == 32); /* the other column */
}

int main(void) {
    omp_set_num_threads(1); /* teams for arrays of some elements take most of the time */
    const struct CMUnitTest tests[] = {cmocka_unit_test(never_more_than_what_matters), cmocka_unit_test(known_answers)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
