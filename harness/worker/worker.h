/* worker.h - the child half of the pipeline: obeys docs/PROTOCOL.md. Linked into rungs and into the emulator's programs. main()
 * calls worker_main(); the rest is for the files of this module. */
#pragma once

#include "base/launches.h"
#include "base/vary.h"
#include "device/memory.h"
#include "device/resource.h"
#include "device/shared.h"
#include "measure/measure.h"
#include "op.h"
#include "plan/registry.h"
#include "protocol.h"
#include "record/row.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

enum { WORKER_MAX_SETS = 2, INPUT_SETS = 2 };

/* What was handed over for one command. */
typedef struct Files {
    int count, fd[SHARED_MAX_FILES];
} Files;

/* The inputs in use (inputs.c). */
#define SPOILT_NONE SIZE_MAX
typedef struct Inputs {
    VaryHow how[OP_MAX_ARRAYS];            /* timed calls have them */
    void *sets[INPUT_SETS][OP_MAX_ARRAYS]; /* what they are made from, on the device; NULL: on the host */
    bool on_device;
    int set;                            /* of the inputs in use; -1: made from the key */
    uint64_t key;                       /* the parent's, of the sample */
    bool watched;                       /* the threads rested after the last sample, and have to until the next call */
    bool slow;                          /* a call takes so long that none warms the caches */
    Rewriting rewriting[OP_MAX_ARRAYS]; /* of those that vary, `rewritten` of them */
    int rewritten;
    double extreme[OP_MAX_ARRAYS][2]; /* of Rewriting */
    bool open;                        /* they can be written to until the next sample */
    size_t spoilt;                    /* the state whose outputs were spoilt last; SPOILT_NONE: of this sample none */
} Inputs;

/* Arrays that are updated in place (inputs.c). */
typedef struct InPlace {
    int count;
    int input[OP_MAX_ARRAYS]; /* of output j; -1: it is no such array */
    Buffer *copies;           /* `arrays` - 1 of each array, output after output; NULL: buffers_out alone */
    size_t arrays;            /* calls that have one of their own, at least 1 */
    size_t state;             /* of the call that comes next (base/vary.h); SIZE_MAX: that of a sample alone */
    size_t restored;          /* copies that the sample has */
} InPlace;

typedef struct Worker {
    FILE *commands, *replies;
    int arrays; /* the socket over which the files of a case come */
    const Device *device;
    bool opened;                          /* the device is, for all cases */
    int cases;                            /* that have ended */
    size_t in_use_first, in_use_prepared; /* of the device: after the first case; before prepare() */
    Files files;                          /* of the command `open`, while it is obeyed */
    const char *id;                       /* of the variant; NULL: no case is open */
    const Variant *variant;
    const VariantModule *module; /* it lies in this one */
    const Op *op;
    Case problem;
    Params tunables;
    Array in[OP_MAX_ARRAYS], out[OP_MAX_ARRAYS]; /* descriptions; data on the device */
    Array room[OP_MAX_ARRAYS];                   /* outputs as the command has them: at their largest, without data */
    Shared host_in[WORKER_MAX_SETS][OP_MAX_ARRAYS], host_out[OP_MAX_ARRAYS];
    int sets;                                                              /* of inputs, of the same shapes */
    Buffer buffers_in[OP_MAX_ARRAYS], buffers_out[OP_MAX_ARRAYS], scratch; /* buffers_out: not for an op with sized_by_data */
    Buffer device_counts;                                                  /* behind args.counts, for an op with sized_by_data */
    int in_count, out_count;
    size_t counts[OP_MAX_ARRAYS]; /* elements of the outputs that the last run gave */
    Resource *resource;           /* behind args.memory */
    ResourceCounts taken;         /* by the last run */
    Launches launched;            /* by the last run */
    int threads;                  /* that the last run used; 0: not known */
    VariantArgs args;
    bool prepared;
    bool uploaded;       /* for counting: the inputs are on the device and stay the same */
    bool left_out;       /* calls are, for what lies between them */
    bool ended;          /* outputs_end() was called for the last call */
    double call_seconds; /* of the last verified run */
    int runs;
    bool stream_checked; /* that the variant keeps to its stream */
    Inputs inputs;
    InPlace in_place;
} Worker;

static inline bool worker_on_host(const Worker *worker) {
    return strcmp(worker->device->kind, "cpu") == 0;
}

/* How samples are taken; a worker without it (the emulator's) verifies only. */
typedef struct WorkerMeasure {
    /* The reply's "timing" object for the modes of the command. */
    Status (*time)(const json_t *command, const Device *device, const MeasuredWork *work, json_t **timing);
    /* What so many calls of the mode hot take. */
    Status (*calls)(const Device *device, const MeasuredWork *work, size_t calls, double *seconds);
    /* Empties the caches of the CPU. Its memory stays until cool_end(). */
    Status (*cool)(void);
    void (*cool_end)(void);
    /* MeasuredWork's between() on a GPU; context: the Worker. */
    Status (*between)(void *context, size_t state, bool called);
    /* After the last: STATUS_CHECK if a call left what was spoilt for it. Another status is handed on. */
    Status (*between_end)(const Worker *worker, Status status);
    /* The reply's "ceilings" array. */
    Status (*ceilings)(const json_t *command, const Device *device, json_t **ceilings);
    /* The reply's "limit" object. */
    Status (*limit)(const json_t *command, const Device *device, json_t **limit);
    /* What only the CUDA runtime knows of a GPU: the keys of "gpu" in docs/RESULTS.md. */
    Status (*facts)(int device, json_t **gpu);
    /* Runs `run` with the device's stream blocked and tells whether any of the poisoned `outputs` changed all the same: work that
     * went to another stream. NULL: this device cannot say. */
    Status (*wrong_stream)(const Device *device, Status (*run)(void *), void *context, const Array *outputs, int count,
                           unsigned char poison, bool *stray);
    /* The reply's "counts" object for what a `count` asks (docs/PROTOCOL.md). */
    Status (*count)(const char *what, const Device *device, Status (*run)(void *), Status (*after)(void *), void *context,
                    json_t **counts);
    /* What the device has used since some moment, by a counter of its own, and its SM clock now (NaN: unknown). STATUS_UNSUPPORTED:
     * it has no such counter. */
    Status (*energy)(const Device *device, double *joules, double *sm_mhz);
    /* Before a call that took about so long: has other blocks, as `random` says, take processors of a GPU while it runs. */
    Status (*disturb)(const Device *device, uint64_t random, double call_seconds);
    void (*disturb_end)(void);
    /* What can be counted on a device: the reply's "counting" object. */
    Status (*can_count)(const json_t *command, const Device *device, json_t **answer);
} WorkerMeasure;

/* Arguments: --commands FD --replies FD --arrays FD. measure: NULL in programs that take no times. Returns the exit code. */
int worker_main(int argc, char **argv, const WorkerMeasure *measure);

/* ---- timing.c: the measure module. */
extern const WorkerMeasure TIMING;

/* What NVML says of a GPU at a moment: temperature, and why its clocks are held down. NaN: not known. */
typedef struct DeviceState {
    double celsius;
    unsigned long long reasons; /* NVML's nvmlClocksThrottleReason* bits */
} DeviceState;

/* uuid: "GPU-...". False if there is no NVML (libnvidia-ml.so.1, or what RUNGS_NVML names; empty: none), or it does not know the
 * device (MIG). */
bool conditions_now(const char *uuid, DeviceState *out);
/* Throttled: heat, a power brake or the hardware held the clocks down before or after. (The software power cap is the load's own
 * doing and is only named.) */
Conditions conditions_between(const DeviceState *before, const DeviceState *after);

/* ---- commands.c: lines of the protocol, and the parts of a command as the structures that they stand for. */

/* The next command; NULL if it is not JSON. False: the parent is gone. */
bool command_read(FILE *commands, json_t **command);
/* The same, awake (base/process.h): what follows is timed by who sends it. */
bool command_read_awake(FILE *commands, json_t **command);
/* Sends the reply and releases it. */
void command_reply(FILE *replies, json_t *reply);
Status command_params(const json_t *object, Params *params);
Status command_case(const json_t *object, Case *out);
/* Everything but the data. */
Status command_array(const json_t *item, Array *array);
/* Waits for the files of a command; they stay open until they are closed here. */
Status command_files(int arrays, Files *files);
void command_files_close(Files *files);
/* Maps the file that `key` of an array numbers. */
Status command_file(const Files *files, const json_t *item, const char *key, size_t bytes, bool writable, Shared *out);

/* ---- case.c: one case after the other: what is opened, prepared and, before the next, ended. */

/* `worker --describe PATH ID --replies FD`: writes what the module says of itself, as JSON. Returns the exit code. */
int module_describe(const char *path, const char *id, int replies);
/* Which variant, with which tunables, on which case the command means. The module with the variant is loaded, once; STATUS_INVALID:
 * it cannot be loaded, has no descriptor or that of another variant, or was compiled with other contract headers. */
Status case_choose(Worker *worker, const json_t *command);
/* What is ours: the device, if it is not open yet, the arrays that were handed over, guarded buffers. */
Status case_open(Worker *worker, const json_t *command);
/* STATUS_UNSUPPORTED with the reason: the dtype, or what its supports() says. */
Status variant_supports(const Variant *variant, const VariantArgs *args);
/* What is the variant's: supports(), scratch, prepare(). The reply gets `prepare_seconds` and `launch`. */
Status case_prepare(Worker *worker, json_t *reply);
/* release(), and everything of the case is given back, whatever was opened of it; the device stays open. STATUS_CHECK if release()
 * leaves memory that prepare() took. The reply gets `kept_bytes`: by how much more of the device is in use than after the first
 * case of this worker; and `restless`: threads do not come to rest. */
Status case_end(Worker *worker, json_t *reply);

/* ---- outputs.c: one verified run, whichever way the outputs come about: into buffers of known size, or into blocks that the
 * variant allocates once the data say how large they are. */

/* run() as it is measured; context: the Worker. */
Status worker_call(void *context);
/* Waits for the work that the call began, and for what went wrong in it. */
Status worker_wait(const Worker *worker, const char *what);
/* Before a call: outputs at their largest and without data where run() allocates them; nothing of the last call is left. */
Status outputs_begin(Worker *worker, bool guarded);
/* After a call: what it handed over is right by its pointers and sizes, and nothing else is left. */
Status outputs_end(Worker *worker);
/* Output i once a call is over: as run() set it, or as we gave it. */
const Array *outputs_array(const Worker *worker, int i);
/* After a timed sample, outside of its time: what was handed over is right by its pointers and sizes, nothing else is left, and all
 * is ready for the next; context: the Worker. */
Status outputs_after_sample(void *context);
/* Poisoned outputs, where they are ours, and, if asked for, scratch. */
Status outputs_poison(Worker *worker, bool scratch);
/* The guards of outputs, inputs and scratch; whether the inputs in use are as they were put there. */
Status outputs_check(const Worker *worker);
/* After a call and its wait, which took `seconds`: the outputs go where the parent reads them, the very next thing; then nothing
 * may change them any more: on a CPU the threads have to rest, and nobody handles signals. */
Status outputs_take(Worker *worker, double seconds);
/* Elements of each output that the last run gave. */
json_t *outputs_counts(const Worker *worker);
/* Runs once and leaves the outputs where the parent reads them; the reply gets `seconds` and, if the op's outputs are sized by
 * data, `counts`. The inputs are on the device. */
Status outputs_run(Worker *worker, json_t *reply);

/* ---- calls.c: calls after the samples. */

/* The command `bits`: are the outputs of repeated calls on the first inputs equal bit for bit? Ends with the first
 * call whose outputs differ, which the parent can read then. measure: NULL: nothing disturbs the calls. */
Status bits_take(Worker *worker, const json_t *command, const WorkerMeasure *measure, json_t *reply);

/* Of calls back to back on rewritten inputs, in windows from one tick of the device's counter to another; what it
 * uses without calls is taken off. The inputs of a key are in use, and their outputs are there afterwards. */
Status energy_take(Worker *worker, const MeasuredWork *work, const WorkerMeasure *measure, Energy *out);

/* ---- inputs.c: what a call reads. */

/* Puts the inputs of `set` where the variant reads them. */
Status inputs_upload(Worker *worker, int set);
/* vary: of the command `time` (docs/PROTOCOL.md). Takes memory of the device for two sets, if there is enough; inputs_end() gives
 * it back. */
Status inputs_begin(Worker *worker, const json_t *vary);
void inputs_end(Worker *worker);
/* Those of a key. */
Status inputs_make(Worker *worker, uint64_t key);
/* STATUS_CHECK if the inputs are not those that were put there. */
Status inputs_unchanged(const Worker *worker);

/* Arrays that run() updates: which they are, once they are open. */
void in_place_open(Worker *worker);
/* Before a call: the arrays are as they begin. */
Status in_place_restore(Worker *worker);
/* Of between(): the next call has the copy of this state. First of a sample, and where the copies are used up, they are restored.
 */
Status in_place_turn(Worker *worker, size_t state, bool called);
/* After a sample: STATUS_CHECK if a call did not update its copy, or wrote beside it. */
Status in_place_check(const Worker *worker);
/* The outputs that are none; returns how many. */
int in_place_others(const Worker *worker, Array out[OP_MAX_ARRAYS]);

/* ---- samples.c: before, between and after the calls of a sample, outside of its time: inputs of its own, poisoned outputs, and
 * outputs that the parent compares. MeasuredWork's functions; context: the Worker. */

Status sample_before(void *context, const SamplePlace *place);
/* On the CPU. */
Status sample_rested(void *context);
Status sample_between(void *context, size_t state, bool called);
Status sample_taken(void *context, const SamplePlace *place);

/* ---- threads.c: those of a CPU variant. */

/* Before and after a call: how many threads ran, the calling one included, by their CPU time; 0: unknown, because one has ended. */
void threads_begin(void);
int threads_end(void);
/* Is the variant done when run() has returned? Waits until every other thread of this process sleeps, and for `patience` seconds at
 * least (longer on a busy machine, where what is still to come is late too); *alone: there is no other thread. Threads of a pool
 * may spin for a moment before they sleep. STATUS_CHECK if one runs for half a second more (unless OMP_WAIT_POLICY=active has them
 * spin), or wakes up and works. */
/* Which threads are OpenMP's team, as it is now; and are there others? */
void threads_know_team(void);
bool threads_beside_team(void);
Status threads_rest(double patience, bool *alone);
/* Before the next call: STATUS_CHECK if one of those that rested then has run since. */
Status threads_rested(void);
