/* smallest_error CASE [BOUND] - how small an error of one element is that the verification catches. For every output of the case
 * one line of JSON, with the term of the bound that is the largest in most elements: over the elements whose reference is finite
 * and not 0 (1024 at most, evenly spread), the number of ulps from which on an error is rejected in both directions, by bisection
 * with norms_compare() itself; and the wrong definitions that the tolerances tell. For docs/data/verification.md. Exit code 2: no
 * such case or bound.
 */
#include "base/numbers.h"
#include "plan/case.h"
#include "plan/registry.h"
#include "reference/terms.h"
#include "verify/accumulate.h"
#include "verify/definitions.h"
#include "verify/families.h"
#include "verify/norms.h"

#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SAMPLES = 1024 };

typedef struct Element {
    DType dtype;
    double value, tolerance; /* the reference */
} Element;

/* A number as its bits, which order numbers of one sign. */
typedef union Bits {
    int64_t bits;
    double f64;
    float f32;
    uint16_t narrow;
} Bits;

static Bits bits_of(DType dtype, double value) {
    Bits number = {0};
    number_set(dtype, &number, 0, value);
    return number;
}

/* The reference rounded to the dtype, then moved by `ulps`. */
static Bits moved_bits(const Element *element, int64_t ulps) {
    Bits number = bits_of(element->dtype, element->value);
    number.bits += ulps;
    return number;
}

static double moved(const Element *element, int64_t ulps) {
    const Bits number = moved_bits(element, ulps);
    return number_in(element->dtype, &number, 0);
}

static bool passes(const Element *element, int64_t ulps) {
    Bits number = moved_bits(element, ulps);
    Array actual = array_1d("element", element->dtype, 1);
    ErrorReport report;
    actual.data = &number;
    norms_compare(&actual, &element->value, &element->tolerance, &report);
    return report.pass;
}

/* Least k > 0 such that k ulps in this direction (1 or -1) are rejected; `most` if none below is: the end of the numbers of this
 * sign. */
static int64_t least_rejected(const Element *element, int direction, int64_t most) {
    int64_t good = 0, bad = 1;
    while (bad < most && passes(element, direction * bad)) good = bad, bad *= 2;
    if (bad > most) bad = most;
    while (bad - good > 1) {
        const int64_t middle = good + (bad - good) / 2;
        if (passes(element, direction * middle))
            good = middle;
        else
            bad = middle;
    }
    return bad;
}

typedef struct Caught {
    double ulps, relative;
} Caught;

static Caught smallest_caught(const Element *element) {
    const int64_t distance = bits_of(element->dtype, fabs(element->value)).bits, end = bits_of(element->dtype, INFINITY).bits;
    const int64_t up = least_rejected(element, 1, end - distance), down = least_rejected(element, -1, distance);
    const bool upwards = up > down;
    const double at = moved(element, upwards ? up : -down), from = moved(element, 0);
    return (Caught){.ulps = (double)(upwards ? up : down), .relative = fabs(at - from) / fabs(from)};
}

static int by_ulps(const void *a, const void *b) {
    const double x = ((const Caught *)a)->ulps, y = ((const Caught *)b)->ulps;
    return (x > y) - (x < y);
}

/* The term that is the largest in more elements than any other, or NULL. */
static const char *largest_term(const BoundTerm *terms, size_t count) {
    const char *best = NULL;
    size_t most = 0;
    for (size_t i = 0; i < count; i++) {
        size_t alike = 0;
        if (!terms[i].name || terms[i].name == best) continue;
        for (size_t k = i; k < count; k++) alike += terms[k].name == terms[i].name;
        if (alike > most) most = alike, best = terms[i].name;
    }
    return best;
}

/* A list of the wrong definitions that have a bit. */
static void print_names(const char *key, const Op *op, unsigned bits) {
    const char *before = "";
    printf(", \"%s\": [", key);
    for (int w = 0; op->wrong && op->wrong[w]; w++)
        if (bits & 1u << w) printf("%s\"%s\"", before, op->wrong[w]), before = ", ";
    printf("]");
}

static void print_output(const Op *op, int bound, const Array *out, const Reference *reference, const BoundTerm *terms,
                         const Definitions *definitions) {
    static BoundTerm sampled[SAMPLES];
    static Caught caught[SAMPLES];
    const size_t n = array_count(out), step = n > SAMPLES ? (n + SAMPLES - 1) / SAMPLES : 1;
    size_t count = 0, zeros = 0;
    for (size_t i = 0; i < n; i += step) {
        const Element element = {out->dtype, reference->value[i], reference->tolerance[i]};
        if (!isfinite(element.value)) continue;
        zeros += moved(&element, 0) == 0;
        sampled[count] = terms[i];
        if (moved(&element, 0) != 0) caught[count++] = smallest_caught(&element);
    }
    const char *term = largest_term(sampled, count);
    qsort(caught, count, sizeof *caught, by_ulps);
    printf("{\"output\": \"%s\", \"dtype\": \"%s\", \"bound\": \"%s\", \"formula\": \"%s\", \"elements\": %zu, \"zeros\": %zu",
           out->name, dtype_name(out->dtype), op->bounds[bound].name, op->bounds[bound].formula, count, zeros);
    if (count > 0) {
        const Caught *median = &caught[count / 2], *largest = &caught[count - 1];
        printf(", \"least_ulps\": %.0f, \"median_ulps\": %.0f, \"median_relative\": %.3g, \"largest_ulps\": %.0f, "
               "\"largest_relative\": %.3g",
               caught[0].ulps, median->ulps, median->relative, largest->ulps, largest->relative);
        if (term) printf(", \"term\": \"%s\"", term);
    }
    print_names("tells", op, definitions->rejected);
    print_names("does_not_tell", op, definitions->applies & ~definitions->rejected);
    puts("}");
}

static Status allocate(Array *array, int count) {
    for (int i = 0; i < count; i++)
        if (!(array[i].data = malloc(array_bytes(&array[i]) + 1))) return STATUS_MEMORY;
    return STATUS_OK;
}

static Status print_case(const char *text, const char *bound_name) {
    Case problem;
    Array in[OP_MAX_ARRAYS], out[OP_MAX_ARRAYS];
    Reference reference[OP_MAX_ARRAYS];
    BoundTerm *terms[OP_MAX_ARRAYS];
    int bound = 0;
    TRY(case_parse(text, &problem));
    const Op *op = registry_op(problem.op);
    if (!op->reference) return status_fail(STATUS_INVALID, "%s is compared to the byte", op->name);
    while (bound_name && op->bounds[bound].name && strcmp(op->bounds[bound].name, bound_name) != 0) bound++;
    if (!op->bounds[bound].name) return status_fail(STATUS_INVALID, "%s has no bound '%s'", op->name, bound_name);
    TRY(op->shapes(&problem, in, out));
    TRY(allocate(in, op->in_count));
    for (int i = 0; i < op->in_count; i++) TRY(family_input(op, &problem, i, &in[i]));
    for (int i = 0; i < op->out_count; i++) {
        reference[i].value = malloc(sizeof(double) * array_count(&out[i]) + 1);
        reference[i].tolerance = malloc(sizeof(double) * array_count(&out[i]) + 1);
        terms[i] = malloc(sizeof(BoundTerm) * array_count(&out[i]) + 1);
        if (!reference[i].value || !reference[i].tolerance || !terms[i]) return STATUS_MEMORY;
        bound_terms_open(reference[i].tolerance, array_count(&out[i]), terms[i]);
    }
    TRY(accumulated_reference(op, &problem, in, out, bound, reference));
    for (int i = 0; i < op->out_count; i++) {
        Definitions definitions = {0};
        if (op->wrong) TRY(definitions_rejected(op, &problem, in, out, reference, i, &definitions));
        print_output(op, bound, &out[i], &reference[i], terms[i], &definitions);
    }
    return STATUS_OK;
}

int main(int argc, char **argv) {
    omp_set_num_threads(1); /* comparisons of one element each */
    if (argc >= 2 && print_case(argv[1], argc > 2 ? argv[2] : NULL) == STATUS_OK) return 0;
    fprintf(stderr, "%s\n", argc >= 2 ? status_message() : "smallest_error CASE [BOUND]");
    return 2;
}
