/* The bounds of `discounted_cumsum` for sums of k terms: direct sums, differences, and blocks of k, right and nearly right. */
/* needs: discounted_cumsum */
#include "discount_rows.h"

static void last_terms(Row *row, size_t terms) {
    for (size_t p = 0; p < row->n; p++) {
        double sum = 0;
        for (size_t q = p + 1 > terms ? p + 1 - terms : 0; q <= p; q++)
            sum = rounded(row, rounded(row, row->gamma * sum) + row->x[q]);
        row->y[p] = sum;
    }
}

typedef enum Tails { TAILS_RIGHT, TAILS_IN_FLOAT, TAILS_SHORT_OF_ONE, TAILS_WEIGHTED_LATE, TAILS_WITHOUT_ONE } Tails;

/* Blocks of `terms`: the end of one, summed from its border outwards, and the head of the next. A float's ends are sums in double.
 */
static void van_herk(Row *row, size_t terms, Tails tails) {
    for (size_t begin = 0; begin < row->n; begin += terms) {
        const size_t end = begin + terms < row->n ? begin + terms : row->n;
        double sum = 0, weight = 1, carry = 0;
        for (size_t back = 0; begin > 0 && back + 1 < terms; back++) {
            const double term = rounded(row, weight * row->x[begin - 1 - back]);
            sum = tails == TAILS_IN_FLOAT ? (double)(float)(sum + term) : sum + term;
            const bool skips =
                (tails == TAILS_SHORT_OF_ONE && back + 2 == terms) || (tails == TAILS_WITHOUT_ONE && back == terms / 2);
            const size_t to = begin + terms - 2 - back;
            if (skips) sum -= term;
            if (to < row->n) row->y[to] = rounded(row, sum);
            weight = rounded(row, weight * row->gamma);
        }
        weight = tails == TAILS_WEIGHTED_LATE ? 1 / row->gamma : 1;
        for (size_t p = begin; p < end; p++) {
            carry = rounded(row, rounded(row, row->gamma * carry) + row->x[p]);
            weight = rounded(row, weight * row->gamma);
            const bool complete = begin == 0 || p + 1 == begin + terms;
            row->y[p] = complete ? carry : rounded(row, carry + rounded(row, weight * row->y[p]));
        }
    }
}

static void by_difference(Row *row) {
    sequential(row);
    const double factor = power(row, row->terms);
    for (size_t p = row->n; p-- > row->terms;) row->y[p] = rounded(row, row->y[p] - rounded(row, factor * row->y[p - row->terms]));
}

static void sums_of_k_terms_pass(void **state) {
    (void)state;
    static const size_t terms[] = {1, 2, 10, 255};
    for (size_t f = 0; f < COUNT(FINITE); f++)
        for (size_t g = 0; g < COUNT(GAMMAS); g++)
            for (size_t k = 0; k < COUNT(terms); k++) {
                char text[512];
                snprintf(text, sizeof text, "discounted_cumsum n=1500 gamma=%s k=%zu dtype=%s input=%s seed=%zu", GAMMAS[g],
                         terms[k], (f + g) % 2 ? "f32" : "f64", FINITE[f], k);
                Row row;
                row_open(&row, text);
                scan_reference(&row.scan, 0);
                last_terms(&row, row.terms);
                must(true, &row, "direct sums");
                scan_reference(&row.scan, 1);
                must(true, &row, "direct sums by the looser bound");
                by_difference(&row);
                must(true, &row, "differences");
                row_close(&row);
            }
}

/* Terms near a border meet up to k additions more than their distance tells. */
static void blocks_of_k_terms_pass(void **state) {
    (void)state;
    static const size_t terms[] = {2, 255, 3000, 10007};
    for (size_t f = 0; f < COUNT(FINITE); f++)
        for (size_t g = 0; g < COUNT(GAMMAS); g++)
            for (size_t k = 0; k < COUNT(terms); k++) {
                char text[512];
                snprintf(text, sizeof text, "discounted_cumsum n=20011 gamma=%s k=%zu dtype=%s direction=%s input=%s seed=%zu",
                         GAMMAS[g], terms[k], (f + g + k) % 2 ? "f32" : "f64", k % 2 ? "left" : "right", FINITE[f], k);
                Row row;
                row_open(&row, text);
                scan_reference(&row.scan, 0);
                van_herk(&row, row.terms, TAILS_RIGHT);
                must(true, &row, "blocks of k");
                row_close(&row);
            }
}

/* Ends of blocks in double pass, in float they do not. */
static void judge_ends(Row *row) {
    scan_reference(&row->scan, 0);
    van_herk(row, row->terms, TAILS_RIGHT);
    must(true, row, "blocks of k");
    van_herk(row, row->terms, TAILS_IN_FLOAT);
    must(false, row, "blocks of k with ends in float");
    row_close(row);
}

static void a_million_in_blocks_of_k_terms(void **state) {
    (void)state;
    Row row;
    row_open(&row, "discounted_cumsum n=1000000 gamma=1 k=3000 dtype=f64 input=spike1e16 seed=1");
    judge_ends(&row);
}

/* A number at each border that every further one is rounded up against: float ends lose what double ones keep. */
static void the_worst_for_borders(void **state) {
    (void)state;
    for (int f32 = 0; f32 < 2; f32++) {
        Row row;
        row_open(&row, f32 ? "discounted_cumsum n=20000 gamma=1 k=5000 dtype=f32 input=ones"
                           : "discounted_cumsum n=20000 gamma=1 k=5000 dtype=f64 input=ones");
        for (size_t p = 0; p < row.n; p++) {
            row.x[p] = p % row.terms + 1 == row.terms ? (f32 ? 0x1p24 : 0x1p53) : 1.25;
            array_set(&row.scan.in[0], at(&row, p), row.x[p]);
        }
        judge_ends(&row);
    }
}

/* What a weight hides in float32 is judged in float64. */
static void nearly_right_blocks_fail(void **state) {
    (void)state;
    static const char *const families[] = {"uniform", "ones", "integers", "offset1e3", "sorted"};
    static const struct {
        Tails tails;
        size_t terms;
        const char *what;
    } wrong[] = {{TAILS_SHORT_OF_ONE, 3000, "a window short of its farthest term"},
                 {TAILS_RIGHT, 3001, "blocks of k + 1"},
                 {TAILS_RIGHT, 2999, "blocks of k - 1"},
                 {TAILS_WITHOUT_ONE, 3000, "an element of each block's end left out"},
                 {TAILS_WEIGHTED_LATE, 3000, "ends weighted by a factor too few"}};
    for (size_t f = 0; f < COUNT(families); f++)
        for (int mode = 0; mode < 3; mode++) {
            const bool f32 = mode == 2, unit = mode > 0;
            char text[512];
            snprintf(text, sizeof text, "discounted_cumsum n=9001 gamma=%s k=3000 dtype=%s input=%s seed=2", unit ? "1" : "0.999",
                     f32 ? "f32" : "f64", families[f]);
            Row row;
            row_open(&row, text);
            scan_reference(&row.scan, 0);
            for (size_t w = 0; w < COUNT(wrong); w++) {
                if (unit && wrong[w].tails == TAILS_WEIGHTED_LATE) continue; /* that is right */
                van_herk(&row, wrong[w].terms, wrong[w].tails);
                must(false, &row, wrong[w].what);
            }
            row_close(&row);
        }
}

/* float64 has room for the blocks' borders, float32 does not need it. */
static void room_for_borders(void **state) {
    (void)state;
    for (int f32 = 0; f32 < 2; f32++) {
        double tolerance[2];
        for (int all = 0; all < 2; all++) {
            Row row;
            char text[256];
            snprintf(text, sizeof text, "discounted_cumsum n=20000 gamma=0.99 k=%d dtype=%s input=ones", all ? 0 : 10000,
                     f32 ? "f32" : "f64");
            row_open(&row, text);
            scan_reference(&row.scan, 0);
            tolerance[all] = row.scan.reference[0].tolerance[0];
            row_close(&row);
        }
        if (f32)
            assert_true(fabs(tolerance[0] - tolerance[1]) <= 0.1 * tolerance[1]);
        else
            assert_true(tolerance[0] > 2 * tolerance[1] && tolerance[0] < 1.01 * 0x1p-53 * 10000 * 100);
    }
}

/* Sums that are small beside their terms are rounded less; and where one element makes errors go one way, there is room for it. */
static void windows_are_bounded_by_their_sums(void **state) {
    (void)state;
    for (int f32 = 0; f32 < 2; f32++) {
        Row row;
        row_open(&row, f32 ? "discounted_cumsum n=3001 k=100 dtype=f32 input=normal"
                           : "discounted_cumsum n=3001 k=100 dtype=f64 input=normal");
        scan_reference(&row.scan, 0);
        last_terms(&row, row.terms);
        double terms = 0, ratio = 0;
        for (size_t p = 1000; p < 1100; p++) terms += fabs(row.x[p]);
        for (size_t p = 1000; p < 2000; p++) {
            const double tolerance = row.scan.reference[0].tolerance[at(&row, p)];
            const double error = fabs(row.y[p] - row.scan.reference[0].value[at(&row, p)]);
            assert_true(tolerance < 30 * (f32 ? 0x1p-24 : 0x1p-53) * terms); /* of 250 by the sizes of its terms */
            ratio = fmax(ratio, error / tolerance);
        }
        assert_true(ratio > 0.01 && ratio < 0.7);
        row_close(&row);
    }
    for (int place = 0; place < 100; place += 9) {
        Row row;
        row_open(&row, "discounted_cumsum n=4000 gamma=1 k=100 dtype=f32 input=uniform");
        for (size_t p = (size_t)place; p < row.n; p += 150) {
            row.x[p] = 0x1p24;
            array_set(&row.scan.in[0], at(&row, p), row.x[p]);
        }
        scan_reference(&row.scan, 0);
        last_terms(&row, row.terms);
        must(true, &row, "direct sums behind a large number");
        row_close(&row);
    }
}

/* The looser bound is for a reason. */
static void differences_need_their_own_bound(void **state) {
    (void)state;
    Row row;
    row_open(&row, "discounted_cumsum n=20000 gamma=1 k=3 dtype=f32 input=uniform seed=1");
    by_difference(&row);
    scan_reference(&row.scan, 0);
    must(false, &row, "differences by 'scan'");
    scan_reference(&row.scan, 1);
    must(true, &row, "differences by 'difference'");
    row_close(&row);
}

static void one_term_more_or_less_fails(void **state) {
    (void)state;
    for (size_t f = 0; f < COUNT(WRONG_FAMILIES); f++)
        for (int f32 = 0; f32 < 2; f32++)
            for (size_t k = 1; k <= 200; k += 66) {
                char text[512];
                snprintf(text, sizeof text, "discounted_cumsum n=1500 gamma=0.99 k=%zu dtype=%s input=%s", k, f32 ? "f32" : "f64",
                         WRONG_FAMILIES[f]);
                Row row;
                row_open(&row, text);
                scan_reference(&row.scan, 0);
                last_terms(&row, k + 1);
                must(false, &row, "a term too many");
                last_terms(&row, k - 1);
                must(false, &row, "a term too few");
                row_close(&row);
            }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_of_k_terms_pass),
        cmocka_unit_test(blocks_of_k_terms_pass),
        cmocka_unit_test(a_million_in_blocks_of_k_terms),
        cmocka_unit_test(the_worst_for_borders),
        cmocka_unit_test(nearly_right_blocks_fail),
        cmocka_unit_test(room_for_borders),
        cmocka_unit_test(windows_are_bounded_by_their_sums),
        cmocka_unit_test(differences_need_their_own_bound),
        cmocka_unit_test(one_term_more_or_less_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
