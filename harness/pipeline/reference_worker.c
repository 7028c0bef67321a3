#include "pipeline/reference_worker.h"

#include "device/child.h"
#include "pipeline/commands.h"
#include "protocol.h"

#include <string.h>

/* The reference calls the user's function once per output, in long double, on one set of data: more than one call of a variant. */
static const double CALLS = 2.5;
static double timeout_seconds = 300;

void referenceworker_allow(double call_seconds) {
    timeout_seconds = CALLS * call_seconds;
}

/* Values and tolerances of every output where the worker can write them. */
typedef struct Place {
    Shared value[OP_MAX_ARRAYS], tolerance[OP_MAX_ARRAYS];
} Place;

static Status ask(const Op *op, const Case *problem, const Array *in, const Shared *shared_in, const Array *out, int bound,
                  Place *place) {
    Handover handover = {0};
    json_t *references = json_array(), *inputs = handover_arrays(&handover, in, shared_in, op->in_count);
    for (int i = 0; i < op->out_count; i++) {
        const size_t bytes = sizeof(double) * array_count(&out[i]);
        TRY(shared_create("reference", bytes, &place->value[i]));
        TRY(shared_create("tolerance", bytes, &place->tolerance[i]));
        const int value = handover_file(&handover, &place->value[i]), tolerance = handover_file(&handover, &place->tolerance[i]);
        json_array_append_new(references, json_pack("{s:s, s:I, s:i, s:i}", KEY_NAME, out[i].name, KEY_COUNT,
                                                    (json_int_t)array_count(&out[i]), KEY_VALUE, value, KEY_TOLERANCE, tolerance));
    }
    const char *const argv[] = {"/proc/self/exe", "worker", NULL};
    Child *child = NULL;
    TRY(child_start(&(ChildOptions){.argv = argv}, &child));
    json_t *command = json_pack("{s:s, s:o, s:i, s:o, s:o}", KEY_DO, DO_REFERENCE, KEY_CASE, case_json(problem), KEY_BOUND, bound,
                                KEY_INPUTS, inputs, KEY_REFERENCES, references),
           *reply = NULL;
    child_hand(child, handover.file, handover.count);
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
