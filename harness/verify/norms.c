/* Every comparison here is written so that NaN falls on the failing side. Sums are kept per chunk and added in order, and the
 * number of chunks is fixed, so that a report does not depend on the number of threads. */
#include "verify/norms.h"

#include "base/numbers.h"
#include "base/poison.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { CHUNKS = 256, RUN = 1024 /* elements between additions to the long sums */ };

/* The report of a part, with what cannot be combined from the report alone. */
typedef struct Part {
    ErrorReport report;
    size_t violations;                    /* comparable elements beyond their tolerance */
    size_t wrong_poison;                  /* unwritten elements that would be, too */
    size_t weighed, vacuous;              /* elements of a finite reference that is not 0; those where 0 would pass */
    long double error_sum, reference_sum; /* of squares; long double so that 1e200 squared does not overflow */
} Part;

/* An array that may still hold poison, and the pattern as its elements. */
typedef struct Poisoned {
    const Array *array;
    uint64_t pattern;
} Poisoned;

static bool is_poison(const Poisoned *actual, size_t i) {
    if (dtype_size(actual->array->dtype) == 1) return ((const uint8_t *)actual->array->data)[i] == (uint8_t)actual->pattern;
    if (dtype_size(actual->array->dtype) == sizeof(uint16_t))
        return ((const uint16_t *)actual->array->data)[i] == (uint16_t)actual->pattern;
    if (actual->array->dtype == DTYPE_F32) {
        uint32_t bits;
        memcpy(&bits, (const float *)actual->array->data + i, sizeof bits);
        return bits == (uint32_t)actual->pattern;
    }
    uint64_t bits;
    memcpy(&bits, (const double *)actual->array->data + i, sizeof bits);
    return bits == actual->pattern;
}

/* Distance between neighbouring numbers of the dtype at x, which is finite; at 0 and among subnormals the smallest there is. Put
 * together from the bits: this runs once per element. */
static double spacing(double x, DType dtype) {
    static const struct {
        uint64_t least, digits; /* the smallest normal exponent, in the place that double has it; bits behind the point */
    } FORMS[DTYPE_COUNT] = {[DTYPE_F64] = {1, 52},          [DTYPE_F32] = {1023 - 126, 23}, [DTYPE_F16] = {1023 - 14, 10},
                            [DTYPE_BF16] = {1023 - 126, 7}, [DTYPE_E4M3] = {1023 - 6, 3},   [DTYPE_E5M2] = {1023 - 14, 2}};
    const uint64_t least = FORMS[dtype].least, digits = FORMS[dtype].digits;
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    const uint64_t exponent = bits >> 52 & 0x7ff;
    const uint64_t e = exponent > least ? exponent : least;
    bits = e > digits ? (e - digits) << 52 : UINT64_C(1) << (e - 1);
    memcpy(&x, &bits, sizeof bits);
    return x;
}

static double larger(double a, double b) {
    return a > b ? a : b;
}

/* err / tolerance, at most 1 exactly if the element passes. */
static double ratio_of(double err, double tolerance) {
    if (err <= tolerance) return err == 0 || isinf(tolerance) ? 0 : err / tolerance;
    const double ratio = tolerance > 0 ? err / tolerance : INFINITY;
    return ratio > 1 ? ratio : tolerance > 0 ? 0x1.0000000000001p+0 : INFINITY;
}

/* Quotients are only formed where a product says that they exceed the largest so far: divisions would be most of the time. */
static void compare_finite(Part *part, size_t i, double actual, double reference, double tolerance, double ulp) {
    ErrorReport *r = &part->report;
    const double err = fabs(actual - reference), size = fabs(reference);
    const bool good = err <= tolerance;
    if (!good) part->violations++;
    if (!good || !(err <= r->max_ratio * tolerance)) {
        const double ratio = ratio_of(err, tolerance);
        if (ratio > r->max_ratio) r->max_ratio = ratio, r->worst = i;
    }
    if (err == 0) return;
    if (err > r->max_absolute) r->max_absolute = err;
    if (size > 0 && err > r->max_relative * size) r->max_relative = larger(err / size, r->max_relative);
    if (err > r->max_ulp * ulp) r->max_ulp = larger(err / ulp, r->max_ulp);
}

/* An infinity to which a number within the tolerance is rounded is the first number beyond the range, f16 and bf16. */
static double as_number(double actual, double reference, double tolerance, DType dtype) {
    if (!isinf(actual) || !isfinite(reference) || !dtype_is_narrow(dtype)) return actual;
    const double end = narrow_end(narrow_form(dtype));
    return actual * reference > 0 && fabs(reference) + tolerance >= end ? copysign(end, actual) : actual;
}

static void compare_element(Part *part, size_t i, double actual, double reference, double tolerance, DType dtype) {
    ErrorReport *r = &part->report;
    actual = as_number(actual, reference, tolerance, dtype);
    if (isfinite(reference) && isfinite(actual)) {
        compare_finite(part, i, actual, reference, tolerance, spacing(reference, dtype));
    } else if (!(isnan(reference) && isnan(actual)) && reference != actual) {
        if (r->incomparable++ == 0) r->first_incomparable = i;
    }
}

/* Does the tolerance of an element tell its value from 0? */
static void weigh(Part *part, double reference, double tolerance) {
    const double size = fabs(reference);
    const bool counts = size > 0 && size < INFINITY;
    part->weighed += counts;
    part->vacuous += counts && !(tolerance < size);
}

/* Adds the squares of a run's errors and references: in double, and again in long double if that over- or underflows. */
static void add_squares(Part *part, const Poisoned *actual, const double *value, size_t begin, size_t end) {
    double errors = 0, references = 0;
    long double wide_errors = 0, wide_references = 0;
    for (size_t i = begin; i < end; i++) {
        const double a = number_at(actual->array, i), err = a - value[i];
        if (!isfinite(value[i]) || !isfinite(a) || is_poison(actual, i)) continue;
        errors += err * err;
        references += value[i] * value[i];
    }
    const bool good = errors < 0x1p1000 && references < 0x1p1000 && references > 0x1p-900 && (errors == 0 || errors > 0x1p-900);
    for (size_t i = begin; i < end && !good; i++) {
        const double a = number_at(actual->array, i);
        if (!isfinite(value[i]) || !isfinite(a) || is_poison(actual, i)) continue;
        wide_errors += ((long double)a - value[i]) * ((long double)a - value[i]);
        wide_references += (long double)value[i] * value[i];
    }
    part->error_sum += good ? errors : wide_errors;
    part->reference_sum += good ? references : wide_references;
}

static void compare_part(const Poisoned *actual, const double *value, const double *tolerance, size_t begin, size_t end,
                         Part *out) {
    Part part = {.report = {.count = end - begin, .worst = begin}};
    for (size_t first = begin; first < end; first += RUN) {
        const size_t last = end - first < RUN ? end : first + RUN;
        for (size_t i = first; i < last; i++) {
            weigh(&part, value[i], tolerance[i]);
            if (!is_poison(actual, i)) {
                compare_element(&part, i, number_at(actual->array, i), value[i], tolerance[i], actual->array->dtype);
            } else {
                if (part.report.unwritten++ == 0) part.report.first_unwritten = i;
                const double a = number_at(actual->array, i);
                const bool right = fabs(a - value[i]) <= tolerance[i] || (isnan(a) && isnan(value[i]));
                part.wrong_poison += !right;
            }
        }
        add_squares(&part, actual, value, first, last);
    }
    *out = part;
}

static void combine(Part *total, const Part *part) {
    ErrorReport *t = &total->report;
    const ErrorReport *p = &part->report;
    t->max_absolute = larger(p->max_absolute, t->max_absolute);
    t->max_relative = larger(p->max_relative, t->max_relative);
    t->max_ulp = larger(p->max_ulp, t->max_ulp);
    if (p->max_ratio > t->max_ratio) t->max_ratio = p->max_ratio, t->worst = p->worst;
    if (p->incomparable && !t->incomparable) t->first_incomparable = p->first_incomparable;
    if (p->unwritten && !t->unwritten) t->first_unwritten = p->first_unwritten;
    t->count += p->count;
    t->incomparable += p->incomparable;
    t->unwritten += p->unwritten;
    total->violations += part->violations;
    total->wrong_poison += part->wrong_poison;
    total->weighed += part->weighed;
    total->vacuous += part->vacuous;
    total->error_sum += part->error_sum;
    total->reference_sum += part->reference_sum;
}

void norms_compare(const Array *actual, const double *value, const double *tolerance, ErrorReport *out) {
    norms_compare_poisoned(actual, value, tolerance, POISON_BYTE, out);
}

void norms_compare_poisoned(const Array *actual, const double *value, const double *tolerance, unsigned char poison,
                            ErrorReport *out) {
    const size_t n = array_count(actual), chunk = n / CHUNKS + 1;
    const Poisoned poisoned = {actual, poison * UINT64_C(0x0101010101010101)};
    Part parts[CHUNKS], total = {0};
#pragma omp parallel for schedule(dynamic)
    for (size_t c = 0; c < CHUNKS; c++) {
        const size_t begin = c * chunk < n ? c * chunk : n, end = n - begin < chunk ? n : begin + chunk;
        compare_part(&poisoned, value, tolerance, begin, end, &parts[c]);
    }
    for (size_t c = 0; c < CHUNKS; c++) combine(&total, &parts[c]);

    ErrorReport *r = &total.report;
    if (total.error_sum > 0)
        r->l2_relative = total.reference_sum > 0 ? (double)sqrtl(total.error_sum / total.reference_sum) : INFINITY;
    if (r->incomparable)
        r->worst = r->first_incomparable;
    else if (r->unwritten)
        r->worst = r->first_unwritten;
    if (n > 0) {
        r->worst_truth = value[r->worst];
        r->worst_actual = number_at(actual, r->worst);
        r->worst_tolerance = tolerance[r->worst];
    }
    r->vacuous = total.weighed > 0 ? (double)total.vacuous / (double)total.weighed : 0;
    r->judgeable = r->vacuous <= NORMS_VACUOUS_MAX;
    const bool good = r->count == n && r->incomparable == 0 && total.violations == 0;
    r->pass = good && r->unwritten == 0;
    r->undecided = good && r->unwritten > 0 && total.wrong_poison == 0;
    *out = *r;
}

/* In decimal for people, with all its digits behind. */
static const char *shown(double value, char text[64]) {
    snprintf(text, 64, isfinite(value) ? "%.9g (%a)" : "%g", value, value);
    return text;
}

char *norms_explain(const ErrorReport *report, const char *output, const Array *input, char *text, size_t size) {
    if (size == 0) return text;
    text[0] = '\0';
    if (report->pass) return text;
    const ErrorReport *r = report;
    char is[64], should[64];
    shown(r->worst_actual, is), shown(r->worst_truth, should);
    int used;
    if (r->incomparable)
        used = snprintf(text, size,
                        "%s[%zu] is %s, expected %s: %zu of %zu elements are NaN or inf where the reference is not, or the reverse",
                        output, r->worst, is, should, r->incomparable, r->count);
    else if (r->unwritten)
        used = snprintf(text, size, "%s[%zu] was never written, expected %s: %zu of %zu elements unwritten", output, r->worst,
                        should, r->unwritten, r->count);
    else
        used = snprintf(text, size, "%s[%zu] is %s, expected %s within %.3g: the error %.3g is %.3g times the tolerance", output,
                        r->worst, is, should, r->worst_tolerance, fabs(r->worst_actual - r->worst_truth), r->max_ratio);
    if (input && input->data && r->worst < array_count(input) && dtype_is_real(input->dtype) && used >= 0 && (size_t)used < size)
        snprintf(text + used, size - (size_t)used, "; %s[%zu] is %s", input->name, r->worst, shown(number_at(input, r->worst), is));
    return text;
}
