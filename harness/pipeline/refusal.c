#include "pipeline/refusal.h"

#include "base/interrupt.h"
#include "base/places.h"
#include "device/child.h"
#include "pipeline/commands.h"
#include "plan/modules.h"
#include "protocol.h"
#include "record/replies.h"

/* Those that were asked last stand still: the cases of a plan ask the variants of an op in turn. */
enum { KEPT_MAX = 24 };
static struct {
    const VariantEntry *entry;
    Child *child; /* NULL: none runs */
} kept[KEPT_MAX];
static int oldest;

static void stop(int k) {
    child_stop(kept[k].child);
    kept[k].child = NULL;
    kept[k].entry = NULL;
}

static int find(const VariantEntry *entry) {
    for (int k = 0; k < KEPT_MAX; k++)
        if (kept[k].child && kept[k].entry == entry) return k;
    return -1;
}

static Status start(const VariantEntry *entry, int *k) {
    static const char *const EMULATORS[] = {[MODULE_ASAN] = "rungs-emulator", [MODULE_RACE] = "rungs-emulator-race"};
    const ModuleKind kind = modules_kind(entry);
    const char *const argv[] = {kind == MODULE_NATIVE ? "/proc/self/exe" : places_beside(EMULATORS[kind]),
                                kind == MODULE_NATIVE ? "worker" : NULL, NULL};
    *k = oldest;
    oldest = (oldest + 1) % KEPT_MAX;
    stop(*k);
    kept[*k].entry = entry;
    return child_start(&(ChildOptions){.argv = argv}, &kept[*k].child);
}

static Status ask(const VariantChoice *choice, const Case *problem, double timeout_seconds, Launch *launch) {
    int k = find(choice->entry);
    char path[PATH_MAX];
    if (k < 0) TRY(start(choice->entry, &k));
    json_t *command = json_pack("{s:s, s:s, s:s, s:o, s:o, s:b}", KEY_DO, DO_SUPPORTS, KEY_VARIANT, choice->entry->id, KEY_MODULE,
                                modules_path(choice->entry, modules_kind(choice->entry), path), KEY_TUNABLES,
                                params_json(&choice->tunables), KEY_CASE, case_json(problem), KEY_LAUNCH, launch != NULL),
           *reply = NULL;
    Status status = child_ask(kept[k].child, command, timeout_seconds, &reply);
    if (launch) *launch = reply_prepare(reply).launch;
    json_decref(command);
    json_decref(reply);
    if (status != STATUS_OK && status != STATUS_UNSUPPORTED) {
        stop(k);
    } else if (!child_pause(kept[k].child)) {
        stop(k);
        status = status_fail(STATUS_DEVICE, "started a process");
    }
    return status;
}

Status refusal_launch(const VariantChoice *choice, const Case *problem, double timeout_seconds, Launch *launch) {
    const bool fresh = find(choice->entry) < 0;
    Status status = ask(choice, problem, timeout_seconds, launch);
    const bool failed = status != STATUS_OK && status != STATUS_UNSUPPORTED;
    /* What it was asked before may have broken the process. */
    if (failed && !fresh && interrupt_check() == STATUS_OK) status = ask(choice, problem, timeout_seconds, launch);
    return status == STATUS_OK || status == STATUS_UNSUPPORTED ? status : status_prefix(status, "supports(): ");
}

Status refusal_ask(const VariantChoice *choice, const Case *problem, double timeout_seconds) {
    return refusal_launch(choice, problem, timeout_seconds, NULL);
}

void refusal_close(void) {
    for (int k = 0; k < KEPT_MAX; k++) stop(k);
}
