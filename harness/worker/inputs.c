/* inputs.c - what a call reads: a set as the parent made it, or inputs made anew for a sample (base/vary.h) by the key that the
 * parent gives just before it. */
#include "worker/worker.h"

#include "base/memory.h"
#include "base/vary.h"

#include <stdlib.h>
#include <string.h>

static const double SLOW_SECONDS = 0.05;          /* an untimed call of this length before each sample would cost too much */
static const size_t ASK_BYTES = (size_t)64 << 20; /* smaller inputs always have room for both sets on the device */
static const size_t SHARE_OF_FREE = 4;            /* larger ones, if they take no more than this share of what is free */
enum { COPIES_MOST = 64 };                        /* of an array that is updated in place */
static const size_t COPIES_BYTES = (size_t)128 << 20;

Status inputs_upload(Worker *worker, int set) {
    if (set < 0 || set >= worker->sets) return status_fail(STATUS_INTERNAL, "there is no set %d of inputs", set);
    for (int i = 0; i < worker->in_count; i++) TRY(buffer_upload(&worker->buffers_in[i], worker->host_in[set][i].data));
    worker->inputs.set = set;
    return STATUS_OK;
}

/* How input i becomes that of the key. on_device: from the copies there. */
static Vary how_made(const Worker *worker, int i, bool on_device) {
    const Inputs *inputs = &worker->inputs;
    Array first[OP_MAX_ARRAYS];
    for (int c = 0; c < worker->in_count; c++) {
        first[c] = worker->buffers_in[c].array;
        first[c].data = on_device ? inputs->sets[0][c] : worker->host_in[0][c].data;
    }
    return vary_input(inputs->how[i], inputs->key, i, first);
}

/* The same, from the host, with what becomes of it between calls. to: where it is made. */
static Rewriting rewriting_of(const Worker *worker, int i, void *to) {
    const Array *in = &worker->buffers_in[i].array;
    const double *extreme = worker->inputs.extreme[i];
    return (Rewriting){.how = how_made(worker, i, false),
                       .dtype = in->dtype,
                       .n = array_count(in),
                       .a = worker->host_in[0][i].data,
                       .b = worker->host_in[1][i].data,
                       .to = to,
                       .extreme = {extreme[0], extreme[1]}};
}

/* ---- Arrays that run() updates: the variant sees the output's buffer; the input's keeps what the array begins as. */

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
    if (state == 0 || worker->inputs.set >= 0 || worker->inputs.how[input] == VARY_NOTHING) return;
    const Rewriting rewriting = rewriting_of(worker, input, to);
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

static void in_place_ring_close(Worker *worker) {
    InPlace *self = &worker->in_place;
    for (size_t i = 0; self->copies && i < (size_t)worker->out_count * (self->arrays - 1); i++)
        if (self->copies[i].base) buffer_destroy(&self->copies[i]);
    free(self->copies);
    self->copies = NULL, self->arrays = 1, self->state = SIZE_MAX, self->restored = 1;
    point(worker, 0);
}

/* Copies for calls back to back, as many as there is room for. */
static Status in_place_ring_open(Worker *worker) {
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

/* ---- The two sets that inputs are made from: on a device that makes them, there; else on the host. */

static bool enough_memory(const Worker *worker, size_t bytes) {
    void *probe = NULL;
    if (bytes <= ASK_BYTES) return true;
    if (worker->device->allocate(SHARE_OF_FREE * bytes, &probe) != STATUS_OK) return false;
    worker->device->release(probe);
    return true;
}

static Status copy_to_device(Worker *worker, int set, int input) {
    const Shared *host = &worker->host_in[set][input];
    void **copy = &worker->inputs.sets[set][input];
    if (worker_on_host(worker)) {
        *copy = host->data;
        return STATUS_OK;
    }
    TRY(worker->device->allocate(host->bytes, copy));
    return worker->device->copy_in(*copy, host->data, host->bytes);
}

static void release_sets(Worker *worker) {
    for (int set = 0; set < INPUT_SETS; set++)
        for (int i = 0; i < worker->in_count; i++)
            if (worker->inputs.sets[set][i] && !worker_on_host(worker)) worker->device->release(worker->inputs.sets[set][i]);
    memset(worker->inputs.sets, 0, sizeof worker->inputs.sets);
}

static Status open_sets(Worker *worker) {
    Inputs *inputs = &worker->inputs;
    size_t bytes = 0;
    for (int i = 0; i < worker->in_count; i++) bytes += worker->buffers_in[i].bytes;
    if (!worker->device->vary || (!worker_on_host(worker) && !enough_memory(worker, bytes))) return STATUS_OK;
    Status status = STATUS_OK;
    for (int i = 0; i < worker->in_count && status == STATUS_OK; i++) {
        if (worker->buffers_in[i].bytes == 0 || inputs->how[i] == VARY_NOTHING) continue;
        status = copy_to_device(worker, 0, i);
        if (status == STATUS_OK && vary_uses_both(inputs->how[i])) status = copy_to_device(worker, 1, i);
    }
    inputs->on_device = status == STATUS_OK;
    if (status != STATUS_OK) release_sets(worker);
    return status == STATUS_MEMORY ? STATUS_OK : status;
}

Status inputs_begin(Worker *worker, const json_t *vary) {
    worker->inputs = (Inputs){.slow = worker->call_seconds > SLOW_SECONDS};
    if (worker->sets < INPUT_SETS) return status_fail(STATUS_INTERNAL, "time: the second set of inputs is missing");
    for (int i = 0; i < worker->in_count; i++) {
        const json_int_t how = json_integer_value(json_array_get(vary, (size_t)i));
        const bool known = how >= 0 && how < VARY_COUNT;
        if (!known || (vary_moves_rows((VaryHow)how) && vary_offsets((VaryHow)how, i) < 0))
            return status_fail(STATUS_INTERNAL, "time: input %d cannot be varied so", i);
        worker->inputs.how[i] = (VaryHow)how;
        if (how == VARY_SHUFFLE)
            vary_extremes(worker->buffers_in[i].array.dtype, worker->host_in[0][i].data, array_count(&worker->buffers_in[i].array),
                          worker->inputs.extreme[i]);
    }
    if (worker_on_host(worker)) threads_know_team();
    TRY(inputs_upload(worker, 0));
    TRY(in_place_ring_open(worker));
    return open_sets(worker);
}

void inputs_end(Worker *worker) {
    in_place_ring_close(worker);
    release_sets(worker);
}

/* ---- Data of a key. */

/* Between calls those that are updated in place are others by themselves. */
static bool is_rewritten(const Worker *worker, int i) {
    for (int j = 0; j < worker->out_count; j++)
        if (worker->in_place.count > 0 && worker->in_place.input[j] == i) return false;
    return true;
}

Status inputs_make(Worker *worker, uint64_t key) {
    Inputs *inputs = &worker->inputs;
    inputs->rewritten = 0;
    inputs->open = false;
    inputs->spoilt = SPOILT_NONE;
    inputs->key = key;
    inputs->set = -1;
    for (int i = 0; i < worker->in_count; i++) {
        Buffer *in = &worker->buffers_in[i];
        if (inputs->how[i] == VARY_NOTHING || in->bytes == 0) continue;
        const Rewriting made = rewriting_of(worker, i, in->array.data);
        const Vary there = how_made(worker, i, true);
        TRY(inputs->on_device ? buffer_vary(in, &there, inputs->sets[0][i], inputs->sets[1][i])
                              : buffer_vary_from_host(in, &made.how, made.a, made.b));
        if (is_rewritten(worker, i)) inputs->rewriting[inputs->rewritten++] = made;
    }
    return in_place_restore(worker);
}

Status inputs_unchanged(const Worker *worker) {
    const Inputs *inputs = &worker->inputs;
    for (int i = 0; i < worker->in_count; i++) {
        const Buffer *in = &worker->buffers_in[i];
        bool same;
        TRY(buffer_seems_unchanged(in, &same));
        if (same) continue; /* nothing is made to be compared */
        const bool varied = inputs->set < 0 && inputs->how[i] != VARY_NOTHING;
        const void *expected = worker->host_in[inputs->set < 0 ? 0 : inputs->set][i].data;
        void *made = varied && in->bytes > 0 ? hostmemory_allocate(in->bytes) : NULL;
        if (varied && in->bytes > 0 && !made) return status_fail(STATUS_MEMORY, "no memory for the inputs of a sample");
        const Vary how = how_made(worker, i, false);
        if (made)
            vary_all(&how, in->array.dtype, array_count(&in->array), worker->host_in[0][i].data, worker->host_in[1][i].data, made);
        const Status status = buffer_check_unchanged(in, made ? made : expected);
        free(made);
        TRY(status);
    }
    return STATUS_OK;
}
