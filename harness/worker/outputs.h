/* outputs.h - one verified run in a worker, whichever way the outputs come about: into buffers of known size, or into blocks
 * that the variant allocates once the data has told it how large they are. */
#ifndef RUNGS_WORKER_OUTPUTS_H
#define RUNGS_WORKER_OUTPUTS_H

#include "worker/state.h"

#include <jansson.h>

/* run() as it is measured; context: the Worker. */
Status worker_call(void *context);
/* Waits for the work that the call began, and for what went wrong in it. */
Status worker_wait(const Worker *worker, const char *what);
/* Before a call: outputs at their largest and without data where run() allocates them; nothing of the last call is left. */
Status outputs_begin(Worker *worker, bool guarded);
/* After a call and its wait: what was handed over is right by its pointers and sizes, nothing else is left. */
Status outputs_end(Worker *worker);
/* After a timed sample, outside of its time: outputs_end(), and ready for the next; context: the Worker. */
Status outputs_after_sample(void *context);
/* Poisoned outputs, where they are ours, and, if asked for, scratch. */
Status outputs_poison(Worker *worker, bool scratch);
/* The guards of outputs, inputs and scratch; whether the inputs in use are those of `set`. */
Status outputs_check(const Worker *worker, int set);
/* After a call and its wait, which took `seconds`: the outputs go where the parent reads them, the very next thing; then nothing
 * may change them any more, for `patience` seconds at least where there are threads to do it (CPU). */
Status outputs_take(Worker *worker, double seconds, double patience);
/* Elements of each output that the last run gave. */
json_t *outputs_counts(const Worker *worker);
/* Runs once and leaves the outputs where the parent reads them; the reply gets `seconds` and, if the op's outputs are sized by
 * data, `counts`. The inputs are on the device. */
Status outputs_run(Worker *worker, json_t *reply);

#endif
