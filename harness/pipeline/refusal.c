#include "pipeline/refusal.h"

#include "base/interrupt.h"
#include "device/child.h"
#include "pipeline/commands.h"
#include "protocol.h"
#include "record/replies.h"

static Child *asked; /* NULL: none runs */

static Status ask(const VariantChoice *choice, const Case *problem, double timeout_seconds, Launch *launch) {
    const char *const argv[] = {"/proc/self/exe", "worker", NULL};
    if (!asked) TRY(child_start(&(ChildOptions){.argv = argv}, &asked));
    json_t *command = json_pack("{s:s, s:s, s:o, s:o, s:b}", KEY_DO, DO_SUPPORTS, KEY_VARIANT, choice->entry->id, KEY_TUNABLES,
                                params_json(&choice->tunables), KEY_CASE, case_json(problem), KEY_LAUNCH, launch != NULL),
           *reply = NULL;
    Status status = child_ask(asked, command, timeout_seconds, &reply);
    if (launch) *launch = reply_prepare(reply).launch;
    json_decref(command);
    json_decref(reply);
    if (status != STATUS_OK && status != STATUS_UNSUPPORTED) {
        refusal_close();
    } else if (!child_pause(asked)) {
        refusal_close();
        status = status_fail(STATUS_DEVICE, "started a process");
    }
    return status;
}

Status refusal_launch(const VariantChoice *choice, const Case *problem, double timeout_seconds, Launch *launch) {
    const bool fresh = !asked;
    Status status = ask(choice, problem, timeout_seconds, launch);
    const bool failed = status != STATUS_OK && status != STATUS_UNSUPPORTED;
    /* A variant that was asked before may have broken the process. */
    if (failed && !fresh && interrupt_check() == STATUS_OK) status = ask(choice, problem, timeout_seconds, launch);
    return status == STATUS_OK || status == STATUS_UNSUPPORTED ? status : status_prefix(status, "supports(): ");
}

Status refusal_ask(const VariantChoice *choice, const Case *problem, double timeout_seconds) {
    return refusal_launch(choice, problem, timeout_seconds, NULL);
}

void refusal_close(void) {
    child_stop(asked);
    asked = NULL;
}
