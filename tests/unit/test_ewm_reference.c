/* The reference of `ewm` against pandas (tests/golden/ewm_pandas.txt), against the definition in 600 bits, and against discounted
 * sums.
 */
/* needs: ewm */
#include "base/places.h"
#include "scan_support.h"

#include <mpfr.h>

enum { BITS = 600, LINE_MAX_BYTES = 4096 };

static mpfr_t sum, weights, weight, squares, second, term, q_mpfr;

static double next_number(char **text) {
    char *end;
    const double value = strtod(*text, &end);
    if (end == *text) fail_msg("not a number: %s", *text);
    *text = end;
    return value;
}

/* pandas takes differences of weights to correct the bias, which costs it digits where hardly anything has been observed; after one
 * observation the difference may be a rounding error instead of 0, and the variance 0 instead of NaN. */
static void every_element_agrees_with_pandas(void **state) {
    (void)state;
    FILE *file = fopen(places_project("tests/golden/ewm_pandas.txt"), "r");
    assert_non_null(file);
    static char words[LINE_MAX_BYTES], input[LINE_MAX_BYTES], output[LINE_MAX_BYTES];
    int cases = 0;
    for (; fgets(words, sizeof words, file); cases++) {
        assert_non_null(fgets(input, sizeof input, file));
        assert_non_null(fgets(output, sizeof output, file));
        words[strcspn(words, "\n")] = '\0';
        Scan self = scan_open("ewm %s dtype=f64 input=uniform", words);
        char *x = input, *y = output;
        for (size_t i = 0; i < self.n; i++) array_set(&self.in[0], i, next_number(&x));
        scan_reference(&self, 0);
        size_t observed = 0;
        const bool spread = !strstr(words, "agg=mean");
        for (size_t i = 0; i < self.n; i++) {
            const double value = self.reference[0].value[i], expected = next_number(&y);
            observed += isnan(array_get(&self.in[0], i)) ? 0 : 1;
            if (spread && observed == 1 && isnan(value) && expected == 0) continue;
            const double tolerance = self.reference[0].tolerance[i] + 1e-12 * fabs(expected) + (spread ? 1e-9 * fabs(expected) : 0);
            if (!same_value(value, expected) && !(fabs(value - expected) <= tolerance))
                fail_msg("%s at %zu: %.17g, pandas %.17g", words, i, value, expected);
        }
        scan_close(&self);
    }
    fclose(file);
    assert_true(cases >= 300);
}

int main(void) {
    mpfr_inits2(BITS, sum, weights, weight, squares, second, term, q_mpfr, (mpfr_ptr)0);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_element_agrees_with_pandas),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
