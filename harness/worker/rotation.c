/* Slots are places for inputs on the device. With two, unchecked samples alternate between two sets, each in its slot;
 * without memory for two, sets are exchanged in the one slot, at checked samples. Before an unchecked sample one element is
 * overwritten as well, keeping its order to its neighbours (base/change.h), so that no two of them have the same inputs. */
#include "worker/worker.h"

#include "base/change.h"

#include <string.h>
#include <sys/random.h>

static const double SLOW_SECONDS = 0.05;          /* an untimed call of this length before each sample would cost too much */
static const double PATIENCE_SECONDS = 0.02;      /* of the first check, for work that goes on */
static const size_t ASK_BYTES = (size_t)64 << 20; /* smaller inputs always have memory for a second slot */
static const size_t SHARE_OF_FREE = 3;            /* larger ones, if they take no more than this share of what is free */

static Buffer *buffers_of(Worker *worker, int slot) {
    return slot == 0 ? worker->buffers_in : worker->rotation.second;
}

static void use_slot(Worker *worker, int slot) {
    worker->rotation.slot = slot;
    for (int i = 0; i < worker->in_count; i++) worker->in[i].data = buffers_of(worker, slot)[i].array.data;
}

static Status fill_slot(Worker *worker, int slot, int set) {
    for (int i = 0; i < worker->in_count; i++) TRY(buffer_upload(&buffers_of(worker, slot)[i], worker->host_in[set][i].data));
    worker->rotation.held[slot] = set;
    return STATUS_OK;
}

Status rotation_upload(Worker *worker, int set) {
    if (set < 0 || set >= worker->sets) return status_fail(STATUS_INTERNAL, "there is no set %d of inputs", set);
    use_slot(worker, 0);
    return fill_slot(worker, 0, set);
}

/* ---- Memory. */
static bool enough_memory(const Worker *worker, size_t bytes) {
    void *probe = NULL;
    if (bytes <= ASK_BYTES) return true;
    if (worker->device->allocate(SHARE_OF_FREE * bytes, &probe) != STATUS_OK) return false;
    worker->device->release(probe);
    return true;
}

static Status open_second(Worker *worker) {
    Rotation *rotation = &worker->rotation;
    size_t bytes = 0;
    for (int i = 0; i < worker->in_count; i++) bytes += worker->buffers_in[i].bytes;
    if (worker->sets < rotation->from + 2 || !enough_memory(worker, bytes)) return STATUS_OK;
    for (int i = 0; i < worker->in_count; i++) {
        const Status status = buffer_create(worker->device, &worker->buffers_in[i].array, &rotation->second[i]);
        if (status != STATUS_OK) rotation_end(worker);
        if (status == STATUS_MEMORY) return STATUS_OK;
        TRY(status);
    }
    rotation->slots = 2;
    return fill_slot(worker, 1, rotation->from + 1);
}

Status rotation_begin(Worker *worker, int from, const json_t *checks) {
    Rotation *rotation = &worker->rotation;
    const bool slow = worker->call_seconds > SLOW_SECONDS;
    *rotation = (Rotation){.checks = checks, .slots = 1, .from = from, .patient = true, .slow = slow};
    if (getrandom(&rotation->random, sizeof rotation->random, 0) != sizeof rotation->random)
        return status_fail(STATUS_IO, "getrandom failed");
    TRY(rotation_upload(worker, from));
    return open_second(worker);
}

void rotation_end(Worker *worker) {
    Rotation *rotation = &worker->rotation;
    use_slot(worker, 0);
    for (int i = 0; i < worker->in_count; i++)
        if (rotation->second[i].base) buffer_destroy(&rotation->second[i]);
    memset(rotation->second, 0, sizeof rotation->second);
    rotation->slots = 1;
    rotation->checks = NULL;
}

/* ---- One element of the inputs in use, overwritten by another of the same array and put back. */
static Status write_element(Worker *worker, size_t from) {
    const Rotation *rotation = &worker->rotation;
    Buffer *in = &buffers_of(worker, rotation->slot)[rotation->touched_input];
    const char *host = worker->host_in[rotation->held[rotation->slot]][rotation->touched_input].data;
    const size_t size = dtype_size(in->array.dtype);
    return buffer_upload_part(in, rotation->touched_at * size, host + from * size, size);
}

static Status restore(Worker *worker) {
    if (!worker->rotation.touched) return STATUS_OK;
    worker->rotation.touched = false;
    return write_element(worker, worker->rotation.touched_at);
}

/* Only of floating-point inputs: elements of others, such as offsets, depend on each other. */
static Status touch(Worker *worker) {
    Rotation *rotation = &worker->rotation;
    for (int i = 0; i < worker->in_count; i++) {
        Array host = worker->in[i];
        Change change;
        host.data = worker->host_in[rotation->held[rotation->slot]][i].data;
        if (!change_draw(&host, rotation->random++, 1, &change)) continue;
        rotation->touched = true;
        rotation->touched_input = i;
        rotation->touched_at = change.begin;
        return write_element(worker, change.from);
    }
    return STATUS_OK;
}

/* ---- Samples. */

/* The set that the parent wants to see at this sample; -1: none. */
static int wanted(const Worker *worker, const SamplePlace *place) {
    size_t i;
    json_t *check;
    json_array_foreach(json_object_get(worker->rotation.checks, place->mode), i, check) {
        const json_int_t set = json_integer_value(json_object_get(check, KEY_SET));
        if (json_integer_value(json_object_get(check, KEY_SAMPLE)) == (json_int_t)place->index && set >= 0 && set < worker->sets)
            return (int)set;
    }
    return -1;
}

static bool is_checked(const Worker *worker, const SamplePlace *place) {
    return wanted(worker, place) >= 0 || (place->last && place->back_to_back);
}

/* Has the variant inputs of this set; *changed: others than in the call before. */
static Status use_set(Worker *worker, int set, bool *changed) {
    Rotation *rotation = &worker->rotation;
    const int slot = set == rotation->from + 1 && rotation->slots == 2 ? 1 : 0;
    *changed = slot != rotation->slot || rotation->held[slot] != set;
    use_slot(worker, slot);
    return rotation->held[slot] == set ? STATUS_OK : fill_slot(worker, slot, set);
}

/* Fills the caches as back to back calls leave them. */
static Status warm_up(Worker *worker) {
    TRY(worker_call(worker));
    TRY(worker->device->wait("a call that warms the caches"));
    return worker->op->sized_by_data || worker->taken.allocations > 0 ? outputs_after_sample(worker) : STATUS_OK;
}

Status rotation_before(void *context, const SamplePlace *place, int *slot) {
    Worker *worker = context;
    Rotation *rotation = &worker->rotation;
    const bool alternate = rotation->slots == 2 && !(rotation->slow && place->warm);
    int set = wanted(worker, place);
    bool changed = false;
    if (place->pilot) rotation->shown = -1;
    if (set < 0 && is_checked(worker, place) && worker->sets > rotation->from + 1)
        set = rotation->from + (rotation->shown == rotation->from); /* not what was compared before */
    if (set < 0) set = alternate ? rotation->from + (int)(place->index % 2) : rotation->held[rotation->slot];
    worker->ended = false;
    TRY(restore(worker));
    TRY(use_set(worker, set, &changed));
    if (!is_checked(worker, place)) TRY(touch(worker));
    if (place->back_to_back && place->pilot) TRY(outputs_poison(worker, false));
    if (place->warm && (changed || (place->pilot && !rotation->slow))) TRY(warm_up(worker));
    if (!place->back_to_back) TRY(outputs_poison(worker, false));
    *slot = rotation->slot;
    return worker->device->wait("preparing a sample");
}

/* The parent compares the outputs and then says go on, or ends this process. */
static Status ask_parent(Worker *worker, const SamplePlace *place) {
    json_t *check = json_pack("{s:s, s:I, s:i}", KEY_MODE, place->mode, KEY_SAMPLE, (json_int_t)place->index, KEY_SET,
                              worker->rotation.held[worker->rotation.slot]);
    json_t *reply = json_pack("{s:b, s:o}", KEY_OK, 1, KEY_CHECK, check), *command = NULL;
    if (worker->op->sized_by_data) json_object_set_new(reply, KEY_COUNTS, outputs_counts(worker));
    command_reply(worker->replies, reply);
    const bool read = command_read(worker->commands, &command);
    const char *what = json_string_value(json_object_get(command, KEY_DO));
    const bool go_on = read && what && strcmp(what, DO_CONTINUE) == 0;
    json_decref(command);
    return go_on ? STATUS_OK : status_fail(STATUS_INTERNAL, "a check is answered by the command \"continue\"");
}

Status rotation_taken(void *context, const SamplePlace *place) {
    Worker *worker = context;
    if (!is_checked(worker, place)) return STATUS_OK;
    Status status = outputs_take(worker, worker->call_seconds, worker->rotation.patient ? PATIENCE_SECONDS : 0);
    worker->rotation.patient = false;
    worker->rotation.shown = worker->rotation.held[worker->rotation.slot];
    if (status == STATUS_OK) status = outputs_check(worker, worker->rotation.held[worker->rotation.slot]);
    if (status != STATUS_OK) return status_prefix(status, "%s sample %zu: ", place->mode, place->index);
    return ask_parent(worker, place);
}

Status rotation_check(Worker *worker) {
    TRY(restore(worker));
    for (int slot = 0; slot < worker->rotation.slots; slot++) {
        use_slot(worker, slot);
        TRY(outputs_check(worker, worker->rotation.held[slot]));
    }
    return STATUS_OK;
}
