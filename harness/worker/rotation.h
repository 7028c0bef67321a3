/* rotation.h - what a timed call works on: inputs that change from sample to sample, poisoned outputs, and samples whose outputs
 * the parent compares. Nothing of this is inside a sample's time.
 *
 * Slots are places for inputs on the device. With two, unchecked samples alternate between two sets, each in its slot;
 * without memory for two, sets are exchanged in the one slot, at checked samples. Before an unchecked sample one element is
 * overwritten as well, keeping its order to its neighbours (base/change.h), so that no two of them have the same inputs. */
#ifndef RUNGS_WORKER_ROTATION_H
#define RUNGS_WORKER_ROTATION_H

#include "measure/measure.h"
#include "worker/state.h"

/* Puts the inputs of `set` where the variant reads them. */
Status rotation_upload(Worker *worker, int set);
/* from, checks: from_set and checks of the command `time` (docs/PROTOCOL.md). Takes memory for a second slot; rotation_end() gives
 * it back. */
Status rotation_begin(Worker *worker, int from, const json_t *checks);
void rotation_end(Worker *worker);
/* MeasuredWork's before() and taken(); context: the Worker. */
Status rotation_before(void *context, const SamplePlace *place, int *slot);
Status rotation_taken(void *context, const SamplePlace *place);
/* Guards, and the inputs in every slot. */
Status rotation_check(Worker *worker);

#endif
