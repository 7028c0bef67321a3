#include "worker/worker.h"

#include "base/clock.h"
#include "base/ranges.h"

#include <math.h>
#include <string.h>

static const double PATIENCE_SECONDS = 0.02; /* for work that goes on after a call */

Status worker_call(void *context) {
    Worker *worker = context;
    ranges_begin("call", worker->id);
    const Status status = worker->variant->run(&worker->args);
    ranges_end();
    return status == STATUS_OK ? launches_failure() : status;
}

Status worker_wait(const Worker *worker, const char *what) {
    TRY(worker->device->wait(what));
    return worker->module->take_error ? worker->module->take_error(what) : STATUS_OK;
}

Status outputs_poison(Worker *worker, bool scratch) {
    for (int i = 0; i < worker->out_count && !worker->op->sized_by_data; i++)
        if (worker->in_place.input[i] < 0) TRY(buffer_poison(&worker->buffers_out[i]));
    TRY(in_place_restore(worker));
    if (scratch && worker->scratch.base) TRY(buffer_poison(&worker->scratch));
    if (worker->device_counts.base) TRY(buffer_poison(&worker->device_counts));
    return STATUS_OK;
}

Status outputs_check(const Worker *worker) {
    for (int i = 0; i < worker->out_count && !worker->op->sized_by_data; i++) TRY(buffer_check_guards(&worker->buffers_out[i]));
    for (int i = 0; i < worker->in_count; i++) TRY(buffer_check_guards(&worker->buffers_in[i]));
    TRY(inputs_unchanged(worker));
    if (worker->device_counts.base) TRY(buffer_check_guards(&worker->device_counts));
    return worker->scratch.base ? buffer_check_guards(&worker->scratch) : STATUS_OK;
}

Status outputs_begin(Worker *worker, bool guarded) {
    worker->ended = false;
    for (int i = 0; i < worker->out_count && worker->op->sized_by_data; i++) worker->out[i] = worker->room[i];
    return resource_begin(worker->resource, guarded);
}

/* A number of elements that the call left on the device. */
static Status read_count(const Worker *worker, int i, Array *out) {
    unsigned long long count = 0;
    if (out->shape[0] != COUNT_ON_DEVICE) return STATUS_OK;
    TRY(worker->device->copy_out(&count, worker->args.counts + i, sizeof count));
    out->shape[0] = (size_t)count;
    return STATUS_OK;
}

/* The shape that run() set: of the op's rank and inner dimensions, and no longer than the op says an output can become. */
static Status check_shape(const Array *out, const Array *room) {
    char given[96], most[96];
    bool fits = out->rank == room->rank && out->dtype == room->dtype;
    for (int d = 0; d < room->rank && fits; d++) fits = d == 0 ? out->shape[d] <= room->shape[d] : out->shape[d] == room->shape[d];
    if (fits) return STATUS_OK;
    return status_fail(STATUS_CHECK, "output %s: run() made it %s; at most %s is possible", room->name,
                       array_describe(out, given, sizeof given), array_describe(room, most, sizeof most));
}

Status outputs_end(Worker *worker) {
    worker->ended = true;
    for (int i = 0; i < worker->out_count && worker->op->sized_by_data; i++) {
        TRY(read_count(worker, i, &worker->out[i]));
        TRY(check_shape(&worker->out[i], &worker->room[i]));
        TRY(resource_hand_over(worker->resource, &worker->out[i]));
    }
    return resource_end(worker->resource);
}

Status outputs_after_sample(void *context) {
    Worker *worker = context;
    if (!worker->ended) TRY(outputs_end(worker));
    return outputs_begin(worker, false);
}

/* What the device has in use beside what an allocator of ours keeps on purpose. */
static size_t in_use(const Worker *worker) {
    const size_t bytes = worker->device->in_use(), held = resource_held_bytes(worker->resource);
    return bytes > held ? bytes - held : 0;
}

/* By how much more is in use than before; 0 if that is too little to be a block that somebody keeps. */
static size_t growth(const Worker *worker, size_t before) {
    const size_t after = in_use(worker);
    return after > before && after - before >= worker->device->in_use_step ? after - before : 0;
}

const Array *outputs_array(const Worker *worker, int i) {
    return worker->op->sized_by_data ? &worker->out[i] : &worker->buffers_out[i].array;
}

static Status download(Worker *worker) {
    for (int i = 0; i < worker->out_count; i++) {
        const Array *out = outputs_array(worker, i);
        worker->counts[i] = array_count(out);
        if (array_bytes(out) > 0) TRY(worker->device->copy_out(worker->host_out[i].data, out->data, array_bytes(out)));
    }
    return STATUS_OK;
}

static Status check_settled(const Worker *worker, double seconds) {
    bool alone = true;
    if (!worker_on_host(worker)) return STATUS_OK;
    TRY(handlers_check());
    TRY(threads_rest(fmax(PATIENCE_SECONDS, fmin(PATIENCE_SECONDS * 10, 2 * seconds)), &alone));
    for (int i = 0; i < worker->out_count && !alone; i++) {
        const Array *out = outputs_array(worker, i);
        const size_t bytes = array_bytes(out);
        size_t at = bytes;
        if (bytes > 0) TRY(device_first_difference(worker->device, out->data, worker->host_out[i].data, bytes, &at));
        if (at < bytes)
            return status_fail(STATUS_CHECK, "output %s: element %zu changed after run() had returned: work goes on in a thread",
                               out->name, at / dtype_size(out->dtype));
    }
    return STATUS_OK;
}

Status outputs_take(Worker *worker, double seconds) {
    if (!worker->ended) TRY(outputs_end(worker));
    TRY(download(worker));
    return check_settled(worker, seconds);
}

/* Do the outputs of this run agree with those of the last, which the parent is going to judge? */
static Status same_again(Worker *worker) {
    for (int i = 0; i < worker->out_count; i++) {
        const Array *out = outputs_array(worker, i);
        const size_t bytes = array_bytes(out), size = dtype_size(out->dtype);
        if (array_count(out) != worker->counts[i])
            return status_fail(STATUS_CHECK, "output %s: two runs on the same inputs gave %zu and %zu elements", out->name,
                               worker->counts[i], array_count(out));
        if (bytes == 0) continue;
        size_t at = bytes;
        unsigned char element[8];
        TRY(device_first_difference(worker->device, out->data, worker->host_out[i].data, bytes, &at));
        if (at == bytes) continue;
        TRY(worker->device->copy_out(element, (const unsigned char *)out->data + at / size * size, size));
        return poison_element(element, out->dtype, 0)
                   ? status_fail(STATUS_CHECK, "output %s: element %zu was never written", out->name, at / size)
                   : status_fail(STATUS_CHECK, "output %s: two runs on the same inputs differ, first in element %zu", out->name,
                                 at / size);
    }
    return STATUS_OK;
}

static Status leaks(size_t bytes) {
    return status_fail(STATUS_CHECK, "leaks memory: one run ended with %zu more bytes in use", bytes);
}

/* Memory that a variant takes beside args->memory: only what grows with every call leaks. A device's driver, and whoever else uses
 * the device, may take some once, and malloc keeps released blocks of new sizes as if they were in use. Outputs that the variant
 * hands over have to be released before anything can be said. */
static Status check_growth(Worker *worker) {
    /* malloc keeps seven released blocks of each size for each thread, and counts them as in use: that takes many short calls. A
     * device's memory has no such blocks, and may be small beside what a leak takes in a thousand calls. */
    enum { CALLS = 12, CALLS_MOST = 1000 };
    static const double SECONDS = 1;
    const int most = worker->device->in_use_step > 0 ? CALLS : CALLS_MOST;
    const double begin = clock_seconds();
    size_t grown = 1;
    for (int i = 0; grown > 0 && (i < CALLS || (i < most && clock_seconds() - begin < SECONDS)); i++) {
        TRY(outputs_begin(worker, false));
        TRY(in_place_restore(worker));
        TRY(worker->device->wait("preparing the buffers"));
        const size_t before = in_use(worker);
        TRY(worker_call(worker));
        TRY(worker_wait(worker, worker->id));
        TRY(outputs_end(worker));
        TRY(outputs_begin(worker, false));
        TRY(worker->device->wait("releasing the outputs"));
        grown = growth(worker, before);
    }
    return grown > 0 ? leaks(grown) : STATUS_OK;
}

/* One call, what is done with its outputs, and their release. again: they are compared with those of the last call. */
static Status call(Worker *worker, bool guarded, bool again, double *seconds) {
    /* The first run may load modules and start thread pools; a later one that ends with more memory in use than before may leak.
     * What is not timed runs once. */
    const bool counted = (worker->runs > 0 || !worker->device->timed) && worker->device->in_use && !worker->op->sized_by_data;
    TRY(outputs_poison(worker, true));
    TRY(outputs_begin(worker, guarded));
    TRY(worker->device->wait("preparing the buffers"));
    const size_t before = counted ? in_use(worker) : 0;
    (void)launches_take();
    threads_begin();
    const double begin = clock_seconds();
    TRY(worker_call(worker));
    TRY(worker_wait(worker, worker->id));
    *seconds = clock_seconds() - begin;
    worker->threads = threads_end();
    worker->launched = launches_take();
    const bool grown = counted && growth(worker, before) > 0;
    TRY(outputs_end(worker));
    worker->taken = resource_counts(worker->resource);
    if (!again) TRY(outputs_take(worker, *seconds));
    TRY(outputs_check(worker));
    if (again) TRY(same_again(worker));
    if (grown) TRY(check_growth(worker));
    return outputs_begin(worker, guarded);
}

json_t *outputs_counts(const Worker *worker) {
    json_t *counts = json_array();
    for (int i = 0; i < worker->out_count; i++) json_array_append_new(counts, json_integer((json_int_t)worker->counts[i]));
    return counts;
}

/* Of the call; nothing if the call launched nothing through launch(). */
static void report_launched(const Worker *worker, json_t *reply) {
    const Launches *sums = &worker->launched;
    if (sums->launches == 0) return;
    Launch launch = {0};
    snprintf(launch.device, sizeof launch.device, "%s", worker->device->kind);
    launch_set(&launch, "launches", sums->launches);
    launch_set(&launch, "launched_blocks", sums->blocks);
    launch_set(&launch, "launched_threads", sums->threads);
    launch_set(&launch, "launched_shared_bytes", sums->shared_bytes);
    json_object_set_new(reply, KEY_LAUNCHED, launch_json(&launch));
}

/* Outputs that a run allocates: once as it is timed, which is what the parent judges, and once between guards, from poison, which
 * has to give the same. Guards cost time and waits of their own, so that one run cannot be both. */
Status outputs_run(Worker *worker, json_t *reply) {
    const bool twice = worker->op->sized_by_data && worker->device->timed;
    double seconds = 0, again = 0;
    TRY(call(worker, !twice, false, &seconds));
    const ResourceCounts taken = worker->taken;
    if (worker->runs == 0) report_launched(worker, reply);
    if (twice) TRY(call(worker, true, true, &again));
    if (twice && worker->runs > 0 && worker->device->in_use) TRY(check_growth(worker));
    worker->taken = taken;
    worker->runs++;
    worker->call_seconds = seconds;
    json_object_set_new(reply, KEY_SECONDS, json_real(seconds));
    if (worker_on_host(worker) && worker->threads > 0) json_object_set_new(reply, KEY_THREADS, json_integer(worker->threads));
    if (worker->op->sized_by_data) json_object_set_new(reply, KEY_COUNTS, outputs_counts(worker));
    return STATUS_OK;
}
