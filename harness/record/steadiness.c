#include "record/steadiness.h"

#include <stdio.h>

static const double BUSY_SHARE = 0.5; /* of the hardware threads */
static const double FACTOR = 1.25;    /* repetitions on an idle machine agree within a few percent */

bool steadiness_load(const json_t *environment, char *text, size_t size) {
    const json_t *others = json_object_get(environment, "others_running");
    const double threads = (double)json_integer_value(json_object_get(json_object_get(environment, "cpu"), "threads"));
    if (!json_is_number(others) || !(threads > 0) || !(json_number_value(others) >= BUSY_SHARE * threads)) return false;
    snprintf(text, size,
             "warning: other programs keep %.0f of %.0f hardware threads busy: times and measured peaks may be worse than this "
             "machine's",
             json_number_value(others), threads);
    return true;
}

bool steadiness_ceilings(const char *device, const json_t *ceilings, char *text, size_t size) {
    size_t i;
    json_t *ceiling;
    json_array_foreach(ceilings, i, ceiling) {
        const json_t *value = json_object_get(ceiling, "value"), *again = json_object_get(ceiling, "again");
        const char *name = json_string_value(json_object_get(ceiling, "name")),
                   *unit = json_string_value(json_object_get(ceiling, "unit"));
        if (!name || !unit || !json_is_number(value) || !json_is_number(again)) continue;
        const double a = json_number_value(value), b = json_number_value(again);
        if (a < FACTOR * b && b < FACTOR * a) continue;
        snprintf(
            text, size,
            "warning: two measurements of the peak %s of the %s disagree: %.3g and %.3g %s; the machine is busy, and shares of "
            "measured peaks are unreliable",
            name, device, a, b, unit);
        return true;
    }
    return false;
}
