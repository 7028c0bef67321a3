/* How far dgamma may be off, against the bounds of its factors and by hand, and what that lets the check see. */
/* needs: discounted_cumsum_grad discounted_cumsum */
#include "scan_support.h"

static const char *const PER[] = {"all", "row", "element"};
enum { SCAN, DTYPE_SUMS = 2 };

/* The first factor of a row multiplies nothing. */
typedef struct Pair {
    size_t dx, y;
} Pair;
static Pair pair_at(const Scan *self, bool left, size_t row, size_t i) {
    const size_t at = row * self->n + i;
    return (Pair){at, left ? at - 1 : at + 1};
}

/* sum |dx| e(y) + |y| e(dx) + e(y) e(dx), and sum |dx y|, of a gradient, from the references of dx and of the sums. */
static void factors_of(const Scan *self, const Reference *y, bool left, size_t first, size_t rows, double *slack, double *size) {
    const Reference *dx = &self->reference[0];
    for (size_t row = first; row < first + rows; row++)
        for (size_t i = left ? 1 : 0; i < self->n - (left ? 0 : 1); i++) {
            const Pair at = pair_at(self, left, row, i);
            const double a = fabs(dx->value[at.dx]), e = dx->tolerance[at.dx], b = fabs(y->value[at.y]), f = y->tolerance[at.y];
            *slack += a * f + b * e + e * f;
            *size += a * b;
        }
}

static void expect_between(const Scan *self, const char *per, size_t index, double low, double high) {
    const double tolerance = self->reference[1].tolerance[index];
    if (!(tolerance >= low && tolerance <= high))
        fail_msg("%s per %s: tolerance of dgamma[%zu] is %g, not from %g to %g", self->text, per, index, tolerance, low, high);
}

static void dgamma_is_bounded_by_its_factors(void **state) {
    (void)state;
    for (int mode = 0; mode < 12; mode++) {
        const bool left = mode & 1, f32 = mode & 2;
        const char *per = PER[mode / 4];
        char text[256];
        snprintf(text, sizeof text, "direction=%s dtype=%s gamma_per=%s batch=3 n=500 gamma=0.97 input=normal",
                 left ? "left" : "right", f32 ? "f32" : "f64", per);
        Scan self = scan_open("discounted_cumsum_grad %s", text), forward = scan_open("discounted_cumsum %s", text);
        static const char *const shared[] = {"x", "gamma"};
        for (int i = 0; i < 2; i++)
            memcpy(scan_array(&forward, shared[i])->data, scan_array(&self, shared[i])->data,
                   array_bytes(scan_array(&self, shared[i])));
        scan_reference(&self, SCAN);
        scan_reference(&forward, SCAN);
        if (mode < 8) {
            const size_t outputs = array_count(&self.out[1]), rows = 3 / outputs;
            for (size_t o = 0; o < outputs; o++) {
                double slack = 0, size = 0;
                factors_of(&self, forward.reference, left, o * rows, rows, &slack, &size);
                const double chain = 503 * 0x1p-53 * size, result = f32 ? 0x1p-24 * fabs(self.reference[1].value[o]) : 0;
                expect_between(&self, per, o, result, 0.5 * slack + 1.02 * (chain + result)); /* errors go both ways */
            }
        } else {
            for (size_t at = 1; at + 1 < self.n; at++) {
                const Pair pair = pair_at(&self, left, 1, at);
                const double a = fabs(self.reference[0].value[pair.dx]), b = fabs(forward.reference[0].value[pair.y]);
                const double e = self.reference[0].tolerance[pair.dx], f = forward.reference[0].tolerance[pair.y];
                const double slack = a * f + b * e + e * f, u = f32 ? 0x1p-24 : 0x1p-53;
                expect_between(&self, per, pair.dx, (slack + u * a * b) * (1 - 1e-9),
                               slack * (1 + 1e-6) + 1.02 * u * a * b + 1e-40);
            }
        }
        scan_close(&forward);
        scan_close(&self);
    }
}

static double rounded(const Scan *self, double value) {
    return self->problem.dtype == DTYPE_F32 ? (double)(float)value : value;
}

/* Sums of a row of `in` over `out`, in blocks whose carry is weighted by powers, or one after the other (block 1); `to`: 1 or -1.
 */
static void sums_in_blocks(const Scan *self, const Array *in, size_t row, double gamma, int to, size_t block, double *out) {
    double carry = 0, sum = 0, factor = 1;
    for (size_t q = 0; q < self->n; q++) {
        const size_t i = to > 0 ? q : self->n - 1 - q;
        if (q % block == 0) carry = q > 0 ? out[i - (size_t)to] : 0, sum = 0, factor = 1;
        sum = rounded(self, rounded(self, gamma * sum) + array_get(in, row * self->n + i));
        factor = rounded(self, factor * gamma);
        out[i] = rounded(self, sum + rounded(self, factor * carry));
    }
}

/* error / tolerance of dgamma[o] by such sums, added up in double over the rows from `first` on. */
static double ratio_of_blocks(Scan *self, size_t o, size_t first, size_t rows, size_t block) {
    double *y = malloc(self->n * sizeof *y), *dx = malloc(self->n * sizeof *dx), total = 0;
    for (size_t row = first; row < first + rows; row++) {
        const double gamma = array_get(scan_array(self, "gamma"), o);
        sums_in_blocks(self, scan_array(self, "x"), row, gamma, 1, block, y);
        sums_in_blocks(self, scan_array(self, "dy"), row, gamma, -1, block, dx);
        for (size_t i = 1; i < self->n; i++) total += dx[i] * y[i - 1];
    }
    free(y);
    free(dx);
    return fabs(rounded(self, total) - self->reference[1].value[o]) / self->reference[1].tolerance[o];
}

/* Right algorithms are within the bound for every family, and it is not far from what they err by. */
static void right_algorithms_pass(void **state) {
    (void)state;
    static const char *const inputs[] = {"uniform",     "normal", "ones",      "ramp",  "heavytail",
                                         "alternating", "mixed",  "offset1e3", "sorted"};
    static const char *const gammas[] = {"0.99", "0.5", "1", "-0.9", "0.9999"};
    double most = 0;
    for (size_t at = 0; at < 9 * 5 * 4; at++) {
        const bool all = at & 1, f32 = at & 2;
        Scan self =
            scan_open("discounted_cumsum_grad direction=left batch=3 n=1000 gamma_per=%s dtype=%s input=%s gamma=%s seed=%zu",
                      all ? "all" : "row", f32 ? "f32" : "f64", inputs[at / 20], gammas[at / 4 % 5], at);
        scan_reference(&self, SCAN);
        const size_t outputs = array_count(&self.out[1]);
        for (size_t o = 0; o < outputs; o++)
            for (size_t block = 1; block <= 1024; block *= 32) {
                if (self.reference[1].tolerance[o] == 0) continue; /* integers: nothing but the result is rounded */
                const double ratio = ratio_of_blocks(&self, o, outputs == 1 ? 0 : o, outputs == 1 ? 3 : 1, block);
                if (!(ratio <= 1))
                    fail_msg("%s: dgamma[%zu] by blocks of %zu is off by %g of its bound", self.text, o, block, ratio);
                most = fmax(most, ratio);
            }
        scan_close(&self);
    }
    assert_true(most > 0.2);
}

/* Errors of n products add up to sqrt(n), not to n. */
static void grows_as_the_square_root(void **state) {
    (void)state;
    double tolerance[2];
    for (int i = 0; i < 2; i++) {
        Scan self = scan_open("discounted_cumsum_grad n=%d gamma=0.9 dtype=f32 input=normal", i ? 400000 : 4000);
        scan_reference(&self, SCAN);
        tolerance[i] = self.reference[1].tolerance[0];
        scan_close(&self);
    }
    assert_true(tolerance[1] > 5 * tolerance[0] && tolerance[1] < 40 * tolerance[0]);
}

/* dgamma = dy[0] x[1]: nothing is carried into either, so they are exact, and what is left is the product's own rounding. */
static void two_elements_by_hand(void **state) {
    (void)state;
    Scan self = scan_open("discounted_cumsum_grad n=2 gamma=0.5 dtype=f32 input=normal");
    scan_reference(&self, SCAN);
    const double product = array_get(scan_array(&self, "dy"), 0) * array_get(scan_array(&self, "x"), 1);
    assert_true(self.reference[1].value[0] == product);
    expect_between(&self, "all", 0, 0x1p-24 * fabs(product), 1.001 * 0x1p-24 * fabs(product));
    scan_close(&self);
}

/* Sums of integers are exact in any order, products of them in double: only the result is rounded, and only if it is large. */
static void integers_leave_the_result_to_be_rounded(void **state) {
    (void)state;
    Scan small = scan_open("discounted_cumsum_grad batch=2 n=100 gamma=1 dtype=f32 input=integers");
    scan_reference(&small, SCAN);
    assert_true(fabs(small.reference[1].value[0]) < 0x1p24 && small.reference[1].tolerance[0] == 0);
    scan_close(&small);
    Scan large = scan_open("discounted_cumsum_grad batch=20 n=20000 gamma=1 dtype=f32 input=integers");
    scan_reference(&large, SCAN);
    const double value = fabs(large.reference[1].value[0]);
    assert_true(value > 0x1p24);
    expect_between(&large, "all", 0, 0x1p-24 * value, 1.001 * 0x1p-24 * value);
    scan_close(&large);
}

/* The sum of all magnitudes allows a sum of both signs to be anything; its factors' bounds do not, nor does a sum in the dtype by
 * a tighter rule become a looser one. */
static void a_sum_of_both_signs_is_seen(void **state) {
    (void)state;
    Scan self = scan_open("discounted_cumsum_grad n=1000000 dtype=f32 input=normal");
    scan_reference(&self, DTYPE_SUMS);
    const double value = fabs(self.reference[1].value[0]);
    assert_true(self.reference[1].tolerance[0] > value);
    scan_reference(&self, SCAN);
    assert_true(fabs(self.reference[1].value[0]) == value && self.reference[1].tolerance[0] < value / 10);
    scan_close(&self);
    static const char *const inputs[] = {"uniform", "normal", "heavytail", "alternating", "mixed", "offset1e3"};
    for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++) {
        Scan each = scan_open("discounted_cumsum_grad batch=3 n=3000 gamma_per=row dtype=f32 input=%s", inputs[i]);
        double chains[3];
        scan_reference(&each, DTYPE_SUMS);
        memcpy(chains, each.reference[1].tolerance, sizeof chains);
        scan_reference(&each, SCAN);
        for (size_t row = 0; row < 3; row++) assert_true(each.reference[1].tolerance[row] < chains[row]);
        scan_close(&each);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dgamma_is_bounded_by_its_factors),
        cmocka_unit_test(right_algorithms_pass),
        cmocka_unit_test(grows_as_the_square_root),
        cmocka_unit_test(two_elements_by_hand),
        cmocka_unit_test(integers_leave_the_result_to_be_rounded),
        cmocka_unit_test(a_sum_of_both_signs_is_seen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
