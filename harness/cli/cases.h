/* cases.h - words of the command line that say what to run: scenarios and cases; what a run of them would make. */
#pragma once

#include "pipeline/run.h"
#include "plan/scenario.h"

/* For a case without its quotes, of which the shell made several words: STATUS_INVALID with the quoted case where a word that names
 * no scenario is an op, or where parameters follow it as words of their own. command: how the line begins, for the message ("rungs
 * run"). */
Status cases_check(const char *command, char *const *words, int count);
/* STATUS_INVALID if the case names a file of a function that cannot be one. */
Status case_check_function(const Case *problem);
/* Appends what the words name. Errors of cases_check, plan_add_case, plan_add_named and case_check_function. */
Status cases_plan(Plan *plan, const char *command, char *const *words, int count);
/* Does --devices name GPUs? Sets `device` to the first. Prints a usage error of the verb else. */
bool cases_devices_fit(const char *verb, RunOptions *options);

/* ---- dry_run.c: `rungs run --dry-run`, and that of `rungs reproduce`. */

/* Prints what a run of the plan would make: cases, variants, bytes, about how long. Writes no file and starts no worker but the one
 * that answers for supports(). The exit code: 3 for a plan without rows. */
int dry_run(Plan *plan, const RunOptions *options, bool as_json);
