/* gpu.c - facts of the GPU from nvidia-smi, so that record/ needs no CUDA; what only the runtime knows is merged in. */
#include "record/facts.h"
#include "record/identity.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum Form { FORM_TEXT, FORM_NUMBER, FORM_MEBIBYTES, FORM_SWITCH } Form;

typedef struct Field {
    const char *query; /* nvidia-smi's name */
    const char *key;   /* ours */
    Form form;
} Field;

static const Field FIELDS[] = {
    {"name", "name", FORM_TEXT},
    {"uuid", "uuid", FORM_TEXT},
    {"compute_cap", "compute_capability", FORM_TEXT},
    {NULL, "sm_count", FORM_NUMBER},
    {NULL, "l2_bytes", FORM_NUMBER},
    {"memory.total", "memory_bytes", FORM_MEBIBYTES},
    {NULL, "shared_bytes_per_block", FORM_NUMBER},
    {"driver_version", "driver", FORM_TEXT},
    {NULL, "runtime", FORM_TEXT},
    {"clocks.max.sm", "clocks_sm_max", FORM_NUMBER},
    {"clocks.max.mem", "clocks_memory_max", FORM_NUMBER},
    {"power.limit", "power_cap_watts", FORM_NUMBER},
    {"ecc.mode.current", "ecc", FORM_SWITCH},
    {"mig.mode.current", "mig", FORM_SWITCH},
};
enum { FIELD_COUNT = sizeof FIELDS / sizeof *FIELDS };

/* "[N/A]", "[Not Supported]", "[Insufficient Permissions]" and the like are what is not known. */
static json_t *value_of(Form form, const char *text) {
    if (*text == '\0' || *text == '[' || strcmp(text, "N/A") == 0) return json_null();
    if (form == FORM_TEXT) return json_string(text);
    if (form == FORM_SWITCH)
        return strcmp(text, "Enabled") == 0 ? json_true() : strcmp(text, "Disabled") == 0 ? json_false() : json_null();
    char *end;
    const double number = strtod(text, &end);
    if (end == text || *end != '\0') return json_null();
    if (form == FORM_MEBIBYTES) return json_integer((json_int_t)(number * 1048576.0));
    return number == (double)(json_int_t)number ? json_integer((json_int_t)number) : json_real(number);
}

/* Which GPU: by UUID if the runtime has it; else the device-th of those that CUDA_VISIBLE_DEVICES shows. */
static void which_gpu(int device, const json_t *gpu_facts, char *which, size_t size) {
    const char *uuid = json_string_value(json_object_get(gpu_facts, "uuid"));
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    if (uuid) {
        snprintf(which, size, "%s", uuid);
        return;
    }
    for (int i = 0; visible && i < device; i++) {
        visible = strchr(visible, ',');
        if (visible) visible++;
    }
    if (visible && *visible)
        snprintf(which, size, "%.*s", (int)strcspn(visible, ","), visible);
    else
        snprintf(which, size, "%d", device);
}

static char *ask(const char *which, char *why, size_t why_size) {
    char query[512] = "--query-gpu=";
    bool first = true;
    for (int i = 0; i < FIELD_COUNT; i++) {
        if (!FIELDS[i].query) continue;
        if (!first) strcat(query, ",");
        strcat(query, FIELDS[i].query);
        first = false;
    }
    const char *const argv[] = {"nvidia-smi", "-i", which, query, "--format=csv,noheader,nounits", NULL};
    char *answer = facts_command(argv, 20, why, why_size);
    if (answer && strncmp(answer, "No devices", 10) == 0) {
        snprintf(why, why_size, "nvidia-smi: %.160s", answer);
        free(answer);
        answer = NULL;
    }
    return answer;
}

/* One line, values separated by ", " in the order asked for; a name may hold no comma. */
static void fill(json_t *gpu, char *answer) {
    answer[strcspn(answer, "\n")] = '\0';
    char *cursor = answer;
    for (int i = 0; i < FIELD_COUNT; i++) {
        if (!FIELDS[i].query) continue;
        char *end = cursor + strcspn(cursor, ",");
        const bool last = *end == '\0';
        *end = '\0';
        json_object_set_new(gpu, FIELDS[i].key, value_of(FIELDS[i].form, cursor + strspn(cursor, " ")));
        cursor = last ? end : end + 1;
    }
}

json_t *facts_gpu(int device, const json_t *gpu_facts, char *why, size_t why_size) {
    if (device < 0) {
        snprintf(why, why_size, "no GPU was used");
        return json_null();
    }
    char which[96];
    which_gpu(device, gpu_facts, which, sizeof which);
    char *answer = ask(which, why, why_size);
    if (!answer && !gpu_facts) return json_null();
    json_t *gpu = json_object();
    for (int i = 0; i < FIELD_COUNT; i++) json_object_set_new(gpu, FIELDS[i].key, json_null());
    if (answer) fill(gpu, answer);
    free(answer);
    for (int i = 0; i < FIELD_COUNT; i++) {
        json_t *known = json_object_get(gpu_facts, FIELDS[i].key);
        if (known && !json_is_null(known)) json_object_set(gpu, FIELDS[i].key, known);
    }
    const char *uuid = json_string_value(json_object_get(gpu, "uuid"));
    if (uuid) json_object_set_new(gpu, "uuid", identity_hidden(uuid));
    return gpu;
}
