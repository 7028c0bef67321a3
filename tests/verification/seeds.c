/* seeds MODULE CASE SEEDS MUTANT... - with which of the seeds 1 to SEEDS each of these mutants passes: a line each, its name and
 * those seeds. MODULE: of tests/mutants/<op>/cpu_mutants.c, loaded into this process, so that a thousand seeds take seconds. Exit
 * code 2: no such case, module or mutant.
 */
#include "plan/case.h"
#include "plan/registry.h"
#include "variant.h"
#include "verify/accumulate.h"
#include "verify/families.h"
#include "verify/norms.h"

#include <dlfcn.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_MUTANT = 4 }; /* of the words */

typedef struct Trial {
    const Op *op;
    Case problem;
    Array in[OP_MAX_ARRAYS], out[OP_MAX_ARRAYS];
    Reference reference[OP_MAX_ARRAYS];
    const Variant *variant;
} Trial;

static Status find(Trial *self, const char *module, const char *text) {
    void *handle = dlopen(module, RTLD_NOW | RTLD_LOCAL);
    const VariantModule *found = handle ? dlsym(handle, RUNGS_MODULE_SYMBOL) : NULL;
    if (!found) return status_fail(STATUS_INVALID, "%s", dlerror());
    TRY(case_parse(text, &self->problem));
    if (strcmp(found->op, self->problem.op) != 0)
        return status_fail(STATUS_INVALID, "%s is of %s, not of %s", module, found->op, self->problem.op);
    self->variant = found->variant;
    return registry_require_op(self->problem.op, &self->op);
}

static Status allocate(Trial *self) {
    bool all = true;
    TRY(self->op->shapes(&self->problem, self->in, self->out));
    for (int i = 0; i < self->op->in_count; i++) all &= !!(self->in[i].data = malloc(array_bytes(&self->in[i]) + 1));
    for (int i = 0; i < self->op->out_count; i++) {
        const size_t bytes = sizeof(double) * array_count(&self->out[i]) + 1;
        all &= !!(self->out[i].data = malloc(bytes));
        all &= !!(self->reference[i].value = malloc(bytes));
        all &= !!(self->reference[i].tolerance = malloc(bytes));
    }
    return all ? STATUS_OK : status_fail(STATUS_MEMORY, "no memory for the arrays");
}

/* Inputs of this seed, and their reference. */
static Status take_seed(Trial *self, int seed) {
    char text[16];
    snprintf(text, sizeof text, "%d", seed);
    TRY(case_set(self->op, &self->problem, "seed", text));
    for (int i = 0; i < self->op->in_count; i++) TRY(family_input(self->op, &self->problem, i, &self->in[i]));
    return accumulated_reference(self->op, &self->problem, self->in, self->out, 0, self->reference);
}

static Status try_mutant(Trial *self, const char *name, bool *pass) {
    Params params;
    TRY(params_init(self->variant->tunables, &params));
    TRY(params_set(&params, "wrong", name));
    VariantArgs args = {.problem = &self->problem, .tunables = &params, .in = self->in, .out = self->out};
    args.in_count = self->op->in_count, args.out_count = self->op->out_count;
    args.scratch_bytes = self->variant->scratch_bytes ? self->variant->scratch_bytes(&args) : 0;
    if (!(args.scratch = malloc(args.scratch_bytes + 1))) return status_fail(STATUS_MEMORY, "no memory for scratch");
    for (int i = 0; i < self->op->out_count; i++) memset(self->out[i].data, 0xFF, array_bytes(&self->out[i]));
    const Status status = self->variant->run(&args);
    free(args.scratch);
    *pass = true;
    for (int i = 0; i < self->op->out_count; i++) {
        ErrorReport report;
        norms_compare(&self->out[i], self->reference[i].value, self->reference[i].tolerance, &report);
        *pass = *pass && report.pass;
    }
    return status;
}

static Status try_all(Trial *self, int seeds, char *const *names, int count) {
    bool *passes = calloc((size_t)seeds * (size_t)count + 1, sizeof *passes);
    if (!passes) return status_fail(STATUS_MEMORY, "no memory for the verdicts");
    for (int seed = 1; seed <= seeds; seed++) {
        TRY(take_seed(self, seed));
        for (int k = 0; k < count; k++) TRY(try_mutant(self, names[k], &passes[k * seeds + seed - 1]));
    }
    for (int k = 0; k < count; k++) {
        printf("%s", names[k]);
        for (int seed = 1; seed <= seeds; seed++)
            if (passes[k * seeds + seed - 1]) printf(" %d", seed);
        puts("");
    }
    free(passes);
    return STATUS_OK;
}

int main(int argc, char **argv) {
    Trial trial = {0};
    Status status = STATUS_INVALID;
    omp_set_num_threads(1); /* cases are small */
    if (argc > FIRST_MUTANT) status = find(&trial, argv[1], argv[2]);
    if (status == STATUS_OK) status = allocate(&trial);
    if (status == STATUS_OK) status = try_all(&trial, atoi(argv[3]), argv + FIRST_MUTANT, argc - FIRST_MUTANT);
    if (status == STATUS_OK) return 0;
    fprintf(stderr, "%s\n", argc > FIRST_MUTANT ? status_message() : "seeds MODULE CASE SEEDS MUTANT...");
    return 2;
}
