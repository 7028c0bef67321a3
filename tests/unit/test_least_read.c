/* Op.least_read against its definition: an element has to be read if another value in its place changes an output. */
/* needs: rolling ewm discounted_cumsum discounted_cumsum_grad moments */
#include "scan_support.h"

#include <omp.h>

enum { SECTOR_SHIFT = 5 };

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

/* Bytes in sectors of 2^shift bytes that hold an element which matters. */
static double bytes_that_matter(Scan *self, int shift) {
    double *before[OP_MAX_ARRAYS], bytes = 0;
    scan_reference(self, 0);
    for (int i = 0; i < self->op->out_count; i++) {
        const size_t size = sizeof(double) * array_count(&self->out[i]);
        before[i] = malloc(size + 1);
        assert_non_null(before[i]);
        memcpy(before[i], self->reference[i].value, size);
    }
    for (int i = 0; i < self->op->in_count; i++) {
        const size_t size = dtype_size(self->in[i].dtype), all = array_bytes(&self->in[i]), sector = (size_t)1 << shift;
        double of_input = 0;
        for (size_t begin = 0, end; begin < all; begin = end) {
            bool needed = false;
            end = begin + (sector > size ? sector : size);
            for (size_t k = begin / size; k * size < end && k * size < all && !needed; k++)
                needed = matters(self, &self->in[i], k, (const double *const *)before);
            if (needed) of_input += (double)(end - begin);
        }
        bytes += of_input < (double)all ? of_input : (double)all;
    }
    for (int i = 0; i < self->op->out_count; i++) free(before[i]);
    return bytes;
}

static double least_of(const Scan *self, int shift) {
    Reads reads = {.shift = shift};
    self->op->least_read(&self->problem, self->in, 0, &reads);
    return reads_bytes(&reads, self->in, self->op->in_count);
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
        "discounted_cumsum batch=3 n=12 gamma_per=element state=both reset=mask",
        "discounted_cumsum batch=5 n=12 gamma_per=element layout=time_major state=both reset=mask",
        "discounted_cumsum batch=5 n=12 gamma_per=row layout=time_major direction=left",
        "discounted_cumsum batch=5 n=0 layout=time_major state=both",
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
                for (int shift = 0; shift <= SECTOR_SHIFT; shift += SECTOR_SHIFT) {
                    const double least = least_of(&self, shift), most = bytes_that_matter(&self, shift);
                    if (!(least <= most)) fail_msg("%s: %g bytes have to be read, but only %g matter", self.text, least, most);
                    if (f != 1 && !(least >= 0.85 * most)) fail_msg("%s: %g bytes of %g that matter", self.text, least, most);
                }
                scan_close(&self);
            }
}

static double least_after(const char *text, size_t element, double value) {
    Scan self = scan_open("%s dtype=f64 input=ones", text);
    array_set(&self.in[0], element, value);
    const double least = least_of(&self, 0);
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

static void sectors_are_counted_once(void **state) {
    (void)state;
    const Array in[] = {array_1d("a", DTYPE_U8, 1000), array_1d("b", DTYPE_F64, 100)};
    Reads up = {.shift = 5}, down = {.shift = 5}, back = {.shift = 5};
    reads_need(&up, 0, 30, 0);
    reads_need(&up, 0, 30, 4); /* sectors 0 and 1 */
    reads_need(&up, 0, 63, 1);
    reads_need(&up, 0, 200, 1);            /* 6 */
    reads_need_elements(&up, 1, in, 3, 2); /* 0 and 1 of the other input */
    assert_true(reads_bytes(&up, in, 2) == 3 * 32 + 2 * 32);
    for (size_t i = 100; i-- > 0;) reads_need_elements(&down, 1, in, i, i % 8 == 0);
    assert_true(reads_bytes(&down, in, 2) == 13 * 32);
    reads_need(&back, 0, 0, 1);
    reads_need(&back, 0, 900, 1);
    reads_need(&back, 0, 400, 32); /* too few rather than too many */
    assert_true(reads_bytes(&back, in, 2) == 2 * 32);
    reads_need(&back, 0, 0, 1000);
    assert_true(reads_bytes(&back, in, 2) <= 1000);
}

static void need_part(const void *of, size_t part, Reads *reads) {
    const size_t bytes = *(const size_t *)of;
    reads_need(reads, 0, part * bytes + bytes - 1, 1); /* backwards within a part */
    reads_need(reads, 0, part * bytes, 1);
}

static void parts_share_their_sectors(void **state) {
    (void)state;
    for (size_t bytes = 1; bytes <= 100; bytes += 9)
        for (size_t parts = 0; parts < 3000; parts = 7 * parts + 1) {
            Reads some = {.shift = 5}, all = {.shift = 5};
            reads_need_parts(&some, parts, need_part, &bytes);
            for (size_t part = 0; part < parts; part++) {
                reads_need(&all, 0, part * bytes, 1);
                reads_need(&all, 0, part * bytes + bytes - 1, 1);
            }
            if (some.of[0].count != all.of[0].count)
                fail_msg("%zu parts of %zu: %zu sectors, not %zu", parts, bytes, some.of[0].count, all.of[0].count);
        }
}

int main(void) {
    omp_set_num_threads(1); /* teams for arrays of some elements take most of the time */
    const struct CMUnitTest tests[] = {cmocka_unit_test(never_more_than_what_matters), cmocka_unit_test(known_answers),
                                       cmocka_unit_test(sectors_are_counted_once), cmocka_unit_test(parts_share_their_sectors)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
