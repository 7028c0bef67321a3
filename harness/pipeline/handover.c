#include "pipeline/handover.h"

int handover_file(Handover *handover, const Shared *shared) {
    handover->file[handover->count] = shared->fd;
    return handover->count++;
}

json_t *handover_arrays(Handover *handover, const Array *arrays, const Shared *shared, int count) {
    json_t *list = json_array();
    for (int i = 0; i < count; i++) {
        json_t *shape = json_array();
        for (int d = 0; d < arrays[i].rank; d++) json_array_append_new(shape, json_integer((json_int_t)arrays[i].shape[d]));
        json_array_append_new(list, json_pack("{s:s, s:s, s:o, s:i}", "name", arrays[i].name, "dtype", dtype_name(arrays[i].dtype),
                                              "shape", shape, "file", handover_file(handover, &shared[i])));
    }
    return list;
}
