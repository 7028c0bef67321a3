#include "pipeline/refusal.h"

#include "base/interrupt.h"
#include "device/child.h"
#include "pipeline/rows.h"

static Child *asked; /* NULL: none runs */

static Status ask(const VariantChoice *choice, const Case *problem, double timeout_seconds, json_t **launch) {
    const char *const argv[] = {"/proc/self/exe", "worker", NULL};
    if (!asked) TRY(child_start(&(ChildOptions){.argv = argv}, &asked));
    json_t *command = json_pack("{s:s, s:s, s:o, s:o, s:b}", "do", "supports", "variant", choice->entry->id, "tunables",
                                row_params(&choice->tunables), "case", row_case(problem), "launch", launch != NULL),
           *reply = NULL;
    Status status = child_ask(asked, command, timeout_seconds, &reply);
    if (launch) *launch = json_incref(json_object_get(reply, "launch"));
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

Status refusal_launch(const VariantChoice *choice, const Case *problem, double timeout_seconds, json_t **launch) {
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
