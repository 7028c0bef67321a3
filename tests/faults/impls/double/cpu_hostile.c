/* Hostile on purpose: does what `how` names at the place that `at` names, and is right otherwise. tests/faults/hostile.py says what
 * each must come to. The deeds are in deeds.h. */
#include "variant.h"

#include "deeds.h"

#include <stdlib.h>
#include <string.h>

static const char *const PLACES[] = {"nowhere", "supports", "scratch", "configuration", "prepare", "run", "again", "release", NULL};
static const ParamSpec TUNABLES[] = {{"at", "where it is hostile", PARAM_CHOICE, "nowhere", 0, 0, PLACES},
                                     {"how", "what it does", PARAM_CHOICE, "nothing", 0, 0, DEED_NAMES},
                                     {0}};

/* Does the deed, if this is its place. Returns its name, for places that answer falsely themselves; else "". */
static const char *hostile(const Params *tunables, const char *place) {
    if (strcmp(params_text(tunables, "at"), place) != 0) return "";
    const int deed = params_choice(tunables, "how");
    DEEDS[deed]();
    return DEED_NAMES[deed];
}

static bool supports(const VariantArgs *args, char reason[REASON_MAX]) {
    const char *deed = hostile(args->tunables, "supports");
    if (strcmp(deed, "lie") == 0) memset(reason, 0xFF, REASON_MAX); /* no UTF-8, and no end */
    return strcmp(deed, "lie") != 0 && strcmp(deed, "refuse") != 0; /* refuse: without a reason */
}

static size_t scratch_bytes(const VariantArgs *args) {
    return strcmp(hostile(args->tunables, "scratch"), "lie") == 0 ? (size_t)-1 : 64;
}

static Status configuration(const VariantArgs *args, LaunchNotes *out) {
    const char *deed = hostile(args->tunables, "configuration");
    if (strcmp(deed, "lie") == 0)
        for (int i = 0; i < LAUNCH_NOTES_MAX; i++) launch_note(out, i % 2 ? "\xff" : "not a number", (double)__builtin_nanf(""));
    if (strcmp(deed, "overflow") == 0) out->count = 1000000;
    return strcmp(deed, "refuse") == 0 ? status_fail(STATUS_DEVICE, "%s", "") : STATUS_OK;
}

static const Params *prepared; /* release() gets no arguments */
static int calls;

static Status prepare(const VariantArgs *args, void **state) {
    prepared = args->tunables;
    const char *deed = hostile(args->tunables, "prepare");
    if (strcmp(deed, "lie") == 0) return (Status)77;
    if (strcmp(deed, "refuse") == 0) return status_fail(STATUS_MEMORY, "%s", "");
    *state = malloc(8);
    return STATUS_OK;
}

static void release(void *state) {
    void *volatile again = state;
    free(state);
    if (strcmp(hostile(prepared, "release"), "lie") == 0) free(again);
}

static Status run(const VariantArgs *args) {
    const double *x = args->in[0].data;
    double *y = args->out[0].data;
    const char *deed = hostile(args->tunables, calls++ == 0 ? "run" : "again");
    if (strcmp(deed, "lie") == 0) return (Status)77;
    if (strcmp(deed, "refuse") == 0) return status_fail(STATUS_UNSUPPORTED, "%s", "");
    if (strcmp(deed, "reply_forged") == 0) return STATUS_OK; /* and nothing is written */
    for (size_t i = 0; i < array_count(&args->in[0]); i++) y[i] = 2 * x[i];
    return STATUS_OK;
}

RUNGS_VARIANT(double, cpu_hostile) = {.backend = BACKEND_CPU,
                                      .summary = "hostile on purpose",
                                      .origin = "tests",
                                      .tunables = TUNABLES,
                                      .supports = supports,
                                      .scratch_bytes = scratch_bytes,
                                      .configuration = configuration,
                                      .prepare = prepare,
                                      .release = release,
                                      .run = run};
