/* run.h - a run under way: what it is asked for, what it tells of itself, and in which order it makes the items of its plan. The
 * floor of the pipeline. */
#pragma once

#include "pipeline/draw.h"
#include "plan/scenario.h"
#include "record/row.h"

#include <stdbool.h>

enum { DEVICES_MAX = 16 };
enum { BITS_AS_FIT = -1 }; /* 100 to 1000 calls; none where no_ceilings says that rows are only compared */

typedef struct RunEvent RunEvent;
struct Session;

typedef struct RunOptions {
    int argc;
    char **argv;     /* for the environment line */
    const char *out; /* results file */
    int device;
    const char *devices; /* "0,1" or "all": several GPUs, side by side (devices.c); NULL: `device` */
    bool verify_only;
    bool no_ceilings;          /* the limits of the machine are not measured: for runs that are only compared with one another */
    bool shared_workers;       /* a worker serves all cases of a variant in a scenario; false: one worker per row */
    int bit_calls;             /* whose bits are compared after timing: BITS_AS_FIT; 0: none */
    bool energy;               /* of calls is measured after timing */
    bool no_counts;            /* nothing is counted after timing */
    ModuleKind emulator;       /* MODULE_NATIVE: if there is no GPU; or force one of the emulator's programs for CUDA variants */
    bool resume;               /* leave out what the results file already holds */
    bool one_campaign;         /* resume refuses rows of another commit or machine */
    double budget_seconds;     /* start no new row after it; 0: none */
    size_t least_rows;         /* that are made even so */
    double timeout_seconds;    /* for one call of a variant */
    double memory_limit_bytes; /* a worker's host memory; 0: what the machine has */
    size_t min_samples, max_samples;
    double seconds_per_mode;
    double precision; /* samples end once half of the median's interval is this share of it, too; 0: their number is fixed */
    Draw draw;        /* of every row; zero: each has its own */
    /* Called before what takes a while (a row without a verdict yet, ceilings), after each row and claim, and for what a person
     * should know besides; may be NULL. */
    void (*begin)(void *context, const RunEvent *event);
    void (*report)(void *context, const RunEvent *event);
    void (*notice)(void *context, const char *text);
    void *context;
} RunOptions;

struct RunEvent {
    size_t index, total; /* row index of total */
    /* One of them, which was just written or begins. */
    const Row *row;
    const json_t *line; /* of a row that another process made, which has all of it; else NULL */
    const json_t *claim;
    const char *peaks; /* kind of device whose peaks are measured */
    bool refused;      /* a skip for what the variant or the machine cannot do, known before anything ran */
    size_t failures;   /* rows so far that failed or ended with an error */
    double eta_seconds;
};

typedef struct RunSummary {
    size_t total, passed, failed, skipped, errors, resumed, left_by_budget;
    size_t timed, emulated;
    size_t repeated;    /* emulated cases that several cases of the plan shrink to: run once */
    ClaimTotals claims; /* judged */
    bool rows_moved;    /* the file of rows was moved or removed; the message of the run's status says where they are */
    bool has_gpu;
    char no_gpu_reason[256];
} RunSummary;

/* Defaults: one device, no budget, 120 s a call, 9..101 samples, 1 s a mode. */
RunOptions run_options_default(void);

/* ---- resume.c: what is known of rows by case and variant: those that a results file already holds, what they took, and what was
 * counted of them. What a call launches, moves and allocates is alike in every process. */

typedef enum ResumeAnswer {
    RESUME_RUN,     /* not there */
    RESUME_DONE,    /* an earlier run wrote it */
    RESUME_REPEATED /* emulated in this run already: several sizes may shrink to one emulated case */
} ResumeAnswer;

/* Zero: a run that resumes nothing. */
typedef struct Resume {
    struct SeenRow *seen;
    size_t count;
} Resume;

/* path: the file; NULL for a run that resumes nothing. */
Status resume_open(const char *path, Resume *out);
void resume_close(Resume *self);
/* Is this row (as row_begin makes it) there? A plan may hold the same case and variant more than once (strict and declared bounds,
 * other modes): each row of the file then stands for one of them, in the order of the plan. An emulated row does not stand for one
 * on the device, which has a time. */
Status resume_ask(Resume *self, const Row *row, ResumeAnswer *answer);
/* For every row that is run, once it has its `seconds_spent`. */
Status resume_took(Resume *self, const Row *row);
/* What the slowest row of this case and variant took so far; 0: there is none. */
double resume_seconds(Resume *self, const Row *row);
/* Copies the counts of an earlier process into the row; false: there are none. */
bool resume_counts(Resume *self, Row *row);
void resume_counted(Resume *self, const Row *row);

/* ---- A run. */

typedef struct LaterRow {
    const PlanItem *item;
    const VariantChoice *choice;
    double seconds; /* what the row took */
} LaterRow;

/* Rows that are postponed to the end of the run. */
typedef struct Later {
    LaterRow *rows;
    int count;
    bool begun; /* they are being made: nothing more is put off */
} Later;

typedef struct Run {
    const Plan *plan;
    const RunOptions *options;
    RunSummary *summary;
    RowFile *file;
    Resume done;
    Later later;
    struct Limits *limits; /* of the devices (pipeline/finish.c); NULL: none are measured */
    char id[64];
    int gpu_index;     /* the GPU of its rows */
    char gpu_uuid[64]; /* hidden; "": unknown */
    int beside;        /* so many processes make rows at once, this one included; 0: this one alone */
    /* In a GPU's process: its row goes to the one that writes (devices.c). STATUS_DEVICE: the GPU is lost. NULL: to the file. */
    Status (*write)(struct Run *run, const struct Session *session, json_t *line);
    struct Share *share;
    double begin, first_row; /* when the run began, and its first row: the peaks before that tell nothing of the rows' pace */
    size_t index, executed;  /* rows passed by; rows run in this process */
} Run;

/* Calls one of the options' listeners with `what` and the state of the run; NULL: there is none. */
void run_event(const Run *run, void (*listener)(void *context, const RunEvent *event), size_t index, const RunEvent *what);
/* What a person should know besides. */
void run_notice(const Run *run, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* On the steady clock: no row is begun after it. */
double run_deadline(const Run *run);
/* One question to a fresh worker about a device rather than a variant. */
Status run_ask_device(int device, const char *what, const char *kind, json_t **reply);

/* Is a further process of this row to wait, when its slowest so far took so many seconds (0: there is none)? */
bool later_waits(const Later *self, const PlanItem *item, double seconds);
Status later_add(Later *self, const LaterRow *row);
/* The fastest first, each row's processes together. Sets `begun`. */
void later_begin(Later *self);
void later_close(Later *self);

/* In which order the items of a plan are made: by class, of which next is the op on which it has spent least time, so that a row
 * which takes far longer than others holds the other ops up once. Further processes of a row that took long
 * come last of all. Items without a class: the plan's order. `make` gets all items of the plan, those of an op and a rank together.
 */
Status schedule_run(Run *run, Status (*make)(Run *run, const PlanItem *items, int count));

/* ---- devices.c: on several GPUs each has a process, which makes a part of the rows. All variants of a case, and both sides of a
 * claim, are in one part. Rows that run on no GPU come afterwards, alone. */

/* Is it a list of `devices`? At most DEVICES_MAX different numbers, in ascending order; *count -1: all. */
bool devices_parse(const char *list, int devices[DEVICES_MAX], int *count);
/* All rows of the plan. */
Status devices_run(Run *run);
/* Counts a row that was written. */
void summary_count(RunSummary *summary, Verdict verdict, bool timed, bool emulated);

/* ---- devices_alone.c: do GPUs that work side by side disturb each other? */

/* Medians of the shortest samples of a copy, in the modes cold and complete, of a GPU: alone, and while all others copy, too. */
typedef struct DeviceTrial {
    double cold[2], complete[2];
} DeviceTrial;

/* Asks all of them. */
Status devices_try(const int *devices, int count, DeviceTrial trials[]);
/* NULL, or why they may not share: a cold time that is longer than alone by more than 1%. *host: so is a time by the host's clock.
 */
const char *devices_disturbed(const int *devices, int count, const DeviceTrial trials[], bool *host);

/* ---- rows.c: the rows of a plan: its items in order, as many in memory at once as fit; of these one variant after the other on
 * all, in a worker that serves one after the other, and all that again for each further process of a row. So references are
 * computed once. */

/* Rows that the plan has on this machine. */
size_t rows_count(const Run *run);
Status rows_run(Run *run);

/* ---- pipeline.c: plan -> cases -> inputs -> reference -> variants in child processes -> verification -> timing -> rows. */

Status run_plan(const Plan *plan, const RunOptions *options, RunSummary *out);

/* ---- claimfiles.c: the claims of a plan over files of rows, of any number of runs and machines. */

/* Claim lines as docs/RESULTS.md has them: one for each machine that can tell, else one that says why none can, if the claim's
 * scenario was run at all. Runs count in the order of their dates. New reference. */
Status claims_of_files(const Plan *plan, const char *const *paths, json_t **out);
