/* running.h - a run under way: the floor of the files of the pipeline that share its work. */
#ifndef RUNGS_PIPELINE_RUNNING_H
#define RUNGS_PIPELINE_RUNNING_H

#include "pipeline/limits.h"
#include "pipeline/options.h"
#include "pipeline/resume.h"
#include "pipeline/schedule.h"
#include "record/rowfile.h"

typedef struct Run {
    const Plan *plan;
    const RunOptions *options;
    RunSummary *summary;
    RowFile *file;
    Resume done;
    Later later;
    Limits *limits;
    char id[64];
    double begin, first_row; /* when the run began, and its first row: the peaks before that tell nothing of the rows' pace */
    size_t index, executed;  /* rows passed by; rows run in this process */
} Run;

/* Calls one of the options' listeners with `what` and the state of the run; NULL: there is none. */
void run_tell(const Run *run, void (*listener)(void *context, const RunEvent *event), size_t index, const RunEvent *what);
/* What a person should know besides. */
void run_notice(const Run *run, const char *format, ...)
#ifdef __GNUC__
    __attribute__((format(printf, 2, 3)))
#endif
    ;
/* On the steady clock: no row is begun after it. */
double run_deadline(const Run *run);
/* In the emulator instead of on a GPU. */
bool run_emulates(const Run *run, const VariantChoice *choice);

#endif
