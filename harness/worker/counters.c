#include "worker/counters.h"

#include "measure/counts.h"
#include "record/row.h"

#include <math.h>
#include <string.h>

enum { GROUPS_MAX = 64 };

static json_t *three(const int values[3]) {
    return json_pack("[i, i, i]", values[0], values[1], values[2]);
}

static json_t *group_json(const KernelGroup *group) {
    const Activity *kernel = group->kernel;
    json_t *json = json_pack("{s:s, s:I, s:f, s:i, s:I, s:o, s:o}", "name", kernel->name, "launches", (json_int_t)group->launches,
                             "seconds", group->seconds, "registers", kernel->registers, "shared_bytes",
                             (json_int_t)kernel->shared_bytes, "grid", three(kernel->grid), "block", three(kernel->block));
    json_object_set_new(json, "occupancy", json_number_or_null(kernel->occupancy));
    return json;
}

static json_t *launches_json(const ActivityList *list) {
    KernelGroup groups[GROUPS_MAX];
    size_t count = activity_groups(list, groups, GROUPS_MAX);
    json_t *kernels = json_array();
    if (count > GROUPS_MAX) count = GROUPS_MAX; /* the rest is in the sums */
    for (size_t i = 0; i < count; i++) json_array_append_new(kernels, group_json(&groups[i]));
    const Activity *longest = activity_longest_kernel(list);
    json_t *json =
        json_pack("{s:I, s:I, s:I, s:f, s:o}", "launches", (json_int_t)activity_count(list, ACTIVITY_KERNEL), "copies",
                  (json_int_t)activity_count(list, ACTIVITY_COPY), "fills", (json_int_t)activity_count(list, ACTIVITY_FILL),
                  "kernel_seconds", activity_seconds(list, ACTIVITY_KERNEL), "kernels", kernels);
    json_object_set_new(json, "elsewhere", json_integer((json_int_t)activity_elsewhere(list)));
    json_object_set_new(json, "registers", longest ? json_integer(longest->registers) : json_null());
    json_object_set_new(json, "occupancy", longest ? json_number_or_null(longest->occupancy) : json_null());
    return json;
}

/* Microseconds since the first of them, as trace viewers have them. */
static json_t *event_json(const Activity *item, uint64_t origin) {
    const double begin = 1e-3 * (double)(item->begin - origin);
    const double end = item->end >= item->begin ? 1e-3 * (double)(item->end - origin) : NAN;
    json_t *json = json_pack("{s:s, s:s, s:f, s:o, s:I}", "kind", activity_kind_name(item->kind), "name", item->name, "begin",
                             begin, "end", json_number_or_null(end), "stream", (json_int_t)item->stream);
    if (item->kind == ACTIVITY_KERNEL) {
        json_object_set_new(json, "registers", json_integer(item->registers));
        json_object_set_new(json, "shared_bytes", json_integer((json_int_t)item->shared_bytes));
        json_object_set_new(json, "grid", three(item->grid));
        json_object_set_new(json, "block", three(item->block));
    } else if (item->kind != ACTIVITY_RANGE) {
        json_object_set_new(json, "bytes", json_integer((json_int_t)item->bytes));
    }
    return json;
}

static json_t *timeline_json(const ActivityList *list) {
    json_t *events = json_array();
    for (size_t i = 0; i < list->count; i++) json_array_append_new(events, event_json(&list->items[i], list->items[0].begin));
    return json_pack("{s:o}", "events", events);
}

Status counters_take(const char *what, const Device *device, Status (*run)(void *), Status (*after)(void *), void *context,
                     json_t **counts) {
    const MeasuredWork work = {.run = run, .context = context, .after = after};
    const bool timeline = what && strcmp(what, "timeline") == 0;
    if (strcmp(device->kind, "cuda") != 0) return status_fail(STATUS_UNSUPPORTED, "runs on the CPU");
    if (timeline || (what && strcmp(what, "launches") == 0)) {
        ActivityList list;
        TRY(counts_activity(&work, device->stream(), timeline, &list));
        *counts = timeline ? timeline_json(&list) : launches_json(&list);
        activity_free(&list);
        return STATUS_OK;
    }
    if (!what || strcmp(what, "bytes") != 0) return status_fail(STATUS_INTERNAL, "count: unknown kind '%s'", what ? what : "");
    ByteCounts bytes;
    TRY(counts_bytes(&work, device->stream(), &bytes));
    *counts = json_pack("{s:f, s:f, s:f}", "bytes_read", bytes.read, "bytes_written", bytes.written + bytes.written_behind,
                        "bytes_written_behind", bytes.written_behind);
    return STATUS_OK;
}

static json_t *reason_of(Status status) {
    return status == STATUS_OK ? json_null() : json_string(status_message());
}

Status counters_check(const Device *device, json_t **answer) {
    const char *library = NULL;
    *answer = json_object();
    Status status = counts_library(&library);
    json_object_set_new(*answer, "library", library ? json_string(library) : json_null());
    if (status == STATUS_OK) status = counts_try_activity(device->stream());
    json_object_set_new(*answer, "launches_reason", reason_of(status));
    json_object_set_new(*answer, "bytes_reason", reason_of(counts_try_bytes(device->stream())));
    return STATUS_OK;
}
