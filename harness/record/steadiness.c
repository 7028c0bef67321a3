#include "record/steadiness.h"

#include <stdio.h>

static const double LOAD_PER_THREAD = 0.5; /* a build that has just ended counts too: the average is over a minute */
static const double FACTOR = 1.25;         /* repetitions on an idle machine agree within a few percent */

bool steadiness_load(const json_t *environment, char *text, size_t size) {
    const json_t *load = json_object_get(environment, "load_average");
    const double threads = (double)json_integer_value(json_object_get(json_object_get(environment, "cpu"), "threads"));
    if (!json_is_number(load) || !(threads > 0) || !(json_number_value(load) >= LOAD_PER_THREAD * threads)) return false;
    snprintf(text, size,
             "warning: load average %.1f on %.0f hardware threads at the start: times and measured peaks may be worse than this "
             "machine's",
             json_number_value(load), threads);
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
