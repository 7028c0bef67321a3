#include "worker/worker.h"

#include "base/clock.h"
#include "base/numbers.h"
#include "base/ranges.h"
#include "device/confine.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { REPEATS = 12 };                            /* of prepare() to release(): what a leak takes, it takes every time */
static const size_t LEAK_LEAST = (size_t)1 << 20; /* of prepare(): malloc keeps small blocks that were released */
static const double REST_SECONDS = 0.02;          /* for threads to rest after release() */

/* ---- The module. */

static Status check_module(const char *path, const char *id, const VariantModule *module) {
    const char *slash = strchr(id, '/');
    const int op = slash ? (int)(slash - id) : 0;
    const char *name = slash ? slash + 1 : id;
    if (!module)
        return status_fail(STATUS_INVALID, "no descriptor; end the file with RUNGS_VARIANT(%.*s, %s) = {...};", op, id, name);
    if (strcmp(module->contract, CONTRACT) != 0)
        return status_fail(
            STATUS_INVALID,
            "%s was compiled with other headers of the contract (%s) than this program (%s): build the program again", path,
            module->contract, CONTRACT);
    const bool same_op = (int)strlen(module->op) == op && strncmp(module->op, id, (size_t)op) == 0;
    if (same_op && (strcmp(module->name, name) == 0 || strncmp(name, "try_", 4) == 0)) return STATUS_OK;
    return status_fail(STATUS_INVALID,
                       "the descriptor is RUNGS_VARIANT(%s, %s), the path requires RUNGS_VARIANT(%.*s, %s): change one of them",
                       module->op, module->name, op, id, name);
}

/* The C library does not always add the number's text. */
static bool lacks_memory(const char *why) {
    return strstr(why, strerror(ENOMEM)) || strstr(why, "cannot create shared object descriptor");
}

/* A worker loads one. Nothing that it defines is seen by the worker's own code; of the worker it sees the functions of base/. try_
 * names go with every descriptor of the op. on_gpu: CUDA is started. */
static Status module_load(const char *path, const char *id, bool on_gpu, const VariantModule **out) {
    static char loaded[4096];
    static const VariantModule *module;
    if (!loaded[0]) {
        if (!on_gpu && !confine_self(getenv("TMPDIR"), false))
            return status_fail(STATUS_IO, "cannot be kept from /proc/self/mem (Landlock): %s", strerror(errno));
        (void)confine_code(true);
        void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        const char *why = handle ? "" : dlerror();
        if (!handle) return status_fail(lacks_memory(why) ? STATUS_MEMORY : STATUS_INVALID, "cannot be loaded: %s", why);
        snprintf(loaded, sizeof loaded, "%s", path);
        module = dlsym(handle, RUNGS_MODULE_SYMBOL);
    }
    if (strcmp(loaded, path) != 0) return status_fail(STATUS_INTERNAL, "this worker has loaded %s", loaded);
    TRY(check_module(path, id, module));
    *out = module;
    return STATUS_OK;
}

static json_t *dtypes_json(const DType *dtypes) {
    json_t *out = dtypes ? json_array() : json_null();
    for (; dtypes && *dtypes != DTYPE_COUNT; dtypes++) json_array_append_new(out, json_string(dtype_name(*dtypes)));
    return out;
}

static json_t *tunables_json(const ParamSpec *specs) {
    json_t *out = json_array();
    for (const ParamSpec *spec = specs; spec && spec->name; spec++) {
        json_t *choices = spec->choices ? json_array() : json_null();
        for (const char *const *choice = spec->choices; choice && *choice; choice++)
            json_array_append_new(choices, json_string(*choice));
        json_array_append_new(out, json_pack("{s:s, s:s?, s:s, s:s?, s:f, s:f, s:o}", "name", spec->name, "summary", spec->summary,
                                             "kind", PARAM_KINDS[spec->kind], "default", spec->fallback, "min", spec->min, "max",
                                             spec->max, "choices", choices));
    }
    return out;
}

int module_describe(const char *path, const char *id, int replies) {
    const VariantModule *module = NULL;
    const Status status = module_load(path, id, true, &module);
    const Variant *variant = status == STATUS_OK ? module->variant : NULL;
    json_t *reply = variant ? json_pack("{s:s?, s:s?, s:s?, s:s?, s:s?, s:b, s:b, s:o, s:o}", "summary", variant->summary, "origin",
                                        variant->origin, "library", variant->library, "bound", variant->bound, "not_emulated",
                                        variant->not_emulated, "supports", variant->supports != NULL, "configuration",
                                        variant->configuration != NULL, "tunables", tunables_json(variant->tunables), "dtypes",
                                        dtypes_json(variant->dtypes))
                            : json_pack("{s:s}", "error", status_message());
    char *text = reply ? json_dumps(reply, JSON_COMPACT) : NULL;
    const bool written = text && dprintf(replies, "%s\n", text) > 0;
    return written ? 0 : 1;
}

/* ---- The beginning. */

static size_t in_use(const Worker *worker) {
    return worker->device->in_use ? worker->device->in_use() : 0;
}

/* Maps the arrays of the command and, unless buffers is NULL, makes a guarded buffer for each: arrays then describes those. */
static Status open_arrays(Worker *worker, const json_t *list, bool writable, Array *arrays, Shared *shared, Buffer *buffers,
                          int *count) {
    size_t i;
    json_t *item;
    if (json_array_size(list) > OP_MAX_ARRAYS) return status_fail(STATUS_INTERNAL, "open: more than %d arrays", OP_MAX_ARRAYS);
    json_array_foreach((json_t *)list, i, item) {
        Array *array = &arrays[i];
        TRY(command_array(item, array));
        TRY(command_file(&worker->files, item, KEY_FILE, array_bytes(array), writable, &shared[i]));
        *count = (int)i + 1;
        if (!buffers) continue;
        TRY(buffer_create(worker->device, array, &buffers[i]));
        *array = buffers[i].array;
    }
    return STATUS_OK;
}

/* {"device": "cuda", "blocks": 264, ...}, or null if the variant reports nothing. */
static Status report_launch(const Worker *worker, json_t *reply) {
    LaunchNotes notes = {0};
    if (worker->variant->configuration) TRY(worker->variant->configuration(&worker->args, &notes));
    const char *kind = worker->device ? worker->device->kind : worker->variant->backend == BACKEND_CPU ? "cpu" : "cuda";
    Launch launch = {0};
    snprintf(launch.device, sizeof launch.device, "%s", kind);
    for (int i = 0; i < notes.count; i++) launch_set(&launch, notes.notes[i].name, notes.notes[i].value);
    json_object_set_new(reply, KEY_LAUNCH, launch_json(&launch));
    return STATUS_OK;
}

/* Outputs sized by data come from the variant: only their descriptions are known, and room for them in the parent's memory. */
static Status open_outputs(Worker *worker, const json_t *command) {
    TRY(open_arrays(worker, json_object_get(command, KEY_OUTPUTS), true, worker->out, worker->host_out,
                    worker->op->sized_by_data ? NULL : worker->buffers_out, &worker->out_count));
    for (int i = 0; i < worker->out_count; i++) {
        worker->room[i] = worker->out[i];
        worker->room[i].data = NULL;
    }
    in_place_open(worker);
    return resource_create(worker->device,
                           params_has(&worker->tunables, "memory") ? params_text(&worker->tunables, "memory") : NULL,
                           &worker->resource);
}

/* Other data of the same shapes. They get to the device when they are needed. */
static Status open_further_sets(Worker *worker, const json_t *sets) {
    Array described[OP_MAX_ARRAYS];
    worker->sets = 1;
    for (size_t s = 0; s < json_array_size(sets) && worker->sets < WORKER_MAX_SETS; s++, worker->sets++) {
        int count = 0;
        TRY(open_arrays(worker, json_array_get(sets, s), false, described, worker->host_in[worker->sets], NULL, &count));
        for (int i = 0; i < worker->in_count; i++)
            if (count != worker->in_count || array_bytes(&described[i]) != worker->buffers_in[i].bytes)
                return status_fail(STATUS_INTERNAL, "open: the inputs of set %d have other shapes", worker->sets);
    }
    return STATUS_OK;
}

Status case_choose(Worker *worker, const json_t *command) {
    static char id[256];
    const char *named = json_string_value(json_object_get(command, KEY_VARIANT)),
               *path = json_string_value(json_object_get(command, KEY_MODULE));
    if (!named || !path) return status_fail(STATUS_INTERNAL, "a command without a variant or its module");
    snprintf(id, sizeof id, "%s", named);
    const char *kind = json_string_value(json_object_get(command, KEY_KIND));
    TRY(module_load(path, id, kind && strcmp(kind, "cuda") == 0, &worker->module));
    worker->id = id;
    worker->variant = worker->module->variant;
    TRY(command_case(json_object_get(command, KEY_CASE), &worker->problem));
    worker->op = registry_op(worker->problem.op);
    TRY(params_init(worker->variant->tunables, &worker->tunables));
    return command_params(json_object_get(command, KEY_TUNABLES), &worker->tunables);
}

/* What is ours of the beginning: the device, the arrays, guarded buffers. */
static Status open_case(Worker *worker, const json_t *command) {
    TRY(case_choose(worker, command));
    const Backend backend = worker->variant->backend;
    worker->device = backend == BACKEND_CPU ? device_cpu() : device_emulator() ? device_emulator() : device_cuda();
    if (!worker->device) return status_fail(STATUS_UNSUPPORTED, "this build of rungs has no CUDA");
    if (!worker->opened) TRY(worker->device->open((int)json_integer_value(json_object_get(command, KEY_DEVICE))));
    worker->opened = true;
    if (worker->module->use_device) TRY(worker->module->use_device((int)json_integer_value(json_object_get(command, KEY_DEVICE))));
    TRY(open_arrays(worker, json_object_get(command, KEY_INPUTS), false, worker->in, worker->host_in[0], worker->buffers_in,
                    &worker->in_count));
    TRY(open_further_sets(worker, json_object_get(command, KEY_FURTHER_INPUTS)));
    return open_outputs(worker, command);
}

Status case_open(Worker *worker, const json_t *command) {
    if (worker->id) return status_fail(STATUS_INTERNAL, "open: the previous case has not ended");
    const char *text = json_string_value(json_object_get(json_object_get(command, KEY_CASE), KEY_TEXT));
    ranges_begin("", text ? text : "a case"); /* to case_end() */
    TRY(command_files(worker->arrays, &worker->files));
    const Status status = open_case(worker, command);
    command_files_close(&worker->files);
    return status;
}

static bool is_listed(DType dtype, const DType *list) {
    for (; list && *list != DTYPE_COUNT; list++)
        if (*list == dtype) return true;
    return false;
}

static bool is_named(const char *name, const char *const *list) {
    for (; list && *list; list++)
        if (strcmp(*list, name) == 0) return true;
    return false;
}

/* Of a variant that says nothing, code is from before there were types of two bytes, and takes them for four. */
static bool takes(const Variant *variant, DType dtype) {
    return variant->dtypes ? is_listed(dtype, variant->dtypes) : !dtype_is_narrow(dtype);
}

Status variant_supports(const Variant *variant, const VariantArgs *args) {
    char reason[REASON_MAX] = "";
    if (!takes(variant, args->problem->dtype))
        return status_fail(STATUS_UNSUPPORTED, "does not take %s: .dtypes of its descriptor says what it takes",
                           dtype_name(args->problem->dtype));
    if (!case_is_usual(args->problem) && !is_listed(case_sums(args->problem), variant->accumulates))
        return status_fail(STATUS_UNSUPPORTED, "does not take accumulate=%s: .accumulates of its descriptor says what it takes",
                           dtype_name(case_sums(args->problem)));
    const Params *params = &args->problem->params;
    for (int i = 0; i < params->count; i++)
        if (params_chosen(params, i) && !is_named(params->specs[i].name, variant->options))
            return status_fail(STATUS_UNSUPPORTED, "does not take %s=%s: .options of its descriptor says what it takes",
                               params->specs[i].name, params->values[i].text);
    return variant->supports && !variant->supports(args, reason) ? status_fail(STATUS_UNSUPPORTED, "%s", reason) : STATUS_OK;
}

/* What is the variant's, under the time-out for its code. */
Status case_prepare(Worker *worker, json_t *reply) {
    if (!worker->id) return status_fail(STATUS_INTERNAL, "prepare before open");
    const Variant *variant = worker->variant;
    VariantArgs *args = &worker->args;
    *args = (VariantArgs){.problem = &worker->problem,
                          .tunables = &worker->tunables,
                          .in = worker->in,
                          .in_count = worker->in_count,
                          .out = worker->out,
                          .out_count = worker->out_count,
                          .stream = worker->device->stream(),
                          .memory = resource_memory(worker->resource)};
    TRY(variant_supports(variant, args));
    if (variant->scratch_bytes) {
        args->scratch_bytes = variant->scratch_bytes(args);
        const Array shape = array_1d("scratch", DTYPE_U8, args->scratch_bytes);
        TRY(buffer_create(worker->device, &shape, &worker->scratch));
        args->scratch = worker->scratch.array.data;
    }
    if (worker->op->sized_by_data) {
        const Array shape = array_1d("counts", DTYPE_I64, (size_t)worker->out_count);
        TRY(buffer_create(worker->device, &shape, &worker->device_counts));
        args->counts = worker->device_counts.array.data;
    }
    TRY(report_launch(worker, reply));
    worker->in_use_prepared = in_use(worker);
    json_object_set_new(reply, KEY_PREPARE_SECONDS, json_null());
    if (!variant->prepare) return STATUS_OK;
    const double begin = clock_seconds();
    TRY(variant->prepare(args, &args->state));
    worker->prepared = true;
    json_object_set_new(reply, KEY_PREPARE_SECONDS, json_real(clock_seconds() - begin));
    return STATUS_OK;
}

/* ---- The end. */

static void release(Worker *worker) {
    if (worker->prepared && worker->variant->release) worker->variant->release(worker->args.state);
    worker->prepared = false;
    worker->args.state = NULL;
}

/* By how much more is in use than before; 0 if that is too little to matter to the next case. */
static size_t growth(const Worker *worker, size_t before) {
    const size_t after = in_use(worker),
                 least = worker->device->in_use_step > LEAK_LEAST ? worker->device->in_use_step : LEAK_LEAST;
    return after > before && after - before >= least ? after - before : 0;
}

/* What release() does not give back of what prepare() took is a leak if it happens every time: libraries and drivers take some
 * once. */
static Status check_release(Worker *worker) {
    const Variant *variant = worker->variant;
    size_t grown = variant->prepare ? growth(worker, worker->in_use_prepared) : 0;
    for (int i = 0; i < REPEATS && grown > 0; i++) {
        const size_t before = in_use(worker);
        TRY(variant->prepare(&worker->args, &worker->args.state));
        worker->prepared = true;
        release(worker);
        TRY(worker->device->wait("release()"));
        grown = growth(worker, before);
    }
    return grown > 0 ? status_fail(STATUS_CHECK, "leaks memory: prepare() and release() end with %zu more bytes in use", grown)
                     : STATUS_OK;
}

static Status end_variant(Worker *worker) {
    const bool prepared = worker->prepared;
    if (!worker->id || !worker->device || !worker->opened) return STATUS_OK;
    release(worker);
    TRY(worker->device->wait("release()"));
    return prepared ? check_release(worker) : STATUS_OK;
}

static void free_case(Worker *worker) {
    for (int i = 0; i < worker->in_count; i++) buffer_destroy(&worker->buffers_in[i]);
    for (int i = 0; i < worker->out_count; i++) buffer_destroy(&worker->buffers_out[i]), shared_destroy(&worker->host_out[i]);
    for (int set = 0; set < WORKER_MAX_SETS; set++)
        for (int i = 0; i < OP_MAX_ARRAYS; i++) shared_destroy(&worker->host_in[set][i]);
    if (worker->scratch.base) buffer_destroy(&worker->scratch);
    if (worker->device_counts.base) buffer_destroy(&worker->device_counts);
    resource_destroy(worker->resource);
}

/* What would disturb the next case: memory that each case adds to, and threads that do not rest. */
static void report_rest(Worker *worker, size_t in_use_first, json_t *reply) {
    const size_t bytes = worker->opened ? in_use(worker) : 0;
    bool alone = true;
    worker->in_use_first = worker->cases > 1 ? in_use_first : bytes;
    const bool restless = worker->opened && worker_on_host(worker) && threads_rest(REST_SECONDS, &alone) != STATUS_OK;
    json_object_set_new(reply, KEY_KEPT_BYTES,
                        json_integer(bytes > worker->in_use_first ? (json_int_t)(bytes - worker->in_use_first) : 0));
    json_object_set_new(reply, KEY_RESTLESS, json_boolean(restless));
}

Status case_end(Worker *worker, json_t *reply) {
    const Status status = end_variant(worker);
    free_case(worker);
    const Worker next = {.commands = worker->commands,
                         .replies = worker->replies,
                         .arrays = worker->arrays,
                         .device = worker->device,
                         .opened = worker->opened,
                         .cases = worker->cases + 1};
    const size_t in_use_first = worker->in_use_first;
    *worker = next;
    report_rest(worker, in_use_first, reply);
    ranges_end();
    return status;
}
