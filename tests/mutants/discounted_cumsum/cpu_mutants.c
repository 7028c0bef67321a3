/* Mutants: the published log-stage algorithm on one thread, for x[1, n] in f32 to the right, the recurrence in f16 and bf16, or
 * that of columns with a state to the left in f64, with one mistake each. */
#include "../common/mutants.h"
#include "../common/narrow.h"

#include <math.h>
#include <string.h>

typedef struct Mistake {
    int stages_lost;
    bool float_stages; /* counted as the published code does, in float, which is right up to 2^21 */
    int power;         /* every power is too high by this */
    Narrow narrow;
    bool stateless, stale, early; /* nothing enters, or what entered the column before; the state before the last position leaves */
    bool neighbour;               /* takes the discounts of the position before */
} Mistake;

static int stages_needed(size_t n, const Mistake *wrong) {
    int stages = 0;
    if (wrong->float_stages) return n > 1 ? (int)ceilf(log2f((float)n)) : 0;
    while (((size_t)1 << stages) < n) stages++;
    return stages - wrong->stages_lost;
}

static void log_stages(const VariantArgs *args, const Mistake *wrong) {
    const size_t n = array_count(&args->in[0]);
    const float gamma = *(const float *)args->in[1].data;
    const int stages = stages_needed(n, wrong);
    float *y = args->out[0].data;
    if (n > 0) memcpy(y, args->in[0].data, n * sizeof *y);
    for (int stage = 0; stage < stages; stage++) {
        const size_t half = (size_t)1 << stage;
        for (size_t from = half; from < n; from += 2 * half)
            for (size_t distance = 1; distance <= half; distance++)
                y[from - distance] += y[from] * powf(gamma, (float)((double)distance + wrong->power));
    }
}

static void narrow_row(const VariantArgs *args, const Narrow *wrong) {
    const Case *problem = args->problem;
    const double gamma = narrow_factor(wrong, problem, number_at(&args->in[1], 0));
    double sum = 0;
    for (size_t i = array_count(&args->in[0]); i-- > 0;) {
        sum = narrow_sum(wrong, problem, narrow_input(wrong, &args->in[0], i) + narrow_sum(wrong, problem, gamma * sum));
        narrow_output(wrong, &args->out[0], i, sum);
    }
}

static void columns(const VariantArgs *args, const Mistake *wrong) {
    const size_t n = args->in[0].shape[0], batch = args->in[0].shape[1];
    const double *x = args->in[0].data, *gamma = args->in[1].data, *initial = args->in[2].data;
    double *y = args->out[0].data, *final = args->out[1].data;
    for (size_t c = 0; c < batch; c++) {
        double sum = wrong->stateless ? 0 : initial[wrong->stale && c > 0 ? c - 1 : c];
        for (size_t t = 0; t < n; t++) {
            if (wrong->early) final[c] = sum;
            sum = x[t * batch + c] + gamma[(wrong->neighbour && t > 0 ? t - 1 : t) * batch + c] * sum;
            if (!wrong->early) final[c] = sum;
            y[t * batch + c] = sum;
        }
    }
}

#define MUTANTS(M)                                                                                                                 \
    M(nothing, 0)                                                                                                                  \
    M(float_stages, .float_stages = true)                                                                                          \
    M(lost_stage, .stages_lost = 1)                                                                                                \
    M(power_off_by_one, .power = 1)                                                                                                \
    M(bf16_inputs, .narrow.f32_digits = 7)                                                                                         \
    M(tf32_inputs, .narrow.f32_digits = 10)                                                                                        \
    M(narrow_sums, .narrow.sums = true)                                                                                            \
    M(narrow_inputs, .narrow.inputs = true)                                                                                        \
    M(narrow_outputs, .narrow.truncates = true)                                                                                    \
    M(narrow_factor, .narrow.factors = true)                                                                                       \
    M(stateless, .stateless = true)                                                                                                \
    M(stale_state, .stale = true)                                                                                                  \
    M(early_final, .early = true)                                                                                                  \
    M(neighbour_factor, .neighbour = true)
MUTANT_TABLE(Mistake)

static Status run(const VariantArgs *args) {
    if (array_count(&args->out[1]) > 0)
        columns(args, mutant_of(args));
    else if (is_narrowed(args, &mutant_of(args)->narrow))
        narrow_row(args, &mutant_of(args)->narrow);
    else
        log_stages(args, mutant_of(args));
    return STATUS_OK;
}

static const DType DTYPES[] = {DTYPE_F64, DTYPE_F32, DTYPE_F16, DTYPE_BF16, DTYPE_COUNT};
static const DType ACCUMULATES[] = {DTYPE_F64, DTYPE_COUNT};
static const char *const OPTIONS[] = {"layout", "state", NULL};
RUNGS_VARIANT(discounted_cumsum, cpu_mutants) = {.backend = BACKEND_CPU,
                                                 .summary = "log stages with one mistake",
                                                 .origin = "tests",
                                                 .tunables = TUNABLES,
                                                 .dtypes = DTYPES,
                                                 .accumulates = ACCUMULATES,
                                                 .options = OPTIONS,
                                                 .run = run};
