#include "pipeline/session.h"

#include "base/places.h"
#include "base/poison.h"
#include "base/process.h"
#include "device/device.h"
#include "protocol.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const double HELLO_SECONDS = 10;                 /* for a process to start, at least */
static const double STARTUP_SECONDS = 120;              /* CUDA context, Python imports, the first use of CUPTI */
static const size_t KEPT_BYTES_MOST = (size_t)64 << 20; /* of the device that a worker may add to what its first case left in use */

/* ---- What is known before anything runs. */

bool gpu_there(int device, char *no_gpu_reason, size_t size) {
    const int gpus = device_cuda_count(no_gpu_reason, size);
    if (gpus > device) return true;
    if (gpus > 0) snprintf(no_gpu_reason, size, "--device %d: this machine has devices 0 to %d", device, gpus - 1);
    return false;
}

bool session_on_gpu(const VariantEntry *entry, bool emulated) {
    return !emulated && (entry->backend == BACKEND_CUDA || (entry->backend == BACKEND_PEER && entry->needs_gpu));
}

bool is_emulated(const VariantChoice *choice, ModuleKind emulator, bool has_gpu) {
    return choice->entry->backend == BACKEND_CUDA && (emulator != MODULE_NATIVE || !has_gpu);
}

/* Those that were asked last stand still: the cases of a plan ask the variants of an op in turn. */
enum { KEPT_MAX = 24 };
static struct {
    const VariantEntry *entry;
    Child *child; /* NULL: none runs */
} kept[KEPT_MAX];
static int oldest;

static void stop_kept(int k) {
    child_stop(kept[k].child);
    kept[k].child = NULL;
    kept[k].entry = NULL;
}

static int find_kept(const VariantEntry *entry) {
    for (int k = 0; k < KEPT_MAX; k++)
        if (kept[k].child && kept[k].entry == entry) return k;
    return -1;
}

/* The worker that loads modules of this kind. */
static void find_worker(ModuleKind kind, const char *argv[]) {
    static const char *const EMULATORS[] = {
        [MODULE_ASAN] = "rungs-emulator", [MODULE_RACE] = "rungs-emulator-race", [MODULE_MEMORY] = "rungs-emulator-memory"};
    argv[0] = kind == MODULE_NATIVE ? "/proc/self/exe" : places_beside(EMULATORS[kind]);
    argv[1] = kind == MODULE_NATIVE ? "worker" : NULL;
}

/* Of a module. */
static const char *device_of(const VariantEntry *entry) {
    return entry->backend == BACKEND_CPU ? "cpu" : "cuda";
}

static Status start_kept(const VariantEntry *entry, int *k) {
    const char *argv[3] = {0};
    find_worker(modules_kind(entry), argv);
    *k = oldest;
    oldest = (oldest + 1) % KEPT_MAX;
    stop_kept(*k);
    kept[*k].entry = entry;
    return child_start(&(ChildOptions){.argv = argv}, &kept[*k].child);
}

static Status ask(const VariantChoice *choice, const Case *problem, double timeout_seconds) {
    int k = find_kept(choice->entry);
    char path[PATH_MAX];
    if (k < 0) TRY(start_kept(choice->entry, &k));
    json_t *command =
               json_pack("{s:s, s:s, s:s, s:s, s:o, s:o}", KEY_DO, DO_SUPPORTS, KEY_VARIANT, choice->entry->id, KEY_KIND,
                         device_of(choice->entry), KEY_MODULE, modules_path(choice->entry, modules_kind(choice->entry), path),
                         KEY_TUNABLES, params_json(&choice->tunables), KEY_CASE, case_json(problem)),
           *reply = NULL;
    Status status = child_ask(kept[k].child, command, timeout_seconds, &reply);
    json_decref(reply);
    if (status != STATUS_OK && status != STATUS_UNSUPPORTED) {
        stop_kept(k);
    } else if (!child_pause(kept[k].child)) {
        stop_kept(k);
        status = status_fail(STATUS_DEVICE, "started a process");
    }
    return status;
}

/* Asks supports() in a process of its own, so that whatever it does costs its own row only. A process answers for one variant; it
 * stands still between two questions. STATUS_UNSUPPORTED: the message is its reason. Otherwise "supports(): " and what became of
 * the process (device/child.h). */
static Status supports_ask(const VariantChoice *choice, const Case *problem, double timeout_seconds) {
    const bool fresh = find_kept(choice->entry) < 0;
    Status status = ask(choice, problem, timeout_seconds);
    const bool failed = status != STATUS_OK && status != STATUS_UNSUPPORTED;
    /* What it was asked before may have broken the process. */
    if (failed && !fresh && interrupt_check() == STATUS_OK) status = ask(choice, problem, timeout_seconds);
    return status == STATUS_OK || status == STATUS_UNSUPPORTED ? status : status_prefix(status, "supports(): ");
}

void supports_close(void) {
    for (int k = 0; k < KEPT_MAX; k++) stop_kept(k);
}

/* Without options a GPU is thought of (cli/builds.c): whichever module there is answers for it. */
static ModuleKind kind_of(const Session *session) {
    if (!session->emulated) return MODULE_NATIVE;
    return session->options && session->options->emulator != MODULE_NATIVE ? session->options->emulator : MODULE_ASAN;
}

/* Where its code lies: "" for a peer. */
static const char *session_module(const Session *session, char path[PATH_MAX]) {
    path[0] = '\0';
    return session->choice->entry->backend == BACKEND_PEER ? path : modules_path(session->choice->entry, kind_of(session), path);
}

Status session_refused(const Session *session) {
    const VariantEntry *entry = session->choice->entry;
    const char *no_gpu = session->no_gpu_reason;
    if (session->skipped && *session->skipped) return status_fail(STATUS_UNSUPPORTED, "%s", *session->skipped);
    if (session->item && session->item->not_run) return status_fail(STATUS_UNSUPPORTED, "not run: %s", session->item->not_run);
    if (session->item && session->item->gpu_only && (session->emulated || no_gpu))
        return status_fail(STATUS_UNSUPPORTED, "this suite is for machines with a GPU%s%s", no_gpu ? ": " : "",
                           no_gpu ? no_gpu : "");
    if (entry->backend == BACKEND_PEER && entry->needs_gpu && no_gpu)
        return status_fail(STATUS_UNSUPPORTED, "needs a GPU: %s", no_gpu);
    if (session->emulated && entry->variant->not_emulated)
        return status_fail(STATUS_UNSUPPORTED, "not emulated: %s", entry->variant->not_emulated);
    if (entry->variant->error) return status_fail(STATUS_INVALID, "%s", entry->variant->error);
    const double timeout = session->options ? session->options->timeout_seconds : run_options_default().timeout_seconds;
    return entry->variant->supports ? supports_ask(session->choice, session->problem, timeout) : STATUS_OK;
}

/* ---- The worker. */

/* "--impls=FOLDER", where <op>/<name>.py of a peer lies: impls, or the folder of the tests' wrong variants. */
static const char *impls_of(const char *path) {
    static char argument[1024];
    if (path[0] == '/') { /* of `rungs try`: cmake/modules.py has copied it */
        snprintf(argument, sizeof argument, "--impls=%s", modules_tried());
        return argument;
    }
    snprintf(argument, sizeof argument, "--impls=%s/%s", places_project(""), path);
    for (int up = 0; up < 2; up++) *strrchr(argument, '/') = '\0';
    return argument;
}

static const char *measure_library(void) {
    static char argument[1024];
    snprintf(argument, sizeof argument, "--measure=%s", places_libraries("librungs_measure.so"));
    return argument;
}

static const char *const *worker_of(const Session *session) {
    static const char *argv[6];
    memset(argv, 0, sizeof argv);
    if (session->choice->entry->backend == BACKEND_PEER) {
        argv[0] = places_python();
        argv[1] = places_harness("harness/device/peer_worker.py");
        argv[2] = measure_library();
        argv[3] = impls_of(session->choice->entry->path);
    } else {
        find_worker(kind_of(session), argv);
    }
    return argv;
}

/* Asks for a command without arguments; its reply takes the place of the one before. */
static Status ask_next(Child *child, const char *what, double timeout_seconds, json_t **reply) {
    json_decref(*reply);
    return child_ask(child, json_pack("{s:s}", KEY_DO, what), timeout_seconds, reply);
}

Status session_start(const Session *session, double timeout_seconds, Child **child) {
    const char *const *argv = worker_of(session);
    json_t *reply = NULL;
    if (session->choice->entry->backend != BACKEND_PEER) TRY(modules_make(session->choice->entry, kind_of(session)));
    if (session->emulated && access(argv[0], X_OK) != 0)
        return status_fail(STATUS_UNSUPPORTED,
                           "the emulator was not built: ./rungs builds it where there is clang, the race detector's "
                           "when --emulator race asks for it");
    const ChildOptions options = {.argv = argv,
                                  .on_cpu = !session_on_gpu(session->choice->entry, session->emulated),
                                  .memory_limit = (size_t)session->options->memory_limit_bytes};
    TRY(child_start(&options, child));
    const Status status = ask_next(*child, DO_HELLO, fmax(timeout_seconds, HELLO_SECONDS), &reply);
    json_decref(reply);
    return status;
}

Status session_open(const Session *session, Child *child, double timeout_seconds, PrepareReply *prepared) {
    const Instance *instance = session->instance;
    const int in_count = instance->op->in_count;
    Handover handover = {0};
    for (int i = 0; i < instance->op->out_count; i++) shared_clear(&instance->shared_out[i]); /* of other workers */
    json_t *inputs = handover_arrays(&handover, instance->in[DATA_FIRST], instance->shared_in[DATA_FIRST], in_count),
           *further = json_array(), *reply = NULL;
    for (int set = DATA_FIRST + 1; set < instance_sets(instance); set++)
        json_array_append_new(further, handover_arrays(&handover, instance->in[set], instance->shared_in[set], in_count));
    json_t *outputs = handover_arrays(&handover, instance->out, instance->shared_out, instance->op->out_count);
    char module[PATH_MAX];
    json_t *command = json_pack(
        "{s:s, s:i, s:s, s:s, s:s, s:o, s:o, s:b, s:o, s:o, s:o}", KEY_DO, DO_OPEN, KEY_DEVICE, session->options->device, KEY_KIND,
        device_of(session->choice->entry), KEY_VARIANT, session->choice->entry->id, KEY_MODULE, session_module(session, module),
        KEY_TUNABLES, params_json(&session->choice->tunables), KEY_CASE, case_json(&instance->cases[DATA_FIRST]), KEY_SIZED_BY_DATA,
        instance->op->sized_by_data, KEY_INPUTS, inputs, KEY_FURTHER_INPUTS, further, KEY_OUTPUTS, outputs);
    child_hand(child, handover.file, handover.count);
    Status status = child_ask(child, command, STARTUP_SECONDS + timeout_seconds, &reply);
    const bool library = session->choice->entry->backend == BACKEND_PEER;
    if (status == STATUS_OK && library) status = ask_next(child, DO_SUPPORTS, timeout_seconds, &reply);
    if (status == STATUS_OK) status = ask_next(child, DO_PREPARE, timeout_seconds, &reply);
    if (status == STATUS_OK && prepared) *prepared = reply_prepare(reply);
    json_decref(reply);
    return status;
}

Status session_end(Child *child, double timeout_seconds, bool *reusable) {
    json_t *reply = NULL;
    size_t kept_bytes = 0;
    bool restless = true;
    *reusable = false;
    TRY(ask_next(child, DO_END, timeout_seconds, &reply));
    reply_end(reply, &kept_bytes, &restless);
    *reusable = kept_bytes < KEPT_BYTES_MOST && !restless && child_alone(child);
    json_decref(reply);
    return STATUS_OK;
}

Status session_take_counts(Instance *instance, const json_t *reply) {
    for (int i = 0; i < instance->op->out_count && instance->op->sized_by_data; i++) {
        size_t elements;
        if (!reply_elements(reply, i, &elements))
            return status_fail(STATUS_INTERNAL, "the worker does not say how many elements %s has", instance->out[i].name);
        TRY(instance_given(instance, i, elements));
    }
    return STATUS_OK;
}

Status session_run(const Session *session, DataSet set, Child *child, double timeout_seconds, RunReply *ran) {
    json_t *command =
               json_pack("{s:s, s:i, s:i}", KEY_DO, DO_RUN, KEY_SET, (int)set, KEY_POISON, POISONS[session->instance->poison]),
           *reply = NULL;
    Status status = child_ask(child, command, timeout_seconds, &reply);
    if (status == STATUS_OK) status = session_take_counts(session->instance, reply);
    if (status == STATUS_OK) *ran = reply_run(reply);
    json_decref(reply);
    return status;
}
