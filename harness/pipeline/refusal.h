/* refusal.h - asks a variant's supports() in a process of its own, so that whatever it does costs its own row only. A
 * process answers for one variant; it stands still between two questions. */
#ifndef RUNGS_PIPELINE_REFUSAL_H
#define RUNGS_PIPELINE_REFUSAL_H

#include "base/case.h"
#include "plan/scenario.h"
#include "record/parts.h"

/* STATUS_OK: it supports the case. STATUS_UNSUPPORTED: the message is its reason. Otherwise "supports(): " and what became of the
 * process (device/child.h). */
Status refusal_ask(const VariantChoice *choice, const Case *problem, double timeout_seconds);
/* Also what configuration() reports for the case on the first device (docs/PROTOCOL.md). */
Status refusal_launch(const VariantChoice *choice, const Case *problem, double timeout_seconds, Launch *launch);
/* Ends the processes. */
void refusal_close(void);

#endif
