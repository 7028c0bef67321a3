#include "problem.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/hostmemory.h"
#include "plan/case.h"
#include "truthcache.h"
#include "truthworker.h"
#include "verify/families.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const uint64_t SECOND_SEED_STEP = UINT64_C(0x5851f42d); /* any odd step: the second seed only has to differ */

size_t problem_bytes(const Problem *problem) {
    size_t bytes = 0;
    for (int i = 0; i < problem->op->in_count; i++) bytes += 2 * array_bytes(&problem->in[i]); /* ours and a CPU worker's copy */
    for (int i = 0; i < problem->op->out_count; i++) {
        const Array *out = &problem->out[i];
        const size_t truth = problem->op->exact ? array_bytes(out) : 2 * sizeof(double) * array_count(out);
        bytes += 2 * array_bytes(out) + DATA_COUNT * truth;
    }
    return bytes;
}

static Status create(Problem *out) {
    const Op *op = out->op;
    TRY(op->shapes(&out->cases[DATA_FIRST], out->in, out->out));
    const size_t needed = problem_bytes(out), available = hostmemory_available_bytes();
    if (available && needed > available)
        return status_fail(STATUS_MEMORY, "data and truth of this case need %.1f GiB of host memory, %.1f GiB are available",
                           (double)needed / 0x1p30, (double)available / 0x1p30);
    for (int i = 0; i < op->in_count; i++) {
        TRY(shared_create(out->in[i].name, array_bytes(&out->in[i]), &out->shared_in[i]));
        out->in[i].data = out->shared_in[i].data;
    }
    for (int i = 0; i < op->out_count; i++) {
        TRY(shared_create(out->out[i].name, array_bytes(&out->out[i]), &out->shared_out[i]));
        out->out[i].data = out->shared_out[i].data;
        out->given[i] = out->out[i];
    }
    return STATUS_OK;
}

Status problem_create(const Op *op, const Case *problem, Problem *out) {
    *out = (Problem){.op = op, .loaded = -1};
    out->cases[DATA_FIRST] = out->cases[DATA_SECOND] = *problem;
    out->cases[DATA_SECOND].seed = problem->seed + SECOND_SEED_STEP;
    const Status status = create(out);
    if (status != STATUS_OK) problem_destroy(out);
    return status;
}

static void forget_truth(Truth truth[OP_MAX_ARRAYS]) {
    for (int i = 0; i < OP_MAX_ARRAYS; i++) {
        free(truth[i].value);
        free(truth[i].tolerance);
        truth[i] = (Truth){NULL, NULL};
    }
}

static void forget_exact(Array exact[OP_MAX_ARRAYS]) {
    for (int i = 0; i < OP_MAX_ARRAYS; i++) {
        free(exact[i].data);
        exact[i] = (Array){.data = NULL};
    }
}

void problem_destroy(Problem *problem) {
    for (int i = 0; i < OP_MAX_ARRAYS; i++) {
        shared_destroy(&problem->shared_in[i]);
        shared_destroy(&problem->shared_out[i]);
    }
    for (int s = 0; s < DATA_COUNT; s++)
        for (int b = 0; b < PROBLEM_MAX_BOUNDS; b++) forget_truth(problem->truth[s][b]), forget_exact(problem->exact[s][b]);
    *problem = (Problem){.loaded = -1};
}

static Status generate(Problem *problem, const Case *with) {
    for (int i = 0; i < problem->op->in_count; i++) TRY(family_input(problem->op, with, i, &problem->in[i]));
    return STATUS_OK;
}

/* A fingerprint of where the data begins: enough to tell that two seeds gave the same numbers. */
static uint64_t fingerprint(const Problem *problem) {
    enum { LOOK_BYTES = 65536 };
    uint64_t hash = HASH_START;
    for (int i = 0; i < problem->op->in_count; i++) {
        const size_t bytes = array_bytes(&problem->in[i]);
        hash = hash_bytes(hash, problem->in[i].data, bytes < LOOK_BYTES ? bytes : LOOK_BYTES);
    }
    return hash;
}

Status problem_load(Problem *problem, DataSet set) {
    if (problem->loaded == (int)set || (problem->own_data && set == DATA_FIRST)) return STATUS_OK;
    if (problem->own_data) return status_fail(STATUS_INTERNAL, "the user's own data has no second set");
    const uint64_t before = problem->loaded == DATA_FIRST && set == DATA_SECOND ? fingerprint(problem) : 0;
    problem->loaded = -1;
    TRY(generate(problem, &problem->cases[set]));
    if (before && fingerprint(problem) == before) {
        /* ramp, ones, real series: the seed changes nothing. Other data comes from the op's first family then. */
        snprintf(problem->cases[set].input, sizeof problem->cases[set].input, "%s", problem->op->families[0]);
        TRY(generate(problem, &problem->cases[set]));
    }
    problem->loaded = (int)set;
    return STATUS_OK;
}

int problem_bound(const Problem *problem, const char *name) {
    if (!name) return 0;
    for (int b = 0; problem->op->bounds[b].name && b < PROBLEM_MAX_BOUNDS; b++)
        if (strcmp(problem->op->bounds[b].name, name) == 0) return b;
    return -1;
}

static Status allocate_truth(const Problem *problem, Truth *truth) {
    for (int i = 0; i < problem->op->out_count; i++) {
        const size_t bytes = sizeof(double) * array_count(&problem->out[i]);
        truth[i].value = malloc(bytes ? bytes : 1);
        truth[i].tolerance = malloc(bytes ? bytes : 1);
        if (!truth[i].value || !truth[i].tolerance)
            return status_fail(STATUS_MEMORY, "no memory for the truth of '%s': twice %zu bytes", problem->out[i].name, bytes);
    }
    return STATUS_OK;
}

static Status make_truth(const Problem *problem, DataSet set, int bound, Truth *truth) {
    const Op *op = problem->op;
    const Case *c = &problem->cases[set];
    TRY(allocate_truth(problem, truth));
    /* The user's function is a file that may change while its path stays: such a truth is not kept on disk. */
    if (op->runs_user_code && op->runs_user_code(c))
        return truthworker_compute(op, c, problem->in, problem->shared_in, problem->out, bound, truth);
    if (problem->own_data) return op->truth(c, problem->in, bound, truth);
    char key[CASE_TEXT_MAX];
    case_format(c, key, sizeof key);
    if (truthcache_load(key, op, bound, problem->out, truth)) return STATUS_OK;
    const double begin = clock_seconds();
    TRY(op->truth(c, problem->in, bound, truth));
    truthcache_save(key, op, bound, problem->out, truth, clock_seconds() - begin);
    return STATUS_OK;
}

Status problem_truth(Problem *problem, DataSet set, int bound, const Truth **out) {
    TRY(problem_load(problem, set));
    Truth *truth = problem->truth[set][bound];
    *out = truth;
    if (problem->op->out_count == 0 || truth[0].value) return STATUS_OK;
    const Status status = make_truth(problem, set, bound, truth);
    if (status != STATUS_OK) forget_truth(truth); /* half a truth must not pass for one at the next variant */
    return status;
}

static Status make_exact(const Problem *problem, DataSet set, int bound, Array *exact) {
    for (int i = 0; i < problem->op->out_count; i++) {
        const size_t bytes = array_bytes(&problem->out[i]);
        exact[i] = problem->out[i];
        exact[i].data = malloc(bytes ? bytes : 1);
        if (!exact[i].data) return status_fail(STATUS_MEMORY, "no memory for the truth of '%s': %zu bytes", exact[i].name, bytes);
    }
    TRY(problem->op->exact(&problem->cases[set], problem->in, bound, exact));
    for (int i = 0; i < problem->op->out_count; i++) { /* what was too much room goes back */
        void *fitting = realloc(exact[i].data, array_bytes(&exact[i]) + 1);
        if (fitting) exact[i].data = fitting;
    }
    return STATUS_OK;
}

Status problem_exact(Problem *problem, DataSet set, int bound, const Array **out) {
    TRY(problem_load(problem, set));
    Array *exact = problem->exact[set][bound];
    *out = exact;
    if (problem->op->out_count == 0 || exact[0].data) return STATUS_OK;
    const Status status = make_exact(problem, set, bound, exact);
    if (status != STATUS_OK) forget_exact(exact);
    return status;
}

Status problem_given(Problem *problem, int index, size_t count) {
    const Array *out = &problem->out[index];
    Array *given = &problem->given[index];
    const size_t most = array_count(out), row = out->rank > 0 && out->shape[0] > 0 ? most / out->shape[0] : 1;
    if (count > most || out->rank == 0 || row == 0 || count % row != 0)
        return status_fail(STATUS_CHECK, "output %s of %zu elements: at most %zu are possible", out->name, count, most);
    *given = *out;
    given->shape[0] = count / row;
    return STATUS_OK;
}
