/* rungs sharpness: what the tolerances of an op would let pass, by size and input family. */
#include "base/memory.h"
#include "base/numbers.h"
#include "cli/cases.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "pipeline/session.h"
#include "plan/case.h"
#include "plan/registry.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A cut of precision: of the inputs, or of the results, once, which is the least that sums in that type err by. */
typedef struct Cut {
    const char *name;
    NarrowForm form;
    bool truncates, results;
} Cut;

static const Cut CUTS[] = {
    {"f32", {8, 23, false}, false, false},     {"TF32", {8, 10, false}, false, false},    {"TF32 cut", {8, 10, false}, true, false},
    {"f16", {5, 10, false}, false, false},     {"bf16", {8, 7, false}, false, false},     {"f32 sums", {8, 23, false}, false, true},
    {"f16 sums", {5, 10, false}, false, true}, {"bf16 sums", {8, 7, false}, false, true}, {"truncated", {0, 0, false}, true, true},
};
enum { CUTS_COUNT = sizeof CUTS / sizeof *CUTS };

static NarrowForm form_of(DType dtype) {
    return dtype == DTYPE_F32   ? (NarrowForm){.exponent_bits = 8, .fraction_bits = 23}
           : dtype == DTYPE_F64 ? (NarrowForm){.exponent_bits = 11, .fraction_bits = 52}
                                : narrow_form(dtype);
}

/* The element of an array of this type. */
static double cut_number(const Cut *cut, DType dtype, double x) {
    const NarrowForm form = cut->form.fraction_bits ? cut->form : form_of(dtype);
    int exponent;
    if (!isfinite(x) || x == 0) return x;
    (void)frexp(x, &exponent);
    const int level = exponent - 1 > narrow_least(form) ? exponent - 1 : narrow_least(form);
    double y = narrow_nearest(form, x);
    if (cut->truncates && fabs(y) > fabs(x)) y -= copysign(ldexp(1, level - form.fraction_bits), x);
    return fabs(y) >= narrow_end(form) ? copysign(INFINITY, x) : y;
}

/* In an array; returns whether that changed an element. */
static bool cut_array(const Cut *cut, Array *array) {
    bool changed = false;
    for (size_t i = 0; dtype_is_real(array->dtype) && i < array_count(array); i++) {
        const double x = number_at(array, i), y = cut_number(cut, array->dtype, x);
        changed = changed || (x != y && !isnan(x));
        number_put(array, i, y);
    }
    return changed;
}

/* What is known of an output. share[cut]: of elements that reject it; NAN: it changes nothing. */
typedef struct Sharpness {
    double share[CUTS_COUNT], relative; /* the error that an element may have, of its value: the median */
    double ulps;
    Definitions definitions;
} Sharpness;

static double rejecting(DType dtype, const Reference *right, const double *other, const Cut *results, size_t count) {
    size_t rejected = 0, changed = 0, numbers = 0;
    for (size_t i = 0; i < count; i++) {
        const double value = right->value[i], stored = number_rounded(dtype, other[i]);
        const double given = results ? cut_number(results, dtype, results->form.fraction_bits ? stored : other[i]) : stored;
        changed += given != stored && !isnan(stored);
        numbers += isfinite(value);
        if (!isnan(value) && !(given == value || fabs(given - value) <= right->tolerance[i])) rejected++;
    }
    return numbers == 0 || (results && changed == 0) ? NAN : (double)rejected / (double)count;
}

static int by_size(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static Status one_element(const Array *out, const Reference *right, Sharpness *found) {
    const size_t count = array_count(out);
    double *errors = hostmemory_allocate(count * sizeof *errors);
    size_t known = 0;
    if (!errors) return status_fail(STATUS_MEMORY, "no memory for the errors of '%s'", out->name);
    for (size_t i = 0; i < count; i++)
        if (isfinite(right->value[i]) && right->value[i] != 0) errors[known++] = right->tolerance[i] / fabs(right->value[i]);
    qsort(errors, known, sizeof *errors, by_size);
    found->relative = known ? errors[known / 2] : NAN;
    found->ulps = found->relative / (2 * dtype_unit_roundoff(out->dtype));
    free(errors);
    return STATUS_OK;
}

/* The reference of inputs with less precision, beside the case's own tolerances. A factor for all keeps its digits: no variant
 * loads it as it loads numbers, and cut it would change more than they do. */
static Status cut_inputs(const Instance *right, const Reference *reference, int index, Sharpness *found) {
    Instance other;
    const Reference *values;
    bool changed = false;
    TRY(instance_create(right->op, &right->cases[DATA_FIRST], &other));
    Status status = instance_load(&other, DATA_FIRST);
    other.own_data = true; /* its reference is not one to keep */
    for (int i = 0; status == STATUS_OK && i < other.op->in_count; i++)
        if (array_count(&other.in[DATA_FIRST][i]) > 1 && cut_array(&CUTS[index], &other.in[DATA_FIRST][i])) changed = true;
    if (status == STATUS_OK && changed) status = instance_reference(&other, DATA_FIRST, 0, &values);
    for (int o = 0; status == STATUS_OK && o < other.op->out_count; o++) {
        const Array *out = &other.out[o];
        found[o].share[index] = changed ? rejecting(out->dtype, &reference[o], values[o].value, NULL, array_count(out)) : NAN;
    }
    instance_destroy(&other);
    return status;
}

static Status measure(Instance *instance, Sharpness found[OP_MAX_ARRAYS]) {
    const Reference *reference;
    if (instance_has_checker(instance))
        return status_fail(STATUS_UNSUPPORTED, "%s is judged by check(), which has no tolerance", instance->op->name);
    TRY(instance_load(instance, DATA_FIRST));
    TRY(instance_reference(instance, DATA_FIRST, 0, &reference));
    for (int c = 0; c < CUTS_COUNT; c++)
        if (!CUTS[c].results) TRY(cut_inputs(instance, reference, c, found));
    for (int o = 0; o < instance->op->out_count; o++) {
        const Array *out = &instance->out[o];
        TRY(one_element(out, &reference[o], &found[o]));
        for (int c = 0; c < CUTS_COUNT; c++)
            if (CUTS[c].results)
                found[o].share[c] = rejecting(out->dtype, &reference[o], reference[o].value, &CUTS[c], array_count(out));
        if (instance->op->wrong) TRY(instance_definitions(instance, DATA_FIRST, 0, o, &found[o].definitions));
    }
    return STATUS_OK;
}

static json_t *sharpness_json(const Instance *instance, int output, const Sharpness *found) {
    char text[CASE_TEXT_MAX];
    json_t *shares = json_object(), *pass = json_array(), *rejected = json_array();
    for (int c = 0; c < CUTS_COUNT; c++)
        if (!isnan(found->share[c])) json_object_set_new(shares, CUTS[c].name, json_real(found->share[c]));
    for (int w = 0; instance->op->wrong && instance->op->wrong[w]; w++)
        if (found->definitions.applies & 1u << w)
            json_array_append_new(found->definitions.rejected & 1u << w ? rejected : pass, json_string(instance->op->wrong[w]));
    return json_pack("{s:s, s:s, s:s, s:o, s:o, s:o, s:o, s:o}", "case",
                     case_format(&instance->cases[DATA_FIRST], text, sizeof text), "output", instance->out[output].name, "bound",
                     instance->op->bounds[0].name, "relative_error",
                     isfinite(found->relative) ? json_real(found->relative) : json_null(), "ulps",
                     isfinite(found->ulps) ? json_real(found->ulps) : json_null(), "rejecting_share", shares,
                     "definitions_rejected", rejected, "definitions_that_pass", pass);
}

static void print_head(const Case *problem) {
    char text[CASE_TEXT_MAX];
    case_format(problem, text, sizeof text);
    char *const input = strstr(text, " input=");
    printf("%.*s\n  %-12s %-8s %10s", input ? (int)(input - text) : (int)strlen(text), text, "family", "output", "ulps");
    for (int c = 0; c < CUTS_COUNT; c++) printf(" %9s", CUTS[c].name);
    printf("  definitions that pass\n");
}

static void print_row(const Instance *instance, int output, const Sharpness *found) {
    printf("  %-12s %-8s ", instance->cases[DATA_FIRST].input, instance->out[output].name);
    printf(isnan(found->ulps) ? "         -" : "%10.3g", found->ulps);
    for (int c = 0; c < CUTS_COUNT; c++) {
        if (isnan(found->share[c]))
            printf(" %9s", "-");
        else if (found->share[c] == 0)
            printf(" %9s", "passes");
        else
            printf(" %8.3g%%", 100 * found->share[c]);
    }
    const char *before = "  ";
    for (int w = 0; instance->op->wrong && instance->op->wrong[w]; w++)
        if (found->definitions.applies & ~found->definitions.rejected & 1u << w) {
            printf("%s%s", before, instance->op->wrong[w]);
            before = ", ";
        }
    printf("\n");
}

static Status show(const Case *problem, bool as_json) {
    Instance instance;
    Sharpness found[OP_MAX_ARRAYS] = {{{0}, 0, 0, {0, 0}}};
    TRY(instance_create(registry_op(problem->op), problem, &instance));
    const Status status = measure(&instance, found);
    for (int o = 0; status == STATUS_OK && o < instance.op->out_count; o++) {
        if (!as_json) {
            print_row(&instance, o, &found[o]);
            continue;
        }
        json_t *line = sharpness_json(&instance, o, &found[o]);
        char *text = json_dumps(line, JSON_COMPACT);
        puts(text ? text : "");
        memory_free(text);
        json_decref(line);
    }
    fflush(stdout);
    instance_destroy(&instance);
    return status;
}

/* The case in each family that it does not name itself. */
static Status families(const char *word, bool as_json) {
    Case problem;
    const Op *op = registry_op(word);
    if (op)
        TRY(case_init(op, &problem));
    else
        TRY(case_parse(word, &problem));
    op = registry_op(problem.op);
    TRY(case_check_function(&problem));
    if (op->exact) return status_fail(STATUS_INVALID, "%s: its outputs must match to the byte: nothing else passes", op->name);
    if (!as_json) print_head(&problem);
    if (strstr(word, " input=")) return show(&problem, as_json);
    Status none = STATUS_UNSUPPORTED;
    for (const char *const *family = op->families; *family; family++) {
        if (strchr(*family, ':')) continue; /* real:NAME */
        TRY(case_set(op, &problem, "input", *family));
        const Status status = show(&problem, as_json);
        if (status == STATUS_OK)
            none = STATUS_OK;
        else if (status != STATUS_UNSUPPORTED)
            return status;
        else if (!as_json)
            printf("  %-12s %s\n", *family, status_message()); /* the family's numbers are none of the type */
    }
    return none;
}

int command_sharpness(int argc, char **argv) {
    bool as_json = false;
    const CliOption OPTIONS[] = {{"json", NULL, CLI_FLAG, &as_json, "a line of JSON for each output"}, {0}};
    char **words;
    int count = 0, code = cli_parse("sharpness", "OP|CASE... [--json]", OPTIONS, argc, argv, &words, &count);
    if (code == 0 && count == 0) code = cli_usage("sharpness", "an op or a case is expected: `rungs list ops`");
    if (code != 0) return code;
    if (!as_json)
        printf("ulps: the error that one element may have, the median. Cuts of precision, of the inputs or of the results (sums):\n"
               "the elements that reject them; -: nothing changes. docs/METHOD.md#sharpness\n");
    for (int i = 0; i < count; i++) {
        const Status status = families(words[i], as_json);
        if (status != STATUS_OK) return cli_fail(status);
    }
    return EXIT_GOOD;
}
