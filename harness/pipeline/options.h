/* options.h - what a run is asked for, and what it tells of itself. */
#ifndef RUNGS_PIPELINE_OPTIONS_H
#define RUNGS_PIPELINE_OPTIONS_H

#include "plan/scenario.h"
#include "record/row.h"

#include <stdbool.h>

typedef enum EmulatorKind { EMULATOR_IF_NO_GPU, EMULATOR_ADDRESS, EMULATOR_RACE } EmulatorKind;

typedef struct RunEvent RunEvent;

typedef struct RunOptions {
    int argc;
    char **argv;     /* for the environment line */
    const char *out; /* results file */
    int device;
    bool verify_only;
    bool no_ceilings;          /* the limits of the machine are not measured: for runs that are only compared with one another */
    bool shared_workers;       /* a worker serves all cases of a variant in a scenario; false: one worker per row */
    bool no_counts;            /* nothing is counted after timing; no_ceilings says so too */
    const char *timeline;      /* a trace of one call of each CUDA row goes into this file; NULL: none */
    EmulatorKind emulator;     /* EMULATOR_IF_NO_GPU, or force one of the emulator's programs for CUDA variants */
    bool resume;               /* leave out what the results file already holds */
    bool one_campaign;         /* resume refuses rows of another commit or machine */
    double budget_seconds;     /* start no new row after it; 0: none */
    size_t least_rows;         /* that are made even so */
    double timeout_seconds;    /* for one call of a variant */
    double memory_limit_bytes; /* a worker's host memory; 0: what the machine has */
    size_t min_samples, max_samples;
    double seconds_per_mode;
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
    const json_t *claim;
    const char *peaks; /* kind of device whose peaks are measured */
    bool refused;      /* a skip for what the variant or the machine cannot do, known before anything ran */
    size_t failures;   /* rows so far that failed or ended with an error */
    double elapsed_seconds, eta_seconds;
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

#endif
