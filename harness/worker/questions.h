/* questions.h - what a worker answers without a case being open (docs/PROTOCOL.md). measure: NULL in programs that take no times.
 */
#ifndef RUNGS_WORKER_QUESTIONS_H
#define RUNGS_WORKER_QUESTIONS_H

#include "worker/state.h"

#include <jansson.h>

Status question_supports(const json_t *command, json_t *reply);
Status question_ceilings(Worker *worker, const WorkerMeasure *measure, const json_t *command, json_t *reply);
Status question_limit(Worker *worker, const WorkerMeasure *measure, const json_t *command, json_t *reply);
Status question_facts(const WorkerMeasure *measure, const json_t *command, json_t *reply);
Status question_counting(Worker *worker, const WorkerMeasure *measure, const json_t *command, json_t *reply);
/* arrays: the socket over which its files come. */
Status question_reference(int arrays, const json_t *command);

#endif
