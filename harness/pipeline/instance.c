#include "pipeline/instance.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/hostmemory.h"
#include "pipeline/reference_cache.h"
#include "pipeline/reference_worker.h"
#include "plan/case.h"
#include "plan/registry.h"
#include "verify/families.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const uint64_t SECOND_SEED_STEP = UINT64_C(0x5851f42d); /* any odd step: the second seed only has to differ */

size_t instance_bytes(const Instance *instance) {
    size_t bytes = 0;
    for (int i = 0; i < instance->op->in_count; i++) bytes += 2 * array_bytes(&instance->in[i]); /* ours and a CPU worker's copy */
    for (int i = 0; i < instance->op->out_count; i++) {
        const Array *out = &instance->out[i];
        const size_t reference = instance->op->exact ? array_bytes(out) : 2 * sizeof(double) * array_count(out);
        bytes += 2 * array_bytes(out) + DATA_COUNT * reference;
    }
    return bytes;
}

Status instance_shapes(const Case *problem, Instance *out) {
    const Op *op = registry_op(problem->op);
    *out = (Instance){.op = op, .loaded = -1};
    out->cases[DATA_FIRST] = *problem;
    return op->shapes(problem, out->in, out->out);
}

static Status create(Instance *out) {
    const Op *op = out->op;
    TRY(op->shapes(&out->cases[DATA_FIRST], out->in, out->out));
    const size_t needed = instance_bytes(out), available = hostmemory_available_bytes();
    if (available && needed > available)
        return status_fail(STATUS_MEMORY, "data and reference of this case need %.1f GiB of host memory, %.1f GiB are available",
                           (double)needed / 0x1p30, (double)available / 0x1p30);
    for (int i = 0; i < op->in_count; i++) {
        TRY(shared_create(out->in[i].name, array_bytes(&out->in[i]), &out->shared_in[i]));
        TRY(shared_seal(&out->shared_in[i], false)); /* what a variant is judged by is not in its hands */
        out->in[i].data = out->shared_in[i].data;
    }
    for (int i = 0; i < op->out_count; i++) {
        TRY(shared_create(out->out[i].name, array_bytes(&out->out[i]), &out->shared_out[i]));
        TRY(shared_seal(&out->shared_out[i], true));
        out->out[i].data = out->shared_out[i].data;
        out->given[i] = out->out[i];
    }
    return STATUS_OK;
}

Status instance_create(const Op *op, const Case *problem, Instance *out) {
    *out = (Instance){.op = op, .loaded = -1};
    out->cases[DATA_FIRST] = out->cases[DATA_SECOND] = *problem;
    out->cases[DATA_SECOND].seed = problem->seed + SECOND_SEED_STEP;
    const Status status = create(out);
    if (status != STATUS_OK) instance_destroy(out);
    return status;
}

static void forget_reference(Reference reference[OP_MAX_ARRAYS]) {
    for (int i = 0; i < OP_MAX_ARRAYS; i++) {
        free(reference[i].value);
        free(reference[i].tolerance);
        reference[i] = (Reference){NULL, NULL};
    }
}

static void forget_exact(Array exact[OP_MAX_ARRAYS]) {
    for (int i = 0; i < OP_MAX_ARRAYS; i++) {
        free(exact[i].data);
        exact[i] = (Array){.data = NULL};
    }
}

void instance_destroy(Instance *instance) {
    for (int i = 0; i < OP_MAX_ARRAYS; i++) {
        shared_destroy(&instance->shared_in[i]);
        shared_destroy(&instance->shared_out[i]);
    }
    for (int s = 0; s < DATA_COUNT; s++)
        for (int b = 0; b < INSTANCE_MAX_BOUNDS; b++)
            forget_reference(instance->reference[s][b]), forget_exact(instance->exact[s][b]);
    *instance = (Instance){.loaded = -1};
}

static Status generate(Instance *instance, const Case *with) {
    for (int i = 0; i < instance->op->in_count; i++) TRY(family_input(instance->op, with, i, &instance->in[i]));
    return STATUS_OK;
}

/* A fingerprint of where the data begins: enough to tell that two seeds gave the same numbers. */
static uint64_t fingerprint(const Instance *instance) {
    enum { LOOK_BYTES = 65536 };
    uint64_t hash = HASH_START;
    for (int i = 0; i < instance->op->in_count; i++) {
        const size_t bytes = array_bytes(&instance->in[i]);
        hash = hash_bytes(hash, instance->in[i].data, bytes < LOOK_BYTES ? bytes : LOOK_BYTES);
    }
    return hash;
}

Status instance_load(Instance *instance, DataSet set) {
    if (instance->loaded == (int)set || (instance->own_data && set == DATA_FIRST)) return STATUS_OK;
    if (instance->own_data) return status_fail(STATUS_INTERNAL, "the user's own data has no second set");
    const uint64_t before = instance->loaded == DATA_FIRST && set == DATA_SECOND ? fingerprint(instance) : 0;
    instance->loaded = -1;
    TRY(generate(instance, &instance->cases[set]));
    if (before && fingerprint(instance) == before) {
        /* ramp, ones, real series: the seed changes nothing. Other data comes from the op's first family then. */
        snprintf(instance->cases[set].input, sizeof instance->cases[set].input, "%s", instance->op->families[0]);
        TRY(generate(instance, &instance->cases[set]));
    }
    instance->loaded = (int)set;
    return STATUS_OK;
}

int instance_bound(const Instance *instance, const char *name) {
    if (!name) return 0;
    for (int b = 0; instance->op->bounds[b].name && b < INSTANCE_MAX_BOUNDS; b++)
        if (strcmp(instance->op->bounds[b].name, name) == 0) return b;
    return -1;
}

static Status allocate_reference(const Instance *instance, Reference *reference) {
    for (int i = 0; i < instance->op->out_count; i++) {
        const size_t bytes = sizeof(double) * array_count(&instance->out[i]);
        reference[i].value = malloc(bytes ? bytes : 1);
        reference[i].tolerance = malloc(bytes ? bytes : 1);
        if (!reference[i].value || !reference[i].tolerance)
            return status_fail(STATUS_MEMORY, "no memory for the reference of '%s': twice %zu bytes", instance->out[i].name, bytes);
    }
    return STATUS_OK;
}

static Status make_reference(const Instance *instance, DataSet set, int bound, Reference *reference) {
    const Op *op = instance->op;
    const Case *c = &instance->cases[set];
    TRY(allocate_reference(instance, reference));
    /* The user's function is a file that may change while its path stays: such a reference is not kept on disk. */
    if (op->runs_user_code && op->runs_user_code(c))
        return referenceworker_compute(op, c, instance->in, instance->shared_in, instance->out, bound, reference);
    if (instance->own_data) return op->reference(c, instance->in, bound, reference);
    char key[CASE_TEXT_MAX];
    case_format(c, key, sizeof key);
    if (referencecache_load(key, op, bound, instance->in, instance->out, reference)) return STATUS_OK;
    const double begin = clock_seconds();
    TRY(op->reference(c, instance->in, bound, reference));
    referencecache_save(key, op, bound, instance->in, instance->out, reference, clock_seconds() - begin);
    return STATUS_OK;
}

Status instance_reference(Instance *instance, DataSet set, int bound, const Reference **out) {
    TRY(instance_load(instance, set));
    Reference *reference = instance->reference[set][bound];
    *out = reference;
    if (instance->op->out_count == 0 || reference[0].value) return STATUS_OK;
    const Status status = make_reference(instance, set, bound, reference);
    if (status != STATUS_OK) forget_reference(reference); /* half a reference must not pass for one at the next variant */
    return status;
}

static Status make_exact(const Instance *instance, DataSet set, int bound, Array *exact) {
    for (int i = 0; i < instance->op->out_count; i++) {
        const size_t bytes = array_bytes(&instance->out[i]);
        exact[i] = instance->out[i];
        exact[i].data = malloc(bytes ? bytes : 1);
        if (!exact[i].data)
            return status_fail(STATUS_MEMORY, "no memory for the reference of '%s': %zu bytes", exact[i].name, bytes);
    }
    TRY(instance->op->exact(&instance->cases[set], instance->in, bound, exact));
    for (int i = 0; i < instance->op->out_count; i++) { /* what was too much room goes back */
        void *fitting = realloc(exact[i].data, array_bytes(&exact[i]) + 1);
        if (fitting) exact[i].data = fitting;
    }
    return STATUS_OK;
}

Status instance_exact(Instance *instance, DataSet set, int bound, const Array **out) {
    TRY(instance_load(instance, set));
    Array *exact = instance->exact[set][bound];
    *out = exact;
    if (instance->op->out_count == 0 || exact[0].data) return STATUS_OK;
    const Status status = make_exact(instance, set, bound, exact);
    if (status != STATUS_OK) forget_exact(exact);
    return status;
}

Status instance_given(Instance *instance, int index, size_t count) {
    const Array *out = &instance->out[index];
    Array *given = &instance->given[index];
    const size_t most = array_count(out), row = out->rank > 0 && out->shape[0] > 0 ? most / out->shape[0] : 1;
    if (count > most || out->rank == 0 || row == 0 || count % row != 0)
        return status_fail(STATUS_CHECK, "output %s of %zu elements: at most %zu are possible", out->name, count, most);
    *given = *out;
    given->shape[0] = count / row;
    return STATUS_OK;
}
