#include "pipeline/session.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/numbers.h"
#include "base/places.h"
#include "base/poison.h"
#include "base/text.h"
#include "device/child.h"
#include "pipeline/draw.h"
#include "plan/case.h"
#include "plan/registry.h"
#include "protocol.h"
#include "record/row.h"
#include "verify/accumulate.h"
#include "verify/families.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const uint64_t SEED_STEP = UINT64_C(0x5851f42d); /* any odd step: seeds of sets only have to differ */
static const size_t LARGE_BYTES = (size_t)1 << 30;      /* of inputs and outputs */

/* ---- Handing over. */

json_t *case_json(const Case *problem) {
    char text[CASE_TEXT_MAX];
    json_t *options = json_array();
    for (int i = 0; i < problem->params.count; i++)
        if (params_chosen(&problem->params, i)) json_array_append_new(options, json_string(problem->params.specs[i].name));
    return json_pack("{s:s, s:s, s:o, s:s, s:s, s:I, s:o, s:s*}", KEY_TEXT, case_format(problem, text, sizeof text), KEY_OP,
                     problem->op, KEY_PARAMS, params_json(&problem->params), KEY_DTYPE, dtype_name(problem->dtype), KEY_INPUT,
                     problem->input, KEY_SEED, (json_int_t)problem->seed, KEY_OPTIONS, options, KEY_ACCUMULATE,
                     case_is_usual(problem) ? NULL : dtype_name(case_sums(problem)));
}

static int handover_file(Handover *handover, const Shared *shared) {
    handover->file[handover->count] = shared->fd;
    return handover->count++;
}

static json_t *shape_json(const Array *array) {
    json_t *shape = json_array();
    for (int d = 0; d < array->rank; d++) json_array_append_new(shape, json_integer((json_int_t)array->shape[d]));
    return shape;
}

json_t *handover_arrays(Handover *handover, const Array *arrays, const Shared *shared, int count) {
    json_t *list = json_array();
    for (int i = 0; i < count; i++) {
        json_array_append_new(list,
                              json_pack("{s:s, s:s, s:o, s:i}", KEY_NAME, arrays[i].name, KEY_DTYPE, dtype_name(arrays[i].dtype),
                                        KEY_SHAPE, shape_json(&arrays[i]), KEY_FILE, handover_file(handover, &shared[i])));
    }
    return list;
}

/* ---- Shapes, memory, inputs. */

size_t instance_bytes(const Instance *instance) {
    enum { INPUTS = 4, REFERENCES = 3 }; /* two sets, a varied one, what a CPU worker calls work on; one set and two varied ones */
    size_t bytes = 0;
    for (int i = 0; i < instance->op->in_count; i++) bytes += INPUTS * array_bytes(&instance->in[DATA_FIRST][i]);
    for (int i = 0; i < instance->op->out_count; i++) {
        const Array *out = &instance->out[i];
        const size_t reference = instance->op->exact ? array_bytes(out) : 2 * sizeof(double) * array_count(out);
        bytes += 2 * array_bytes(out) + REFERENCES * reference;
    }
    return bytes;
}

Status instance_shapes(const Case *problem, Instance *out) {
    const Op *op = registry_op(problem->op);
    *out = (Instance){.op = op};
    out->cases[DATA_FIRST] = *problem;
    return op->shapes(problem, out->in[DATA_FIRST], out->out);
}

static Status create_inputs(Instance *instance, DataSet set) {
    for (int i = 0; i < instance->op->in_count; i++) {
        Array *in = &instance->in[set][i];
        Shared *shared = &instance->shared_in[set][i];
        *in = instance->in[DATA_FIRST][i];
        TRY(shared_create(in->name, array_bytes(in), shared));
        TRY(shared_seal(shared, false)); /* what a variant is judged by is not in its hands */
        in->data = shared->data;
    }
    return STATUS_OK;
}

static Status create(Instance *out) {
    const Op *op = out->op;
    TRY(op->shapes(&out->cases[DATA_FIRST], out->in[DATA_FIRST], out->out));
    const size_t needed = instance_bytes(out), available = hostmemory_available_bytes();
    if (available && needed > available)
        return status_fail(STATUS_UNSUPPORTED,
                           "data and reference of this case need %.1f GiB of host memory, %.1f GiB are available",
                           (double)needed / 0x1p30, (double)available / 0x1p30);
    for (int set = DATA_VARIED; set-- > 0;) TRY(create_inputs(out, (DataSet)set)); /* untouched memory costs nothing */
    for (int i = 0; i < op->out_count; i++) {
        TRY(shared_create(out->out[i].name, array_bytes(&out->out[i]), &out->shared_out[i]));
        TRY(shared_seal(&out->shared_out[i], true));
        out->out[i].data = out->shared_out[i].data;
        out->given[i] = out->out[i];
    }
    return STATUS_OK;
}

Status instance_create(const Op *op, const Case *problem, Instance *out) {
    *out = (Instance){.op = op};
    for (int set = 0; set < DATA_COUNT; set++) {
        out->cases[set] = *problem;
        out->cases[set].seed += (uint64_t)set * SEED_STEP;
    }
    const Status status = create(out);
    if (status != STATUS_OK) instance_destroy(out);
    return status;
}

static void forget_reference(Reference reference[OP_MAX_ARRAYS]) {
    for (int i = 0; i < OP_MAX_ARRAYS; i++) {
        free(reference[i].value);
        free(reference[i].tolerance);
        reference[i] = (Reference){NULL, NULL};
    }
}

static void forget_exact(Array exact[OP_MAX_ARRAYS]) {
    for (int i = 0; i < OP_MAX_ARRAYS; i++) {
        free(exact[i].data);
        exact[i] = (Array){.data = NULL};
    }
}

void instance_destroy(Instance *instance) {
    for (int i = 0; i < OP_MAX_ARRAYS; i++) {
        for (int s = 0; s < DATA_COUNT; s++) shared_destroy(&instance->shared_in[s][i]);
        shared_destroy(&instance->shared_out[i]);
    }
    for (int s = 0; s < DATA_COUNT; s++)
        for (int b = 0; b < INSTANCE_MAX_BOUNDS; b++)
            forget_reference(instance->reference[s][b]), forget_exact(instance->exact[s][b]);
    *instance = (Instance){0};
}

int instance_sets(const Instance *instance) {
    int sets = 0;
    while (sets < DATA_VARIED && instance->loaded[sets]) sets++;
    return sets;
}

DataSet instance_varied(Mode mode, int k) {
    return (DataSet)(DATA_VARIED + VARIED_PER_MODE * (int)mode + k);
}

uint64_t instance_key(Instance *instance, DataSet set) {
    if (instance->draw == 0) instance->draw = draw_anew();
    return draw_set(instance->draw, set);
}

static VaryHow how_varied(const Instance *instance, int input) {
    return family_vary(instance->op, &instance->cases[DATA_FIRST], input, instance->in[DATA_FIRST]);
}

json_t *instance_vary(const Instance *instance) {
    json_t *inputs = json_array();
    for (int i = 0; i < instance->op->in_count; i++)
        json_array_append_new(inputs, json_integer((json_int_t)how_varied(instance, i)));
    return inputs;
}

/* ---- Asking the worker for references, or an op in Python for its inputs. */

/* The reference calls the user's function once per output, in long double, on one set of data: more than one call of a variant. */
static const double REFERENCE_CALLS = 2.5;
static double reference_seconds = 300;

void instance_allow(double call_seconds) {
    reference_seconds = REFERENCE_CALLS * call_seconds;
}

/* Values and tolerances of every array where the worker can write them. */
typedef struct Place {
    Shared value[OP_MAX_ARRAYS], tolerance[OP_MAX_ARRAYS];
} Place;

static void forget_place(Place *place) {
    for (int i = 0; i < OP_MAX_ARRAYS; i++) shared_destroy(&place->value[i]), shared_destroy(&place->tolerance[i]);
}

static const char *python_file(const PythonOp *python) {
    return python->file[0] == '/' ? python->file : places_project(python->file);
}

/* The command has what the worker is to know; this adds the places of the arrays. */
static Status ask_worker(const Op *op, json_t *command, Handover *handover, const Array *arrays, int count, Place *place) {
    json_t *references = json_array(), *reply = NULL;
    json_object_set_new(command, KEY_REFERENCES, references);
    for (int i = 0; i < count; i++) {
        const size_t bytes = sizeof(double) * array_count(&arrays[i]);
        TRY(shared_create("reference", bytes, &place->value[i]));
        TRY(shared_create("tolerance", bytes, &place->tolerance[i]));
        const int value = handover_file(handover, &place->value[i]), tolerance = handover_file(handover, &place->tolerance[i]);
        json_array_append_new(references, json_pack("{s:s, s:o, s:I, s:i, s:i}", KEY_NAME, arrays[i].name, KEY_SHAPE,
                                                    shape_json(&arrays[i]), KEY_COUNT, (json_int_t)array_count(&arrays[i]),
                                                    KEY_VALUE, value, KEY_TOLERANCE, tolerance));
    }
    Child *child = NULL;
    const PythonOp *python = registry_python(op);
    const char *const argv[] = {places_python(), places_harness("harness/device/reference_worker.py"),
                                python ? python_file(python) : NULL, NULL};
    TRY(child_start(&(ChildOptions){.argv = python ? argv : NULL}, &child));
    child_hand(child, handover->file, handover->count);
    const Status status = child_ask(child, command, reference_seconds, &reply);
    json_decref(reply);
    child_stop(child);
    return status;
}

/* What the op's own generate() makes of the inputs that a family filled, in Python: it gets the family's. */
static Status generate_in_worker(Instance *instance, DataSet set) {
    const Op *op = instance->op;
    Array *in = instance->in[set];
    Handover handover = {0};
    Place place = {0};
    json_t *inputs = handover_arrays(&handover, in, instance->shared_in[set], op->in_count);
    json_t *command =
        json_pack("{s:s, s:o, s:o}", KEY_DO, DO_GENERATE, KEY_CASE, case_json(&instance->cases[set]), KEY_INPUTS, inputs);
    const Status status = ask_worker(op, command, &handover, in, op->in_count, &place);
    for (int i = 0; i < op->in_count && status == STATUS_OK; i++)
        for (size_t k = 0; k < array_count(&in[i]); k++) number_put(&in[i], k, ((const double *)place.value[i].data)[k]);
    forget_place(&place);
    return status_prefix(status, "generate() of this op: ");
}

static Status generate(Instance *instance, DataSet set) {
    const Case *named = &instance->cases[DATA_FIRST], *problem = &instance->cases[set];
    const PythonOp *python = registry_python(instance->op);
    for (int i = 0; i < instance->op->in_count; i++) {
        Array *in = &instance->in[set][i];
        TRY(set == DATA_FIRST ? family_input(instance->op, named, i, in) : family_input_anew(instance->op, named, problem, i, in));
    }
    return python && python->generates ? generate_in_worker(instance, set) : STATUS_OK;
}

/* Do both sets begin alike? That tells whether two seeds gave the same numbers. */
static bool same_data(const Instance *instance, DataSet set) {
    enum { LOOK_BYTES = 65536 };
    size_t all = 0;
    for (int i = 0; i < instance->op->in_count; i++) {
        const Array *first = &instance->in[DATA_FIRST][i], *other = &instance->in[set][i];
        const size_t bytes = array_bytes(first);
        if (memcmp(first->data, other->data, bytes < LOOK_BYTES ? bytes : LOOK_BYTES) != 0) return false;
        all += bytes;
    }
    return all > 0;
}

/* Two seeds may give the same numbers if there are few to choose from: one value for a whole array, or one element. */
static Status load_other(Instance *instance, DataSet set) {
    enum { SEEDS = 4 };
    for (int seeds = 0; seeds < SEEDS; seeds++) {
        TRY(generate(instance, set));
        if (!same_data(instance, set)) break;
        instance->cases[set].seed += DATA_COUNT * SEED_STEP;
    }
    return STATUS_OK;
}

static Status load_varied(Instance *instance, DataSet set) {
    const uint64_t key = instance_key(instance, set);
    TRY(instance_load(instance, DATA_SECOND));
    instance->cases[set] = instance->cases[DATA_FIRST];
    TRY(create_inputs(instance, set));
    for (int i = 0; i < instance->op->in_count; i++) {
        const Array *first = &instance->in[DATA_FIRST][i], *second = &instance->in[DATA_SECOND][i];
        const Vary how = vary_input(how_varied(instance, i), key, i, instance->in[DATA_FIRST]);
        vary_all(&how, first->dtype, array_count(first), first->data, second->data, instance->in[set][i].data);
    }
    return STATUS_OK;
}

static void forget_inputs(Instance *instance, DataSet set) {
    for (int i = 0; i < instance->op->in_count; i++) {
        shared_destroy(&instance->shared_in[set][i]);
        instance->in[set][i].data = NULL;
    }
    instance->loaded[set] = false;
}

void instance_forget(Instance *instance, DataSet set) {
    forget_inputs(instance, set);
    for (int b = 0; b < INSTANCE_MAX_BOUNDS; b++)
        forget_reference(instance->reference[set][b]), forget_exact(instance->exact[set][b]);
}

void instance_redraw(Instance *instance) {
    for (int set = DATA_VARIED; set < DATA_COUNT; set++) instance_forget(instance, (DataSet)set);
    instance->draw = 0;
}

size_t instance_input_bytes(const Instance *instance, DataSet set) {
    size_t bytes = 0;
    for (int i = 0; i < instance->op->in_count; i++) bytes += array_bytes(&instance->in[set][i]);
    return bytes;
}

bool instance_is_large(const Instance *instance) {
    size_t bytes = instance_input_bytes(instance, DATA_FIRST);
    for (int i = 0; i < instance->op->out_count; i++) bytes += array_bytes(&instance->out[i]);
    return bytes > LARGE_BYTES;
}

Status instance_load(Instance *instance, DataSet set) {
    if (instance->own_data && set != DATA_FIRST) return status_fail(STATUS_INTERNAL, "the user's own data has no second set");
    if (instance->loaded[set] || instance->own_data) return STATUS_OK;
    if (set != DATA_FIRST) TRY(instance_load(instance, DATA_FIRST));
    const Status status = set == DATA_FIRST    ? generate(instance, set)
                          : set == DATA_SECOND ? load_other(instance, set)
                                               : load_varied(instance, set);
    if (status != STATUS_OK && set >= DATA_VARIED) forget_inputs(instance, set);
    TRY(status);
    instance->loaded[set] = true;
    return STATUS_OK;
}

int instance_bound(const Instance *instance, const char *name) {
    if (!name) return 0;
    for (int b = 0; instance->op->bounds[b].name && b < INSTANCE_MAX_BOUNDS; b++)
        if (strcmp(instance->op->bounds[b].name, name) == 0) return b;
    return -1;
}

/* ---- The reference. */

/* For ops whose reference is in Python or calls the user's own code, which may crash or hang at its own cost only. in[i] lives in
 * shared_in[i]. */
static Status reference_in_worker(const Op *op, const Case *problem, const Array *in, const Shared *shared_in, const Array *out,
                                  int bound, Reference *reference) {
    Handover handover = {0};
    Place place = {0};
    json_t *inputs = handover_arrays(&handover, in, shared_in, op->in_count);
    json_t *command =
        json_pack("{s:s, s:o, s:i, s:o}", KEY_DO, DO_REFERENCE, KEY_CASE, case_json(problem), KEY_BOUND, bound, KEY_INPUTS, inputs);
    const Status status = ask_worker(op, command, &handover, out, op->out_count, &place);
    for (int i = 0; i < op->out_count && status == STATUS_OK; i++) {
        memcpy(reference[i].value, place.value[i].data, place.value[i].bytes);
        memcpy(reference[i].tolerance, place.tolerance[i].data, place.tolerance[i].bytes);
    }
    forget_place(&place);
    /* A crash, a hang, no readable file, an answer that is none: all of it is this case's fault and not the program's. */
    const Status code = status == STATUS_IO || status == STATUS_INTERNAL ? STATUS_DEVICE : status;
    return status_prefix(code, "the reference of this case: ");
}

bool instance_has_checker(const Instance *instance) {
    return registry_python(instance->op) && strcmp(instance->op->bounds[0].name, "check") == 0;
}

Status instance_check(Instance *instance, DataSet set) {
    const Op *op = instance->op;
    Handover handover = {0};
    Child *child = NULL;
    json_t *reply = NULL;
    TRY(instance_load(instance, set));
    const char *const argv[] = {places_python(), places_harness("harness/device/reference_worker.py"),
                                python_file(registry_python(op)), NULL};
    TRY(child_start(&(ChildOptions){.argv = argv}, &child));
    json_t *inputs = handover_arrays(&handover, instance->in[set], instance->shared_in[set], op->in_count);
    json_t *outputs = handover_arrays(&handover, instance->given, instance->shared_out, op->out_count);
    json_t *command = json_pack("{s:s, s:o, s:o, s:o}", KEY_DO, DO_REFERENCE, KEY_CASE, case_json(&instance->cases[set]),
                                KEY_INPUTS, inputs, KEY_OUTPUTS, outputs);
    child_hand(child, handover.file, handover.count);
    const Status status = child_ask(child, command, reference_seconds, &reply);
    json_decref(reply);
    child_stop(child);
    if (status == STATUS_OK || status == STATUS_CHECK) return status;
    return status_prefix(status == STATUS_IO || status == STATUS_INTERNAL ? STATUS_DEVICE : status, "check() of this op: ");
}

static Status compute_reference(const Instance *instance, DataSet set, int bound, Reference *reference) {
    const Op *op = instance->op;
    const Case *c = &instance->cases[set];
    const Array *in = instance->in[set];
    if (!registry_python(op)) return accumulated_reference(op, c, in, instance->out, bound, reference);
    TRY(reference_in_worker(op, c, in, instance->shared_in[set], instance->out, bound, reference));
    accumulated_round(op, c, instance->out, reference);
    return STATUS_OK;
}

/* The case, and the text of a reference in Python, which may change while the program stays. */
static Status reference_key(const Op *op, const Case *problem, char *key, size_t size) {
    const PythonOp *python = registry_python(op);
    char *text;
    size_t bytes;
    case_format(problem, key, size);
    if (!python) return STATUS_OK;
    TRY(text_read_file(python_file(python), &text, &bytes));
    const size_t length = strlen(key);
    snprintf(key + length, size - length, " %016" PRIx64, hash_bytes(HASH_START, text, bytes));
    free(text);
    return STATUS_OK;
}

static Status allocate_reference(const Instance *instance, Reference *reference) {
    for (int i = 0; i < instance->op->out_count; i++) {
        const size_t bytes = sizeof(double) * array_count(&instance->out[i]);
        reference[i].value = hostmemory_allocate(bytes);
        reference[i].tolerance = hostmemory_allocate(bytes);
        if (!reference[i].value || !reference[i].tolerance)
            return status_fail(STATUS_MEMORY, "no memory for the reference of '%s': twice %zu bytes", instance->out[i].name, bytes);
    }
    return STATUS_OK;
}

static Status make_reference(const Instance *instance, DataSet set, int bound, Reference *reference) {
    const Op *op = instance->op;
    const Case *c = &instance->cases[set];
    const Array *in = instance->in[set];
    TRY(allocate_reference(instance, reference));
    /* The user's function is a file that may change while its path stays: such a reference is not kept on disk. */
    if (op->runs_user_code && op->runs_user_code(c))
        return reference_in_worker(op, c, in, instance->shared_in[set], instance->out, bound, reference);
    if (instance->own_data || set >= DATA_VARIED) return compute_reference(instance, set, bound, reference);
    char key[CASE_TEXT_MAX + 32];
    TRY(reference_key(op, c, key, sizeof key));
    if (referencecache_load(key, op, bound, in, instance->out, reference)) return STATUS_OK;
    const double begin = clock_seconds();
    TRY(compute_reference(instance, set, bound, reference));
    referencecache_save(key, op, bound, in, instance->out, reference, clock_seconds() - begin);
    return STATUS_OK;
}

Status instance_reference(Instance *instance, DataSet set, int bound, const Reference **out) {
    Reference *reference = instance->reference[set][bound];
    *out = reference;
    if (instance->op->out_count == 0 || reference[0].value) return STATUS_OK;
    TRY(instance_load(instance, set));
    const Status status = make_reference(instance, set, bound, reference);
    if (set >= DATA_VARIED && instance_is_large(instance)) forget_inputs(instance, set);
    if (status != STATUS_OK) forget_reference(reference); /* half a reference must not pass for one at the next variant */
    return status;
}

Status instance_definitions(Instance *instance, DataSet set, int bound, int output, Definitions *out) {
    Definitions *known = &instance->definitions[set][bound][output];
    if (!(instance->defined[set][bound] & 1u << output)) {
        const Reference *reference;
        TRY(instance_reference(instance, set, bound, &reference));
        TRY(definitions_rejected(instance->op, &instance->cases[set], instance->in[set], instance->out, reference, output, known));
        instance->defined[set][bound] |= 1u << output;
    }
    *out = *known;
    return STATUS_OK;
}

static Status make_exact(const Instance *instance, DataSet set, int bound, Array *exact) {
    for (int i = 0; i < instance->op->out_count; i++) {
        const size_t bytes = array_bytes(&instance->out[i]);
        exact[i] = instance->out[i];
        exact[i].data = hostmemory_allocate(bytes);
        if (!exact[i].data)
            return status_fail(STATUS_MEMORY, "no memory for the reference of '%s': %zu bytes", exact[i].name, bytes);
    }
    TRY(instance->op->exact(&instance->cases[set], instance->in[set], bound, exact));
    for (int i = 0; i < instance->op->out_count; i++) { /* what was too much room goes back */
        void *fitting = realloc(exact[i].data, array_bytes(&exact[i]) + 1);
        if (fitting) exact[i].data = fitting;
    }
    return STATUS_OK;
}

Status instance_exact(Instance *instance, DataSet set, int bound, const Array **out) {
    Array *exact = instance->exact[set][bound];
    *out = exact;
    if (instance->op->out_count == 0 || exact[0].data) return STATUS_OK;
    TRY(instance_load(instance, set));
    const Status status = make_exact(instance, set, bound, exact);
    if (status != STATUS_OK) forget_exact(exact);
    return status;
}

bool instance_has_reference(const Instance *instance, int set, int bound) {
    return instance->reference[set][bound][0].value || instance->exact[set][bound][0].data;
}

/* A few elements suffice: they count as never written. */
void instance_poison(Instance *instance) {
    enum { POISONED_BYTES = 4096 };
    for (int i = 0; i < instance->op->out_count; i++) {
        const size_t bytes = array_bytes(&instance->out[i]);
        memset(instance->out[i].data, POISONS[instance->poison], bytes < POISONED_BYTES ? bytes : POISONED_BYTES);
    }
}

Status instance_given(Instance *instance, int index, size_t count) {
    const Array *out = &instance->out[index];
    Array *given = &instance->given[index];
    const size_t most = array_count(out), row = out->rank > 0 && out->shape[0] > 0 ? most / out->shape[0] : 1;
    if (count > most || out->rank == 0 || row == 0 || count % row != 0)
        return status_fail(STATUS_CHECK, "output %s of %zu elements: at most %zu are possible", out->name, count, most);
    *given = *out;
    given->shape[0] = count / row;
    return STATUS_OK;
}

bool instance_leaves_out(const Instance *instance, int output) {
    const Array *out = instance->out;
    return !instance->op->sized_by_data && array_count(&out[output]) == 0 && array_count(&out[0]) > 0;
}

bool instance_updates(const Instance *instance, int output) {
    const Op *op = instance->op;
    return !op->sized_by_data && array_updated(&instance->out[output], instance->in[DATA_FIRST], op->in_count) >= 0;
}

_Static_assert((int)READS_MAX_INPUTS >= (int)OP_MAX_ARRAYS, "every input of an op has a place in Reads");

static double least_read(const Instance *instance, DataSet set, int bound, int sector_bytes) {
    const Op *op = instance->op;
    if (!op->least_read) return (double)instance_input_bytes(instance, set);
    Reads reads = {0};
    while (1 << reads.shift < sector_bytes) reads.shift++;
    op->least_read(&instance->cases[set], instance->in[set], bound, &reads);
    return reads_bytes(&reads, instance->in[set], op->in_count);
}

double instance_least_read(Instance *instance, int bound, bool on_gpu) {
    double *known = &instance->least_read[on_gpu][bound], least = INFINITY;
    for (int s = DATA_FIRST; *known == 0 && s < DATA_COUNT; s++)
        if (instance->loaded[s]) least = fmin(least, least_read(instance, (DataSet)s, bound, limit_sector_bytes(on_gpu)));
    if (*known == 0) *known = least;
    return *known;
}
