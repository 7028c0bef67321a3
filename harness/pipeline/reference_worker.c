#include "pipeline/reference_worker.h"

#include "device/child.h"
#include "pipeline/rows.h"

#include <stdio.h>
#include <string.h>

/* The reference calls the user's function once per output, in long double, on one set of data: more than one call of a variant. */
static const double CALLS = 2.5;
static double timeout_seconds = 300;

void referenceworker_allow(double call_seconds) {
    timeout_seconds = CALLS * call_seconds;
}

static void path_of(const Shared *shared, char path[64]) {
    snprintf(path, 64, "/proc/self/fd/%d", shared->fd);
}

json_t *shared_arrays_json(const Array *arrays, const Shared *shared, int count) {
    json_t *list = json_array();
    for (int i = 0; i < count; i++) {
        char path[64];
        path_of(&shared[i], path);
        json_t *shape = json_array();
        for (int d = 0; d < arrays[i].rank; d++) json_array_append_new(shape, json_integer((json_int_t)arrays[i].shape[d]));
        json_array_append_new(list, json_pack("{s:s, s:s, s:o, s:s}", "name", arrays[i].name, "dtype", dtype_name(arrays[i].dtype),
                                              "shape", shape, "path", path));
    }
    return list;
}

/* Values and tolerances of every output where the worker can write them. */
typedef struct Place {
    Shared value[OP_MAX_ARRAYS], tolerance[OP_MAX_ARRAYS];
} Place;

static Status ask(const Op *op, const Case *problem, const Array *in, const Shared *shared_in, const Array *out, int bound,
                  Place *place) {
    int inherit[3 * OP_MAX_ARRAYS], count = 0;
    json_t *references = json_array();
    for (int i = 0; i < op->in_count; i++) inherit[count++] = shared_in[i].fd;
    for (int i = 0; i < op->out_count; i++) {
        const size_t bytes = sizeof(double) * array_count(&out[i]);
        char value[64], tolerance[64];
        TRY(shared_create("truth", bytes, &place->value[i]));
        TRY(shared_create("tolerance", bytes, &place->tolerance[i]));
        inherit[count++] = place->value[i].fd;
        inherit[count++] = place->tolerance[i].fd;
        path_of(&place->value[i], value);
        path_of(&place->tolerance[i], tolerance);
        json_array_append_new(references, json_pack("{s:s, s:I, s:s, s:s}", "name", out[i].name, "count",
                                                    (json_int_t)array_count(&out[i]), "value", value, "tolerance", tolerance));
    }
    const char *const argv[] = {"/proc/self/exe", "worker", NULL};
    Child *child = NULL;
    TRY(child_start(&(ChildOptions){.argv = argv, .inherit = inherit, .inherit_count = count}, &child));
    json_t *command = json_pack("{s:s, s:o, s:i, s:o, s:o}", "do", "truth", "case", row_case(problem), "bound", bound, "inputs",
                                shared_arrays_json(in, shared_in, op->in_count), "truths", references),
           *reply = NULL;
    const Status status = child_ask(child, command, timeout_seconds, &reply);
    json_decref(command);
    json_decref(reply);
    child_stop(child);
    return status;
}

Status referenceworker_compute(const Op *op, const Case *problem, const Array *in, const Shared *shared_in, const Array *out,
                               int bound, Reference *reference) {
    Place place = {0};
    const Status status = ask(op, problem, in, shared_in, out, bound, &place);
    for (int i = 0; i < op->out_count; i++) {
        if (status == STATUS_OK) {
            memcpy(reference[i].value, place.value[i].data, place.value[i].bytes);
            memcpy(reference[i].tolerance, place.tolerance[i].data, place.tolerance[i].bytes);
        }
        shared_destroy(&place.value[i]);
        shared_destroy(&place.tolerance[i]);
    }
    /* A crash, a hang, no readable file, an answer that is none: all of it is this case's fault and not the program's. */
    const Status code = status == STATUS_IO || status == STATUS_INTERNAL ? STATUS_DEVICE : status;
    return status_prefix(code, "the reference of this case: ");
}
