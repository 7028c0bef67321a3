#include "worker/worker.h"

#include <stdlib.h>
#include <string.h>

enum { COPIES_MOST = 64 };
static const size_t COPIES_BYTES = (size_t)128 << 20;

void in_place_open(Worker *worker) {
    InPlace *self = &worker->in_place;
    *self = (InPlace){.arrays = 1, .state = SIZE_MAX};
    for (int j = 0; j < worker->out_count; j++) {
        self->input[j] = worker->op->sized_by_data ? -1 : array_updated(&worker->out[j], worker->in, worker->in_count);
        self->count += self->input[j] >= 0;
        if (self->input[j] >= 0) worker->in[self->input[j]].data = worker->out[j].data;
    }
}

/* Output j for the call of a state; that of state 0 is the one whose outputs are compared. */
static Buffer *copy_of(const Worker *worker, int j, size_t place) {
    const InPlace *self = &worker->in_place;
    return (Buffer *)(place == 0 ? &worker->buffers_out[j] : &self->copies[(size_t)j * (self->arrays - 1) + place - 1]);
}

static void point(Worker *worker, size_t place) {
    for (int j = 0; j < worker->out_count; j++) {
        if (worker->in_place.input[j] < 0) continue;
        worker->out[j].data = worker->in[worker->in_place.input[j]].data = copy_of(worker, j, place)->array.data;
    }
}

/* What output j of a state, other than 0, begins with beside what the input's buffer has. */
static void patches_of(const Worker *worker, int j, void *to, size_t state, Patch out[VARY_PATCHES]) {
    const int input = worker->in_place.input[j];
    memset(out, 0, VARY_PATCHES * sizeof *out);
    if (state == 0 || worker->rotation.set >= 0 || worker->rotation.how[input] == VARY_NOTHING) return;
    const Rewriting rewriting = rotation_rewriting(worker, input, false, to);
    vary_patches(&rewriting, state, out);
    for (int k = VARY_PLACES; k < VARY_PATCHES; k++) out[k].size = 0; /* back to state 0: it comes from there */
}

static Status restore(Worker *worker, int j, size_t place, size_t state) {
    Patch patches[VARY_PATCHES];
    const Buffer *copy = copy_of(worker, j, place);
    if (copy->bytes == 0) return STATUS_OK;
    TRY(worker->device->copy(copy->array.data, worker->buffers_in[worker->in_place.input[j]].array.data, copy->bytes));
    patches_of(worker, j, copy->array.data, state, patches);
    for (int k = 0; k < VARY_PLACES; k++)
        if (patches[k].size > 0) TRY(worker->device->copy_in(patches[k].to, &patches[k].bits, patches[k].size));
    return STATUS_OK;
}

Status in_place_restore(Worker *worker) {
    InPlace *self = &worker->in_place;
    for (int j = 0; j < worker->out_count && self->count > 0; j++)
        if (self->input[j] >= 0) TRY(restore(worker, j, 0, 0));
    point(worker, 0);
    self->state = SIZE_MAX, self->restored = 1;
    return STATUS_OK;
}

Status in_place_turn(Worker *worker, size_t state, bool called) {
    InPlace *self = &worker->in_place;
    if (self->count == 0) return STATUS_OK;
    const bool first = state + 1 != self->state;
    const size_t place = state % self->arrays;
    for (size_t p = 0; p <= place && (first || (called && place == self->arrays - 1)); p++)
        for (int j = 0; j < worker->out_count; j++)
            if (self->input[j] >= 0) TRY(restore(worker, j, p, first ? state - place + p : 0));
    if (first) self->restored = place + 1;
    self->state = state;
    point(worker, place);
    return STATUS_OK;
}

/* ---- The copies. */

Status in_place_ring_open(Worker *worker) {
    InPlace *self = &worker->in_place;
    size_t bytes = 1, wanted;
    for (int j = 0; j < worker->out_count; j++) bytes += self->input[j] >= 0 ? worker->buffers_out[j].bytes : 0;
    wanted = COPIES_BYTES / bytes < COPIES_MOST - 1 ? COPIES_BYTES / bytes : COPIES_MOST - 1;
    if (self->count == 0 || wanted == 0) return STATUS_OK;
    self->copies = calloc((size_t)worker->out_count * wanted, sizeof *self->copies);
    if (!self->copies) return status_fail(STATUS_MEMORY, "no host memory for copies of arrays updated in place");
    self->arrays = wanted + 1;
    Status status = STATUS_OK;
    for (int j = 0; j < worker->out_count && status == STATUS_OK; j++)
        for (size_t place = 1; place <= wanted && status == STATUS_OK && self->input[j] >= 0; place++)
            status = buffer_create(worker->device, &worker->buffers_out[j].array, copy_of(worker, j, place));
    if (status != STATUS_OK) in_place_ring_close(worker);
    return status == STATUS_MEMORY ? STATUS_OK : status;
}

void in_place_ring_close(Worker *worker) {
    InPlace *self = &worker->in_place;
    for (size_t i = 0; self->copies && i < (size_t)worker->out_count * (self->arrays - 1); i++)
        if (self->copies[i].base) buffer_destroy(&self->copies[i]);
    free(self->copies);
    self->copies = NULL, self->arrays = 1, self->state = SIZE_MAX, self->restored = 1;
    point(worker, 0);
}

/* ---- What the calls did. */

/* Is the copy of a state not as it began? */
static Status changed(const Worker *worker, int j, size_t state, unsigned char *began, bool *out) {
    Patch patches[VARY_PATCHES];
    const Buffer *copy = copy_of(worker, j, state);
    size_t at;
    TRY(worker->device->copy_out(began, worker->buffers_in[worker->in_place.input[j]].array.data, copy->bytes));
    patches_of(worker, j, began, state, patches);
    for (int k = 0; k < VARY_PLACES; k++)
        if (patches[k].size > 0) memcpy(patches[k].to, &patches[k].bits, patches[k].size);
    TRY(device_first_difference(worker->device, copy->array.data, began, copy->bytes, &at));
    *out = at < copy->bytes;
    return STATUS_OK;
}

static Status check_array(const Worker *worker, int j, unsigned char *began) {
    bool compared, other;
    TRY(changed(worker, j, 0, began, &compared));
    for (size_t state = 1; state < worker->in_place.restored; state++) {
        TRY(buffer_check_guards(copy_of(worker, j, state)));
        TRY(changed(worker, j, state, began, &other));
        if (compared && !other) return status_fail(STATUS_CHECK, "array %s: a call did not update it", worker->out[j].name);
    }
    return STATUS_OK;
}

Status in_place_check(const Worker *worker) {
    const InPlace *self = &worker->in_place;
    Status status = STATUS_OK;
    for (int j = 0; j < worker->out_count && self->count > 0 && self->restored > 1 && status == STATUS_OK; j++) {
        if (self->input[j] < 0 || worker->buffers_out[j].bytes == 0) continue;
        unsigned char *began = malloc(worker->buffers_out[j].bytes);
        if (!began) return status_fail(STATUS_MEMORY, "no host memory to compare %s", worker->out[j].name);
        status = check_array(worker, j, began);
        free(began);
    }
    return status;
}

int in_place_others(const Worker *worker, Array out[OP_MAX_ARRAYS]) {
    int count = 0;
    for (int j = 0; j < worker->out_count; j++)
        if (worker->in_place.input[j] < 0) out[count++] = worker->out[j];
    return count;
}
