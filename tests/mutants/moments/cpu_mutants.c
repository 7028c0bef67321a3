/* Mutants: moments by two passes with a correction, in double, one thread, order 4, no weights, with one mistake each. */
#include "../common/mutants.h"
#include "../common/narrow.h"

#include <math.h>

typedef struct Mistakes {
    bool ddof_one;          /* var over n - 1 */
    bool raw_squares;       /* var = E[x^2] - E[x]^2 */
    bool unbiased_skewness; /* times sqrt(n (n - 1)) / (n - 2) */
    bool excess_kurtosis;   /* 3 less */
    bool float_sums;
    bool last_row_lost;
    bool last_column_lost; /* a copy of the one before */
    bool empty_part;       /* what no row belongs to is merged in as if it had a 0 */
    bool nan_passed_over;  /* by fmin and fmax */
    Narrow narrow;
} Mistakes;

#define MUTANTS(M)                                                                                                                 \
    M(nothing, 0)                                                                                                                  \
    M(ddof_one, .ddof_one = true)                                                                                                  \
    M(empty_part, .empty_part = true)                                                                                              \
    M(excess_kurtosis, .excess_kurtosis = true)                                                                                    \
    M(float_sums, .float_sums = true)                                                                                              \
    M(last_column, .last_column_lost = true)                                                                                       \
    M(last_row, .last_row_lost = true)                                                                                             \
    M(narrow_inputs, .narrow.inputs = true)                                                                                        \
    M(narrow_outputs, .narrow.truncates = true)                                                                                    \
    M(bf16_inputs, .narrow.f32_digits = 7)                                                                                         \
    M(tf32_inputs, .narrow.f32_digits = 10)                                                                                        \
    M(narrow_sums, .narrow.sums = true)                                                                                            \
    M(passes_over_nan, .nan_passed_over = true)                                                                                    \
    M(raw_squares, .raw_squares = true)                                                                                            \
    M(unbiased_skewness, .unbiased_skewness = true)
MUTANT_TABLE(Mistakes)

static double element_of(const VariantArgs *args, size_t row, size_t column) {
    const size_t i = row * args->in[0].shape[1] + column;
    const Narrow *wrong = &mutant_of(args)->narrow;
    return narrow_input(wrong, &args->in[0], i);
}

static void give(const VariantArgs *args, int output, size_t column, double value) {
    narrow_output(&mutant_of(args)->narrow, &args->out[output], column, value);
}

static double added(const VariantArgs *args, double sum, double value) {
    const Mistakes *wrong = mutant_of(args);
    if (wrong->narrow.sums) return number_rounded(args->problem->dtype, sum + value);
    return wrong->float_sums ? (double)((float)sum + (float)value) : sum + value;
}

/* min and max: a NaN is one of the column, too. */
static void extremes(const VariantArgs *args, size_t column, size_t rows, const Mistakes *wrong, double *low, double *high) {
    *low = *high = wrong->empty_part ? 0 : element_of(args, 0, column);
    for (size_t r = 0; r < rows; r++) {
        const double x = element_of(args, r, column);
        *low = fmin(*low, x);
        *high = fmax(*high, x);
        if (isnan(x) && !wrong->nan_passed_over) *low = *high = NAN;
        if (isnan(x) && !wrong->nan_passed_over) break;
    }
}

static void moments_of(const VariantArgs *args, size_t column, const Mistakes *wrong) {
    const size_t rows = args->in[0].shape[0] - (wrong->last_row_lost ? 1 : 0);
    const double n = (double)rows;
    double sum[5] = {0}, low, high, mean = 0, squares = 0;
    extremes(args, column, rows, wrong, &low, &high);
    for (size_t r = 0; r < rows; r++) mean = added(args, mean, element_of(args, r, column));
    mean /= n;
    for (size_t r = 0; r < rows; r++) {
        const double x = element_of(args, r, column), d = x - mean;
        squares = added(args, squares, x * x);
        for (int p = 1; p <= 4; p++) sum[p] = added(args, sum[p], pow(d, p));
    }
    const double off = sum[1] / n, m2 = sum[2] / n - off * off;
    const double m3 = sum[3] / n - 3 * off * sum[2] / n + 2 * off * off * off;
    const double m4 = sum[4] / n - 4 * off * sum[3] / n + 6 * off * off * sum[2] / n - 3 * off * off * off * off;
    const double var = wrong->raw_squares ? squares / n - mean * mean : wrong->ddof_one ? m2 * n / (n - 1) : m2;
    const bool constant = low == high;
    give(args, 0, column, isfinite(mean) ? mean + off : mean);
    give(args, 1, column, constant ? 0 : var);
    give(args, 2, column, constant ? NAN : m3 / pow(m2, 1.5) * (wrong->unbiased_skewness ? sqrt(n * (n - 1)) / (n - 2) : 1));
    give(args, 3, column, constant ? NAN : m4 / (m2 * m2) - (wrong->excess_kurtosis ? 3 : 0));
    give(args, 4, column, low);
    give(args, 5, column, high);
}

static Status two_pass(const VariantArgs *args, Mistakes wrong) {
    const size_t columns = args->in[0].shape[1];
    for (size_t c = 0; c + (wrong.last_column_lost ? 1 : 0) < columns; c++) moments_of(args, c, &wrong);
    for (int o = 0; o < 6 && wrong.last_column_lost; o++) {
        const size_t last = columns - 1;
        give(args, o, last, number_at(&args->out[o], last - 1));
    }
    return STATUS_OK;
}

static Status run(const VariantArgs *args) {
    return two_pass(args, *mutant_of(args));
}

static const DType DTYPES[] = {DTYPE_F64, DTYPE_F32, DTYPE_F16, DTYPE_BF16, DTYPE_E4M3, DTYPE_E5M2, DTYPE_COUNT};
static const DType ACCUMULATES[] = {DTYPE_F64, DTYPE_COUNT};
RUNGS_VARIANT(moments, cpu_mutants) = {.dtypes = DTYPES,
                                       .accumulates = ACCUMULATES,
                                       .backend = BACKEND_CPU,
                                       .summary = "moments with one mistake",
                                       .origin = "tests",
                                       .tunables = TUNABLES,
                                       .run = run};
