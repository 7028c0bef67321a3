#include "pipeline/commands.h"

#include "plan/case.h"
#include "protocol.h"

json_t *case_json(const Case *problem) {
    char text[CASE_TEXT_MAX];
    return json_pack("{s:s, s:s, s:o, s:s, s:s, s:I}", KEY_TEXT, case_format(problem, text, sizeof text), KEY_OP, problem->op,
                     KEY_PARAMS, params_json(&problem->params), KEY_DTYPE, dtype_name(problem->dtype), KEY_INPUT, problem->input,
                     KEY_SEED, (json_int_t)problem->seed);
}

int handover_file(Handover *handover, const Shared *shared) {
    handover->file[handover->count] = shared->fd;
    return handover->count++;
}

json_t *handover_arrays(Handover *handover, const Array *arrays, const Shared *shared, int count) {
    json_t *list = json_array();
    for (int i = 0; i < count; i++) {
        json_t *shape = json_array();
        for (int d = 0; d < arrays[i].rank; d++) json_array_append_new(shape, json_integer((json_int_t)arrays[i].shape[d]));
        json_array_append_new(list,
                              json_pack("{s:s, s:s, s:o, s:i}", KEY_NAME, arrays[i].name, KEY_DTYPE, dtype_name(arrays[i].dtype),
                                        KEY_SHAPE, shape, KEY_FILE, handover_file(handover, &shared[i])));
    }
    return list;
}
