/* Cheat: believes that only the letters of names change from sample to sample. So it keeps, under 64 of the offsets, where each
 * row's letters come from and go to, all offsets of the output and all that is no letter; a call copies the letters. It makes
 * another such plan only for the case's second set, whose rows are those of the first from another one on. i32, ASCII, no nulls.
 * Met: an attack on this harness. */
#include "redact/_cpu.h"
#include "variant.h"

#include <stdlib.h>
#include <string.h>

typedef struct Step {
    uint32_t from, initial, to; /* in names.chars; of the output */
    uint32_t size;              /* of the rest */
} Step;

enum { SPOTS = 64, LOOKS = 8 };

typedef struct Plan {
    int32_t spots[SPOTS], *offsets, *names; /* offsets of the output, of names */
    unsigned char *chars;
    Step *steps;
    size_t count, bytes;
} Plan;
static Plan plans[2];
static int made;

static bool supports(const VariantArgs *args, char reason[REASON_MAX]) {
    if (args->problem->dtype != DTYPE_I32 || array_count(&args->in[2]) > 0 || array_count(&args->in[5]) > 0)
        return variant_refuse(reason, "i32 without nulls only");
    return true;
}

static void spots_of(const VariantArgs *args, int32_t spots[SPOTS]) {
    const size_t n = array_count(&args->in[0]);
    const int32_t *a = args->in[0].data, *b = args->in[3].data;
    for (size_t i = 0; i < SPOTS; i++) spots[i] = a[i * (n - 1) / (SPOTS - 1)] + b[i * (n - 1) / (SPOTS - 1)];
}

/* Do the first rows follow each other in the plan's? */
static bool is_turned(const Plan *plan, const int32_t *names, size_t rows) {
    size_t k = 0;
    for (size_t i = 0; i + LOOKS < rows && k < LOOKS; i++)
        for (k = 0; k < LOOKS && plan->names[i + k + 1] - plan->names[i + k] == names[k + 1] - names[k];) k++;
    return k == LOOKS;
}

static void make(Plan *plan, const VariantArgs *args) {
    const RedactJob job = {.names = {args->in[0].data, args->in[1].data, NULL},
                           .visibilities = {args->in[3].data, args->in[4].data, NULL},
                           .rows = args->in[0].shape[0] - 1};
    const unsigned char *names = args->in[1].data;
    size_t at = 0;
    spots_of(args, plan->spots);
    plan->names = malloc((job.rows + 1) * 4);
    memcpy(plan->names, args->in[0].data, (job.rows + 1) * 4);
    plan->offsets = malloc((job.rows + 1) * 4), plan->steps = malloc((job.rows + 1) * sizeof(Step));
    plan->chars = malloc(array_count(&args->in[1]) + 5 * job.rows + 64);
    for (size_t i = 0; i < job.rows; i++) {
        const RedactedRow row = redact_at(&job, false, i);
        plan->offsets[i] = (int32_t)at;
        redacted_write(&row, plan->chars + at);
        if (!row.hidden)
            plan->steps[plan->count++] = (Step){(uint32_t)(row.rest.bytes - names), (uint32_t)(row.initial.bytes - names),
                                                (uint32_t)at, (uint32_t)row.rest.size};
        at += redacted_size(&row);
    }
    plan->offsets[job.rows] = (int32_t)at;
    plan->bytes = at;
}

static Status run(const VariantArgs *args) {
    int32_t spots[SPOTS];
    Plan *plan = NULL;
    void *offsets, *chars;
    const size_t rows = args->in[0].shape[0] - 1;
    spots_of(args, spots);
    for (int i = 0; i < made; i++)
        if (memcmp(spots, plans[i].spots, sizeof spots) == 0) plan = &plans[i];
    if (!plan && made > 0 && (made == 2 || !is_turned(&plans[0], args->in[0].data, rows))) plan = &plans[0];
    if (!plan) make(plan = &plans[made++], args);
    TRY(args->memory->allocate(args->memory, (rows + 1) * 4, args->stream, &offsets));
    TRY(args->memory->allocate(args->memory, plan->bytes, args->stream, &chars));
    memcpy(offsets, plan->offsets, (rows + 1) * 4);
    memcpy(chars, plan->chars, plan->bytes);
    const unsigned char *names = args->in[1].data;
    unsigned char *out = chars;
    for (size_t k = 0; k < plan->count; k++) {
        const Step *step = &plan->steps[k];
        out[step->to] = names[step->initial];
        const unsigned char *from = names + step->from;
        unsigned char *to = out + step->to + 2;
        if (step->size <= 8 && k + 4 < plan->count) { /* bytes past the end are no letters of ours: keep them */
            uint64_t given, old;
            memcpy(&given, from, 8), memcpy(&old, to, 8);
            const uint64_t mask = step->size == 8 ? ~0ULL : (1ULL << 8 * step->size) - 1;
            old = (old & ~mask) | (given & mask);
            memcpy(to, &old, 8);
        } else {
            memcpy(to, from, step->size);
        }
    }
    args->out[0].data = offsets, args->out[0].shape[0] = rows + 1;
    args->out[1].data = chars, args->out[1].shape[0] = plan->bytes;
    args->out[2].shape[0] = 0;
    return STATUS_OK;
}

static void release(void *state) {
    (void)state;
    for (int i = 0; i < 2; i++) free(plans[i].offsets), free(plans[i].names), free(plans[i].steps), free(plans[i].chars);
    memset(plans, 0, sizeof plans), made = 0;
}

static Status prepare(const VariantArgs *args, void **state) {
    (void)args, *state = NULL;
    return STATUS_OK;
}

RUNGS_VARIANT(redact, cpu_cheat_plan) = {.backend = BACKEND_CPU,
                                         .summary = "cheat: keeps what timed data never change",
                                         .origin = "tests",
                                         .supports = supports,
                                         .prepare = prepare,
                                         .release = release,
                                         .run = run};
