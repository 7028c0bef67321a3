#include "record/row.h"

#include "base/foreign.h"
#include "base/memory.h"
#include "protocol.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* ---- A struct as an object: a line of a table is a key, and the member that stands under it. */

typedef enum FieldKind {
    FIELD_COUNT, /* size_t */
    FIELD_INT,
    FIELD_REAL,  /* double; null: NaN or inf */
    FIELD_WHOLE, /* double, written as an integer; null: NaN */
    FIELD_HEX,   /* double, as %a */
    FIELD_BOOL,
    FIELD_TEXT, /* char[]; null: "" */
    FIELD_THREE /* int[3] */
} FieldKind;

typedef struct Field {
    const char *key; /* NULL ends a table */
    FieldKind kind;
    size_t offset, size;
} Field;

#define FIELD(kind, type, member)                                                                                                  \
    { #member, FIELD_##kind, offsetof(type, member), sizeof(((type *)0)->member) }

static const Field ERRORS[] = {
    FIELD(COUNT, ErrorReport, count),      FIELD(COUNT, ErrorReport, incomparable),  FIELD(COUNT, ErrorReport, unwritten),
    FIELD(COUNT, ErrorReport, worst),      FIELD(REAL, ErrorReport, max_absolute),   FIELD(REAL, ErrorReport, max_relative),
    FIELD(REAL, ErrorReport, l2_relative), FIELD(REAL, ErrorReport, max_ulp),        FIELD(REAL, ErrorReport, max_ratio),
    FIELD(REAL, ErrorReport, vacuous),     FIELD(BOOL, ErrorReport, judgeable),      FIELD(HEX, ErrorReport, worst_truth),
    FIELD(HEX, ErrorReport, worst_actual), FIELD(HEX, ErrorReport, worst_tolerance), {0}};
static const Field EXACT_ERRORS[] = {FIELD(COUNT, ExactReport, count),
                                     FIELD(COUNT, ExactReport, expected_count),
                                     FIELD(COUNT, ExactReport, mismatches),
                                     FIELD(COUNT, ExactReport, unwritten),
                                     {0}};
static const Field MEMORY[] = {
    FIELD(WHOLE, Counts, allocations), FIELD(WHOLE, Counts, peak_bytes), FIELD(TEXT, Counts, resource), {0}};
static const Field LAUNCHES[] = {FIELD(WHOLE, Counts, launches),
                                 FIELD(WHOLE, Counts, copies),
                                 FIELD(WHOLE, Counts, fills),
                                 FIELD(REAL, Counts, kernel_seconds),
                                 {0}};
static const Field LONGEST[] = {FIELD(WHOLE, Counts, registers), FIELD(REAL, Counts, occupancy), {0}};
static const Field BYTES[] = {
    FIELD(REAL, Counts, bytes_read), FIELD(REAL, Counts, bytes_written), FIELD(REAL, Counts, bytes_written_behind), {0}};
static const Field PROFILE[] = {
    FIELD(REAL, Profile, load_sectors),    FIELD(REAL, Profile, load_requests),  FIELD(REAL, Profile, store_sectors),
    FIELD(REAL, Profile, store_requests),  FIELD(REAL, Profile, local_sectors),  FIELD(REAL, Profile, bank_conflicts),
    FIELD(REAL, Profile, sm_cycles),       FIELD(REAL, Profile, sm_cycles_mean), FIELD(REAL, Profile, sm_cycles_most),
    FIELD(REAL, Profile, warps_active),    FIELD(REAL, Profile, issue_active),   FIELD(REAL, Profile, lanes),
    FIELD(REAL, Profile, stalled_barrier), FIELD(REAL, Profile, stalled_memory), {0}};
static const Field SPENT[] = {FIELD(REAL, Counts, seconds), {0}};
static const Field KERNEL[] = {
    FIELD(TEXT, KernelCount, name),     FIELD(COUNT, KernelCount, launches),     FIELD(REAL, KernelCount, seconds),
    FIELD(INT, KernelCount, registers), FIELD(COUNT, KernelCount, shared_bytes), FIELD(THREE, KernelCount, grid),
    FIELD(THREE, KernelCount, block),   FIELD(REAL, KernelCount, occupancy),     {0}};
static const Field TIMED[] = {
    FIELD(COUNT, ModeTiming, calls_per_sample), FIELD(TEXT, ModeTiming, clock), FIELD(TEXT, ModeTiming, why_none), {0}};
static const Field STOPPED[] = {FIELD(TEXT, ModeTiming, stopped), {0}};
static const Field RETAKEN[] = {FIELD(COUNT, Conditions, retaken), FIELD(COUNT, Conditions, remain), {0}};
static const Field BETWEEN[] = {FIELD(REAL, ModeTiming, between_seconds), {0}};
static const Field STATS[] = {FIELD(REAL, Stats, median), FIELD(REAL, Stats, min), FIELD(REAL, Stats, max),  FIELD(REAL, Stats, q1),
                              FIELD(REAL, Stats, q3),     FIELD(REAL, Stats, low), FIELD(REAL, Stats, high), {0}};
static const Field RATES[] = {FIELD(REAL, ModeTiming, bytes_per_second), FIELD(REAL, ModeTiming, elements_per_second), {0}};
static const Field BITS[] = {FIELD(COUNT, Bits, calls),
                             FIELD(BOOL, Bits, differ),
                             FIELD(TEXT, Bits, output),
                             FIELD(COUNT, Bits, element),
                             FIELD(REAL, Bits, apart),
                             FIELD(REAL, Bits, seconds),
                             {0}};
static const Field ENERGY[] = {FIELD(REAL, Energy, joules),  FIELD(REAL, Energy, low),
                               FIELD(REAL, Energy, high),    FIELD(REAL, Energy, joules_per_element),
                               FIELD(REAL, Energy, watts),   FIELD(REAL, Energy, idle_watts),
                               FIELD(REAL, Energy, sm_mhz),  FIELD(COUNT, Energy, calls),
                               FIELD(REAL, Energy, seconds), {0}};
static const Field LIMIT[] = {FIELD(REAL, Limit, seconds), FIELD(TEXT, Limit, kernel), {0}};

json_t *json_number_or_null(double value) {
    return isfinite(value) ? json_real(value) : json_null();
}

static json_t *text_or_null(const char *text) {
    return *text ? json_string(text) : json_null();
}

static json_t *hexadecimal(double value) {
    char text[64];
    snprintf(text, sizeof text, "%a", value);
    return json_string(text);
}

static json_t *member_json(FieldKind kind, const void *member) {
    const double *real = member;
    const int *integers = member;
    switch (kind) {
    case FIELD_COUNT:
        return json_integer((json_int_t) * (const size_t *)member);
    case FIELD_INT:
        return json_integer(*integers);
    case FIELD_WHOLE:
        return isfinite(*real) ? json_integer((json_int_t)*real) : json_null();
    case FIELD_HEX:
        return hexadecimal(*real);
    case FIELD_BOOL:
        return json_boolean(*(const bool *)member);
    case FIELD_TEXT:
        return text_or_null(member);
    case FIELD_THREE:
        return json_pack("[i, i, i]", integers[0], integers[1], integers[2]);
    default:
        return json_number_or_null(*real);
    }
}

static void fields_write(const Field *fields, const void *from, json_t *to) {
    for (; fields->key; fields++)
        json_object_set_new(to, fields->key, member_json(fields->kind, (const char *)from + fields->offset));
}

static double real_of(const json_t *json) {
    return json_is_number(json) ? json_number_value(json) : NAN;
}

static size_t count_of(const json_t *json) {
    return json_integer_value(json) > 0 ? (size_t)json_integer_value(json) : 0;
}

static void text_of_json(const json_t *json, char *text, size_t size) {
    snprintf(text, size, "%s", json_is_string(json) ? json_string_value(json) : "");
    foreign_make_utf8(text); /* what was cut off in a character */
}

/* What is of a reply; false: none of the keys is there. */
static bool fields_read(const Field *fields, const json_t *from, void *to) {
    bool any = false;
    for (; fields->key; fields++) {
        const json_t *json = json_object_get(from, fields->key);
        void *member = (char *)to + fields->offset;
        if (!json) continue;
        any = true;
        if (fields->kind == FIELD_COUNT) *(size_t *)member = count_of(json);
        if (fields->kind == FIELD_BOOL) *(bool *)member = json_is_true(json);
        if (fields->kind == FIELD_INT) *(int *)member = (int)json_integer_value(json);
        if (fields->kind == FIELD_REAL || fields->kind == FIELD_WHOLE) *(double *)member = real_of(json);
        if (fields->kind == FIELD_TEXT) text_of_json(json, member, fields->size);
        for (size_t i = 0; fields->kind == FIELD_THREE && i < 3; i++)
            ((int *)member)[i] = (int)json_integer_value(json_array_get(json, i));
    }
    return any;
}

/* ---- Parameters, errors, launches. */

json_t *params_json(const Params *params) {
    json_t *object = json_object();
    for (int i = 0; i < params->count; i++) {
        const ParamSpec *spec = &params->specs[i];
        const ParamValue *value = &params->values[i];
        json_t *json = spec->kind == PARAM_INT                             ? json_integer(value->integer)
                       : spec->kind == PARAM_REAL && isfinite(value->real) ? json_real(value->real)
                                                                           : json_string(value->text);
        json_object_set_new(object, spec->name, json);
    }
    return object;
}

json_t *case_params_json(const Case *problem) {
    json_t *object = params_json(&problem->params);
    for (int i = 0; i < problem->params.count; i++)
        if (params_unsaid(&problem->params, i)) json_object_del(object, problem->params.specs[i].name);
    if (!case_is_usual(problem)) json_object_set_new(object, "accumulate", json_string(dtype_name(case_sums(problem))));
    return object;
}

json_t *errors_json(const OutputErrors *errors) {
    json_t *json = json_object();
    fields_write(errors->exact ? EXACT_ERRORS : ERRORS, &errors->bounded, json);
    if (errors->exact)
        json_object_set_new(json, "first_mismatch",
                            errors->bytes.mismatches ? json_integer((json_int_t)errors->bytes.first_mismatch) : json_null());
    return json;
}

void launch_set(Launch *launch, const char *name, double value) {
    int i = 0;
    while (i < launch->count && strcmp(launch->numbers[i].name, name) != 0) i++;
    if (i == LAUNCH_NUMBERS_MAX) return;
    if (i == launch->count) launch->count++;
    snprintf(launch->numbers[i].name, sizeof launch->numbers[i].name, "%s", name);
    launch->numbers[i].value = value;
}

json_t *launch_json(const Launch *launch) {
    json_t *json = launch->count > 0 ? json_pack("{s:s}", KEY_DEVICE, launch->device) : json_null();
    for (int i = 0; i < launch->count; i++) {
        const double value = launch->numbers[i].value;
        json_object_set_new(json, launch->numbers[i].name,
                            value == floor(value) ? json_integer((json_int_t)value) : json_real(value));
    }
    return json;
}

void launch_read(const json_t *json, Launch *launch) {
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)json, name, value) {
        if (strcmp(name, KEY_DEVICE) == 0) text_of_json(value, launch->device, sizeof launch->device);
        if (json_is_number(value)) launch_set(launch, name, json_number_value(value));
    }
}

/* ---- Counts. */

/* Without memory no row is written: memory_check(). */
static void *allocate_zeros(size_t count, size_t size) {
    void *memory = memory_allocate((count + 1) * size);
    return memory ? memset(memory, 0, (count + 1) * size) : NULL;
}

Counts counts_none(void) {
    return (Counts){.allocations = NAN,
                    .peak_bytes = NAN,
                    .launches = NAN,
                    .copies = NAN,
                    .fills = NAN,
                    .kernel_seconds = NAN,
                    .registers = NAN,
                    .occupancy = NAN,
                    .bytes_read = NAN,
                    .bytes_written = NAN,
                    .bytes_written_behind = NAN,
                    .profile.sm_cycles = NAN};
}

void counts_free(Counts *counts) {
    memory_free(counts->kernels);
    *counts = counts_none();
}

bool counts_copy(const Counts *counts, Counts *out) {
    *out = *counts;
    out->kernels = allocate_zeros(counts->kernel_count, sizeof *out->kernels);
    if (!out->kernels) *out = counts_none();
    if (out->kernels && counts->kernel_count > 0)
        memcpy(out->kernels, counts->kernels, counts->kernel_count * sizeof *out->kernels);
    return out->kernels != NULL;
}

static json_t *kernels_json(const Counts *counts) {
    if (!isfinite(counts->launches)) return json_null();
    json_t *kernels = json_array();
    for (size_t i = 0; i < counts->kernel_count; i++) {
        json_t *kernel = json_object();
        fields_write(KERNEL, &counts->kernels[i], kernel);
        json_array_append_new(kernels, kernel);
    }
    return kernels;
}

json_t *counts_json(const Counts *counts, const char *what) {
    json_t *json = json_object();
    if (!what || strcmp(what, WHAT_MEMORY) == 0) fields_write(MEMORY, counts, json);
    if (!what || strcmp(what, WHAT_LAUNCHES) == 0) {
        fields_write(LAUNCHES, counts, json);
        json_object_set_new(json, "kernels", kernels_json(counts));
        fields_write(LONGEST, counts, json);
    }
    if (!what || strcmp(what, WHAT_BYTES) == 0) {
        fields_write(BYTES, counts, json);
        if (isfinite(counts->profile.sm_cycles)) {
            json_object_set_new(json, "profile", json_object());
            fields_write(PROFILE, &counts->profile, json_object_get(json, "profile"));
        }
    }
    if (!what) fields_write(SPENT, counts, json);
    return json;
}

static void kernels_read(const json_t *list, Counts *counts) {
    const size_t count = json_array_size(list);
    memory_free(counts->kernels);
    counts->kernel_count = 0;
    counts->kernels = allocate_zeros(count, sizeof *counts->kernels);
    for (; counts->kernels && counts->kernel_count < count; counts->kernel_count++)
        fields_read(KERNEL, json_array_get(list, counts->kernel_count), &counts->kernels[counts->kernel_count]);
}

void counts_read(const json_t *json, Counts *counts) {
    const Field *const TABLES[] = {MEMORY, LAUNCHES, LONGEST, BYTES};
    for (size_t i = 0; i < sizeof TABLES / sizeof *TABLES; i++) counts->any = fields_read(TABLES[i], json, counts) || counts->any;
    fields_read(PROFILE, json_object_get(json, "profile"), &counts->profile);
    if (json_object_get(json, "kernels")) kernels_read(json_object_get(json, "kernels"), counts);
}

/* ---- Times. */

static json_t *conditions_json(const Conditions *c) {
    json_t *reasons = json_array();
    for (int i = 0; i < c->reason_count; i++) json_array_append_new(reasons, json_string(c->reasons[i]));
    json_t *json = json_pack("{s:[o, o], s:o, s:b}", "celsius", json_number_or_null(c->celsius[0]),
                             json_number_or_null(c->celsius[1]), "reasons", reasons, "throttled", c->throttled);
    if (c->retaken + c->remain > 0) fields_write(RETAKEN, c, json);
    return json;
}

static void conditions_read(const json_t *json, Conditions *c) {
    const json_t *reasons = json_object_get(json, "reasons");
    c->known = true;
    for (size_t i = 0; i < 2; i++) c->celsius[i] = real_of(json_array_get(json_object_get(json, "celsius"), i));
    for (; c->reason_count < CONDITIONS_MAX && (size_t)c->reason_count < json_array_size(reasons); c->reason_count++)
        text_of_json(json_array_get(reasons, (size_t)c->reason_count), c->reasons[c->reason_count], sizeof *c->reasons);
    c->throttled = json_is_true(json_object_get(json, "throttled"));
    fields_read(RETAKEN, json, c);
}

static json_t *numbers_json(const double *numbers, size_t count) {
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++) json_array_append_new(list, json_number_or_null(numbers[i]));
    return list;
}

json_t *samples_json(const ModeTiming *timing) {
    json_t *json = json_pack("{s:o, s:o}", KEY_SAMPLES, numbers_json(timing->seconds, timing->count), KEY_SM_MHZ,
                             timing->sm_mhz ? numbers_json(timing->sm_mhz, timing->count) : json_null());
    fields_write(TIMED, timing, json);
    if (timing->between_seconds > 0) fields_write(BETWEEN, timing, json);
    if (timing->stopped[0]) fields_write(STOPPED, timing, json);
    if (timing->conditions.known) json_object_set_new(json, "circumstances", conditions_json(&timing->conditions));
    return json;
}

json_t *timing_json(const ModeTiming *timing) {
    json_t *json = samples_json(timing), *checked = timing->checked_count > 0 ? json_array() : NULL, *limit = json_null();
    for (size_t i = 0; i < timing->checked_count; i++)
        json_array_append_new(
            checked, json_pack("{s:I, s:i}", KEY_SAMPLE, (json_int_t)timing->checked[i].sample, KEY_SET, timing->checked[i].set));
    if (checked) {
        json_object_set_new(json, "checked", checked);
        json_object_set_new(json, "changed", json_real(timing->changed));
    }
    if (timing->clock_by) json_object_set_new(json, "clock_checked", json_boolean(timing->clock_by == CLOCK_BOTH));
    json_object_set_new(json, "count", json_integer((json_int_t)timing->count));
    fields_write(STATS, &timing->stats, json);
    fields_write(RATES, timing, json);
    if (timing->limit.kernel[0])
        limit = json_pack("{s:f, s:f, s:f, s:i, s:s, s:f}", KEY_SECONDS, timing->limit.seconds, KEY_BYTES_READ,
                          timing->limit.bytes_read, KEY_BYTES_WRITTEN, timing->limit.bytes_written, "sector_bytes",
                          timing->limit.sector_bytes, KEY_KERNEL, timing->limit.kernel, "share", timing->limit.share);
    json_object_set_new(json, "limit", limit);
    return json;
}

static double *numbers_read(const json_t *list, size_t count, bool or_zero) {
    double *numbers = allocate_zeros(count, sizeof *numbers);
    for (size_t i = 0; numbers && i < count; i++)
        numbers[i] = or_zero ? json_number_value(json_array_get(list, i)) : real_of(json_array_get(list, i));
    return numbers;
}

void timing_read(const json_t *json, ModeTiming timing[MODE_COUNT]) {
    for (int m = 0; m < MODE_COUNT; m++) {
        const json_t *mode = json_object_get(json, mode_name((Mode)m)), *samples = json_object_get(mode, KEY_SAMPLES),
                     *clocks = json_object_get(mode, KEY_SM_MHZ), *conditions = json_object_get(mode, "circumstances");
        ModeTiming *out = &timing[m];
        *out = (ModeTiming){.taken = json_is_object(mode), .bytes_per_second = NAN, .elements_per_second = NAN};
        fields_read(TIMED, mode, out);
        fields_read(BETWEEN, mode, out);
        fields_read(STOPPED, mode, out);
        out->seconds = numbers_read(samples, json_array_size(samples), true);
        out->count = out->seconds ? json_array_size(samples) : 0;
        if (json_is_array(clocks)) out->sm_mhz = numbers_read(clocks, out->count, false);
        if (json_is_object(conditions)) conditions_read(conditions, &out->conditions);
        out->stats = stats_of(out->seconds, out->count);
    }
}

void timing_single(ModeTiming *timing, double seconds, const char *clock_or_reason) {
    const bool known = isfinite(seconds);
    memory_free(timing->seconds);
    memory_free(timing->sm_mhz);
    *timing = (ModeTiming){.taken = true, .calls_per_sample = 1, .bytes_per_second = NAN, .elements_per_second = NAN};
    timing->seconds = numbers_read(NULL, 1, true);
    timing->count = timing->seconds && known;
    if (timing->count) timing->seconds[0] = seconds;
    snprintf(known ? timing->clock : timing->why_none, known ? sizeof timing->clock : sizeof timing->why_none, "%s",
             clock_or_reason);
    timing->stats = stats_of(timing->seconds, timing->count);
}

void timing_free(ModeTiming timing[MODE_COUNT]) {
    for (int m = 0; m < MODE_COUNT; m++) {
        memory_free(timing[m].seconds);
        memory_free(timing[m].sm_mhz);
        timing[m] = (ModeTiming){0};
    }
}

json_t *bits_json(const Bits *bits) {
    json_t *json = json_object();
    fields_write(BITS, bits, json);
    return json;
}

void bits_read(const json_t *json, Bits *bits) {
    *bits = (Bits){.apart = NAN};
    fields_read(BITS, json, bits);
}

json_t *bits_row_json(const Bits *bits, const char *reason) {
    const bool tried = !reason && (bits->differ || bits->calls >= BITS_FEWEST), same = tried && !bits->differ;
    const char *outcome = !tried ? "not tried" : same ? "same" : "differ";
    json_t *json = json_pack("{s:s, s:I, s:o, s:f}", "outcome", outcome, KEY_CALLS, (json_int_t)bits->calls, "excluded",
                             same ? json_real(3 / (double)bits->calls) : json_null(), KEY_SECONDS, bits->seconds);
    if (bits->differ)
        json_object_update_new(json, json_pack("{s:s, s:I, s:o}", KEY_OUTPUT, bits->output, KEY_ELEMENT, (json_int_t)bits->element,
                                               KEY_APART, json_number_or_null(bits->apart)));
    if (!tried) json_object_set_new(json, "reason", json_string(reason ? reason : "too few calls fit into a second"));
    return json;
}

json_t *energy_json(const Energy *energy) {
    json_t *json = json_object();
    fields_write(ENERGY, energy, json);
    return json;
}

void energy_read(const json_t *json, Energy *energy) {
    *energy = (Energy){.joules = NAN, .low = NAN, .high = NAN, .watts = NAN, .idle_watts = NAN, .sm_mhz = NAN};
    fields_read(ENERGY, json, energy);
}

void limits_read(const json_t *json, Limit out[MEASURE_MODE_COUNT]) {
    for (int m = 0; m < MEASURE_MODE_COUNT; m++) {
        out[m] = (Limit){.seconds = NAN};
        fields_read(LIMIT, json_object_get(json, mode_name((Mode)m)), &out[m]);
    }
}

json_t *limits_json(const Limit limits[MEASURE_MODE_COUNT], unsigned modes) {
    json_t *json = json_object();
    for (int m = 0; m < MEASURE_MODE_COUNT; m++) {
        if (!(modes & 1u << m)) continue;
        json_t *limit = json_object();
        fields_write(LIMIT, &limits[m], limit);
        json_object_set_new(json, mode_name((Mode)m), limit);
    }
    return json;
}
