/* Whatever a case, a variant pattern or a scenario file holds, it is read and comes back the same, or refused with its place. The
 * tables of ops and variants are this file's own, so that nothing needs to be built but the readers. */
#define _GNU_SOURCE
#include "plan/case.h"
#include "plan/scenario.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static const char *const CHOICES[] = {"mean", "min", NULL};
static const ParamSpec PARAMS[] = {
    {"agg", "a choice", PARAM_CHOICE, "mean", 0, 0, CHOICES},
    {"n", "an integer", PARAM_INT, NULL, 0, 1e12, NULL},
    {"gamma", "a real", PARAM_REAL, "0.5", -2, 2, NULL},
    {"file", "a text", PARAM_TEXT, "none", 0, 0, NULL},
    {0},
};
static const char *const OP_FAMILIES[] = {"uniform", "offset", "naninf", NULL};

static Status shapes(const Case *problem, Array *in, Array *out) {
    in[0] = out[0] = array_1d("x", problem->dtype, (size_t)params_int(&problem->params, "n"));
    return STATUS_OK;
}

static const Op OP = {
    .name = "op", .summary = "", .params = PARAMS, .families = OP_FAMILIES, .in_count = 1, .out_count = 1, .shapes = shapes};
static const ParamSpec TUNABLES[] = {
    {"threads", "", PARAM_INT, "64", 1, 1024, NULL}, {"tile", "", PARAM_INT, "48", 1, 64, NULL}, {0}};
static const Variant PLAIN = {.backend = BACKEND_CPU}, TUNED = {.backend = BACKEND_CUDA, .tunables = TUNABLES};

const Op *const REGISTRY_OPS[] = {&OP, NULL};
const int REGISTRY_OP_COUNT = 1;
const VariantEntry REGISTRY_VARIANTS[] = {
    {.id = "op/cpu_a", .op = "op", .path = "a", .backend = BACKEND_CPU, .variant = &PLAIN},
    {.id = "op/cuda_b", .op = "op", .path = "b", .backend = BACKEND_CUDA, .variant = &TUNED},
};
const int REGISTRY_VARIANT_COUNT = 2;

static void require(int reference) {
    if (!reference) abort();
}

static void require_refused(Status status, const char *begin) {
    require(status == STATUS_INVALID && strncmp(status_message(), begin, strlen(begin)) == 0);
}

static void one_case(const char *text) {
    Case problem, again;
    char line[CASE_TEXT_MAX], twice[CASE_TEXT_MAX];
    const Status status = case_parse(text, &problem);
    if (status != STATUS_OK) {
        require_refused(status, "column ");
        return;
    }
    case_format(&problem, line, sizeof line);
    require(case_parse(line, &again) == STATUS_OK);
    require(strcmp(case_format(&again, twice, sizeof twice), line) == 0);
    require(again.seed == problem.seed && again.dtype == problem.dtype);
}

static void one_pattern(const char *text) {
    VariantChoice *choices, *again;
    int count, one;
    char spec[SPEC_TEXT_MAX], twice[SPEC_TEXT_MAX];
    const Status status = variant_choices_parse(&OP, text, &choices, &count);
    if (status != STATUS_OK) {
        require(choices == NULL);
        if (strncmp(status_message(), "more than", 9) != 0) require_refused(status, "column ");
        return;
    }
    require(count > 0);
    variant_choice_format(&choices[count - 1], spec, sizeof spec);
    require(variant_choices_parse(&OP, spec, &again, &one) == STATUS_OK && one == 1);
    require(strcmp(variant_choice_format(&again[0], twice, sizeof twice), spec) == 0);
    free(again);
    free(choices);
}

static void one_file(const uint8_t *bytes, size_t size) {
    const int fd = memfd_create("fuzz", 0);
    require(fd >= 0 && write(fd, bytes, size) == (ssize_t)size);
    char path[40];
    Plan plan = {0};
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    const Status status = plan_add_scenario(&plan, path);
    if (status == STATUS_OK)
        require(plan.scenario_count == 1);
    else {
        require_refused(status, path);
        require(plan.item_count == 0 && plan.claim_count == 0);
    }
    plan_free(&plan);
    close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    if (size == 0) return 0;
    char *text = strndup((const char *)bytes + 1, size - 1);
    require(text != NULL);
    if (bytes[0] == '=')
        one_case(text);
    else if (bytes[0] == '*')
        one_pattern(text);
    else
        one_file(bytes, size);
    free(text);
    return 0;
}
