/* session.h - a variant, an instance, and the worker that brings them together: what `run` and `exec` have in common. */
#pragma once

#include "base/mode.h"
#include "base/vary.h"
#include "device/child.h"
#include "device/shared.h"
#include "pipeline/run.h"
#include "plan/registry.h"
#include "record/row.h"
#include "verify/definitions.h"

/* ---- instance.c: a case made concrete: its sets of inputs, reference by its op, in memory that workers can map, and how commands
 * hand it over. Once per case, for all variants. */

enum { INSTANCE_MAX_BOUNDS = 8 };

/* Sets of inputs of a case, by number. FIRST is the case as given, whose errors the row reports. SECOND has the same family and
 * sizes with another seed, or is varied if a seed changes nothing (verify/families.h). Every timed call has data of its own, made
 * in the worker from these two and a key of the parent's (base/vary.h); the sets from VARIED on are those of timed samples that are
 * compared, VARIED_PER_MODE for each mode: their keys are drawn once for a case, so that its variants share references, and each
 * worker meets each of them in one sample. */
enum { VARIED_PER_MODE = 11 };
typedef enum DataSet { DATA_FIRST, DATA_SECOND, DATA_VARIED, DATA_COUNT = DATA_VARIED + VARIED_PER_MODE * MODE_FIRST } DataSet;
_Static_assert(DATA_COUNT - 1 == 56, "the largest `set` of a checked sample in record/row.schema.json");

typedef struct Instance {
    const Op *op;
    Case cases[DATA_COUNT];
    Array in[DATA_COUNT][OP_MAX_ARRAYS],
        out[OP_MAX_ARRAYS];     /* data points into the shared memory below; outputs at their largest */
    Array given[OP_MAX_ARRAYS]; /* the outputs with the sizes that the last run gave them: out, unless they are sized by data */
    Shared shared_in[DATA_COUNT][OP_MAX_ARRAYS], shared_out[OP_MAX_ARRAYS];
    bool loaded[DATA_COUNT]; /* the set's inputs are generated */
    uint64_t draw;           /* what the keys of varied sets follow from (pipeline/draw.h); 0: not drawn yet */
    int poison;              /* index into POISONS: what the outputs held before the last run */
    bool own_data;           /* inputs came from the user: there is only the first set */
    Reference reference[DATA_COUNT][INSTANCE_MAX_BOUNDS][OP_MAX_ARRAYS];
    Array exact[DATA_COUNT][INSTANCE_MAX_BOUNDS][OP_MAX_ARRAYS];                  /* the same for ops with exact() */
    double least_read[2][INSTANCE_MAX_BOUNDS];                                    /* on a CPU, a GPU; 0: not asked for yet */
    Definitions definitions[DATA_SECOND + 1][INSTANCE_MAX_BOUNDS][OP_MAX_ARRAYS]; /* of the outputs that have a bit in `defined` */
    unsigned defined[DATA_SECOND + 1][INSTANCE_MAX_BOUNDS];
} Instance;

/* Shapes only, for supports(): no memory is taken and nothing has to be destroyed. */
Status instance_shapes(const Case *problem, Instance *out);
/* Shapes and memory; STATUS_MEMORY with GiB needed and available if the host has not enough for data and reference. On failure *out
 * holds nothing (op is NULL). */
Status instance_create(const Op *op, const Case *problem, Instance *out);
void instance_destroy(Instance *instance);
/* Bytes of host memory that data and reference take in all. */
size_t instance_bytes(const Instance *instance);
/* Of the set's inputs alone. */
size_t instance_input_bytes(const Instance *instance, DataSet set);
/* The fewest bytes, of whole sectors, that a correct variant reads in a timed call (op.h), of the set that needs least. Asked once
 * for each bound: a pass over the inputs takes a second where there are many. */
double instance_least_read(Instance *instance, int bound, bool on_gpu);
/* Is it an optional output that the case has not: without elements beside a first one with some? */
bool instance_leaves_out(const Instance *instance, int output);
/* Is this output an array that is updated in place? */
bool instance_updates(const Instance *instance, int output);
/* Generates the set's inputs, and those of the sets that it is made from (nothing to do if they are there). */
Status instance_load(Instance *instance, DataSet set);
/* How many sets of inputs workers have: those before VARIED that are loaded. */
int instance_sets(const Instance *instance);
/* A varied set of timed calls in this mode, k < VARIED_PER_MODE. */
DataSet instance_varied(Mode mode, int k);
/* The key of a varied set. */
uint64_t instance_key(Instance *instance, DataSet set);
/* Forgets the varied sets: their keys are known to a worker. The next variant has others. */
void instance_redraw(Instance *instance);
/* Inputs and reference of one. */
void instance_forget(Instance *instance, DataSet set);
/* More than 1 GiB of inputs and outputs: one sample of a mode is compared, and inputs of varied sets do not stay. */
bool instance_is_large(const Instance *instance);
/* How each input's elements vary in timed calls (VaryHow), as commands have it. */
json_t *instance_vary(const Instance *instance);
/* Reference of the set under a bound, computed at its first use and kept; expensive ones also on disk, unless the user's own data
 * or code is in them. The user's code runs in a worker; what becomes of it is a Status with "the reference of this case: " in
 * front. Loads the set. */
Status instance_reference(Instance *instance, DataSet set, int bound, const Reference **out);
/* What the tolerances of an output tell on a set, FIRST or SECOND; found once. */
Status instance_definitions(Instance *instance, DataSet set, int bound, int output, Definitions *out);
/* Has the op a function in Python that judges outputs, instead of a reference? Then instance_check() has it judge instance->given:
 * STATUS_CHECK with what is wrong where. */
bool instance_has_checker(const Instance *instance);
Status instance_check(Instance *instance, DataSet set);
/* Has the set a reference under the bound? */
bool instance_has_reference(const Instance *instance, int set, int bound);
/* As instance_reference() for an op with exact(): the outputs as they must be, in their true sizes; never on disk. */
Status instance_exact(Instance *instance, DataSet set, int bound, const Array **out);
/* Marks the outputs in the shared memory as never written: they are shared by all variants of the case, and what one does not write
 * must not pass by what another left. */
void instance_poison(Instance *instance);
/* Output i has so many elements: as a worker says it of outputs sized by data. STATUS_CHECK if it cannot have. */
Status instance_given(Instance *instance, int index, size_t count);
/* Index of the op's bound of that name; 0 (the op's own) for NULL, -1 if there is none. */
int instance_bound(const Instance *instance, const char *name);
/* How long the user's code in a reference may take: 2.5 times as long as a call of a variant. Until set, as for calls of 120 s. */
void instance_allow(double call_seconds);

/* What the commands to workers have in common: the case, and arrays with the files behind them, in the order in which the command
 * numbers them. New references. */
typedef struct Handover {
    int count, file[SHARED_MAX_FILES];
} Handover;

/* {"text", "op", "params", "dtype", "input", "seed"}. */
json_t *case_json(const Case *problem);
/* [{"name", "dtype", "shape", "file"}, ...]; there is room for all arrays of any case. */
json_t *handover_arrays(Handover *handover, const Array *arrays, const Shared *shared, int count);

/* ---- reference_cache.c: references that took long, kept on disk by case. Best effort: whatever goes wrong, the reference is
 * computed again. */

/* An entry is bound to the case, the op's bound, the outputs' sizes, the inputs' bytes, and the program's build id, so that a
 * changed reference never meets an old one; it has a checksum. One that does not fit is removed. */
bool referencecache_load(const char *case_text, const Op *op, int bound, const Array *in, const Array *out, Reference *reference);
/* Does nothing for references that were quick to compute or when the cache is full ($RUNGS_CACHE, 8 GiB; else <build>/cache, 64
 * MiB), nor for one that would take a quarter of it. */
void referencecache_save(const char *case_text, const Op *op, int bound, const Array *in, const Array *out,
                         const Reference *reference, double seconds);

/* ---- session.c */

/* The worker of a variant, which may serve several cases, one after the other. {0}: none runs. */
typedef struct VariantWorker {
    Child *child;
    size_t served; /* cases that were opened in it */
    bool reusable; /* the last case went well and left nothing: another may follow. Otherwise the worker must be ended */
} VariantWorker;

typedef struct Session {
    const VariantChoice *choice;
    const PlanItem *item; /* NULL for exec */
    bool further;         /* process of the row, not its first */
    char **skipped;       /* why the row's first process was, which holds for the further ones too; *skipped is NULL: it was not */
    const Case *problem;
    const RunOptions *options;
    bool emulated;             /* in the emulator's program instead of on a GPU */
    const char *no_gpu_reason; /* NULL: there is a GPU */
    struct Limits *limits;     /* what the devices can do at most (pipeline/finish.c); NULL: rows get none */
    double deadline;           /* on the steady clock: nothing is counted after it */
    Instance *instance;        /* of the case; created when it is needed. The other variants of the case have it too */
    Row *row;                  /* NULL: it is left out */
    /* What evaluate() makes of it. */
    VariantWorker *worker;
    int bound;            /* index into the op's bounds */
    double began;         /* on the steady clock */
    size_t timed_calls;   /* how often calls were timed from outside */
    double first_seconds; /* the first call, by the worker's clock */
    Draw draw;            /* of its samples; zero: timing has not begun */
    bool refused;         /* skipped by what is known of the variant and the machine alone */
    bool decided;         /* the verdict is in the row */
    bool opened;          /* the case was opened in a worker */
    bool pending;         /* all is well so far: the verdict waits for the end of the worker, then finish_row() */
    /* For rows.c. */
    size_t index;   /* of the run's rows */
    double seconds; /* spent on it so far */
} Session;

/* The GPU that a run would use. no_gpu_reason is "" if there is one. */
bool gpu_there(int device, char *no_gpu_reason, size_t size);
/* Does it run on a GPU? Peers run where they say. */
bool session_on_gpu(const VariantEntry *entry, bool emulated);
/* Would the emulator run this choice? */
bool is_emulated(const VariantChoice *choice, ModuleKind emulator, bool has_gpu);

/* Ends the processes in which supports() is asked. */
void supports_close(void);
/* Reasons to skip that need no data: no GPU, supports(). STATUS_UNSUPPORTED with the reason; STATUS_OK: none; STATUS_INVALID with
 * the compiler's first error if there is no module; another Status if supports() crashed or hung. */
Status session_refused(const Session *session);
/* Starts the program that runs the choice, and waits for its first word: timeout_seconds, but ten at least. STATUS_UNSUPPORTED if
 * that program was not built; *child is NULL then. */
Status session_start(const Session *session, double timeout_seconds, Child **child);
/* Hands over the instance's memory and sends `open` to `prepare` (docs/PROTOCOL.md); prepared: what the last one said; may be NULL.
 * timeout_seconds: for the variant's own code; device and library have two minutes besides. */
Status session_open(const Session *session, Child *child, double timeout_seconds, PrepareReply *prepared);
/* Ends the case, after which another may be opened. *reusable: nothing is left of it that could disturb the next: no process, no
 * thread that runs, no 64 MiB of the device. */
Status session_end(Child *child, double timeout_seconds, bool *reusable);
/* The command `run` on the set's inputs, from the instance's poison. Takes the sizes of the outputs from the reply. */
Status session_run(const Session *session, DataSet set, Child *child, double timeout_seconds, RunReply *ran);
/* Takes the sizes of outputs sized by data from the reply to a `run`, or from a check. */
Status session_take_counts(Instance *instance, const json_t *reply);
