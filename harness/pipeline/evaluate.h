/* evaluate.h - one variant on one case: refuse, make the instance, start a worker, verify, time, verify on new data, end the case.
 * Once the worker has ended: its limit and counts (pipeline/finish.c). */
#pragma once

#include "pipeline/session.h"

/* Fills the row's bound, errors, timing, ..., and its verdict and reason unless it is pending. Whatever the variant does becomes
 * its row; a Status other than STATUS_OK means that rungs itself cannot go on. *instance is created where it is empty ({0}) and
 * needed; the next variants of the case get it again. */
Status evaluate(Session *s, VariantWorker *worker);

/* A row with everything that is known before its variant runs. STATUS_INVALID if the case holds text that is not UTF-8. row_free()
 * it. */
Status row_begin(const char *run, const PlanItem *item, const Case *problem, const VariantChoice *choice, bool emulated, Row *out);

/* ---- judge.c: outputs of a run against the reference: of the calls that verify, and of timed samples, of which the parent draws
 * some that the worker shows before it goes on. */

/* One output of a run against the reference of its data: by error bounds or to the byte, as the op defines it. */
typedef struct Judgement {
    bool pass;        /* starts false; everything is written, comparable and within tolerance */
    bool judgeable;   /* starts false; if not, the tolerance lets 0 pass for most elements, and `pass` verifies nothing */
    bool undecided;   /* values equal the poison (base/poison.h), and are correct if they were written */
    double vacuous;   /* share of the elements that cannot be judged: 0 would pass there (verify/norms.h); exact outputs: 0 */
    char words[1024]; /* what is wrong and where; how good it is if it passed, or why it is not judgeable */
    OutputErrors errors;
} Judgement;

/* Judges instance->given[index]. Computes the reference of the set at its first use. */
Status judge_output(Instance *instance, DataSet set, int bound, int index, Judgement *out);

void decide(Session *s, Verdict verdict, const char *reason);
/* Does the variant write into memory that the harness poisons, and not check itself whether it reads that? Then it runs from every
 * pattern of base/poison.h. */
bool sees_poison(const Session *s);
/* What a worker could not do, as the row's verdict. */
void decide_by_status(Session *s, Status status);

/* Compares every output that the variant gives. The errors of the first set, or of the call that fails, go into the row; `when`
 * begins the reason. A correct value that equals the poison passes, and *undecided is set: another run tells whether it was
 * written; NULL for timed samples. What passes must also be judgeable on the first inputs, or it verifies nothing: a row needs one
 * output that is both. */
Status compare_outputs(Session *s, DataSet set, const char *when, bool *undecided);
/* Into the row's modes which share of the outputs the data of their samples changed: the least of those that were compared, against
 * every other set that has a reference. No reference is made for it. */
void report_changes(Session *s);
/* Into the row which wrong definitions the outputs that the variant gives would tell, and which they would let pass. */
Status report_definitions(Session *s);

/* Asks for samples of the item's modes, for the row. *taken: false if an output failed, which is decided; else the row's timing has
 * the modes, with the samples that were compared. Other failures are the worker's. timeout_seconds: of all samples together, and of
 * what follows a check. */
Status timed_take(Session *s, double timeout_seconds, bool *taken);

/* ---- calls.c: calls after the samples. */

/* After timed_take(), of a variant on the CPU, where there is time for it: a row whose worker's clock runs slower than this
 * process's, or whose samples are far below what calls take, fails. Says in the row's modes whose clocks timed them. *far: nothing
 * is decided, the samples are far below: the machine may have been busier after them. last: they are not taken again. */
Status check_clock(Session *s, double timeout_seconds, bool last, bool *far);
/* Do repeated calls on the first inputs give the same bits? One that gives others is compared with the reference. */
Status bits_try(Session *s, double timeout_seconds);
/* The energy of calls, if it is asked for; or into the row why there is none. */
Status energy_try(Session *s, double timeout_seconds);

/* ---- finish.c: what a row gets once its worker has ended well: its limit, the verdict, and its counts. Both are taken in workers
 * of their own. */

/* The limits of a run: measured by workers of its own when the first row asks, and shared by the rows of a case. */
typedef struct Limits Limits;

Status limits_open(int device, Limits **out);
/* May be NULL. */
void limits_close(Limits *limits);

typedef struct Counter {
    Child *child;  /* that worker, which may serve the variant's next case; NULL: none runs */
    Resume *known; /* has the counts of the run's rows: a row's further processes repeat them; NULL: each row is counted */
} Counter;

/* Starts the counter's worker where there is none, and again after a fault. Fills in `counts`, or `counts_reason`, of a row whose
 * verdict is known. Nothing that goes wrong here changes the rest of the row: it is the reason. Nothing is started after the
 * deadline. */
void counts_take(const Session *s, Counter *counter);
/* The verdict of a pending row whose worker ended well: pass, unless it is faster than the device. Then its counts. The caller
 * stops the counter's worker. bound: index into the op's bounds. */
void finish_row(const Session *s, Counter *counter);
/* Seconds of a call, in the row's first mode with times; 0: there is none. */
double row_call_seconds(const Row *row);

/* ---- series.c: a given number of samples of one variant on one case in one mode, from a worker of their own, verified as by
 * `run`. */

typedef struct Series {
    const RunOptions *options;
    const char *no_gpu_reason; /* NULL: there is a GPU */
    Limits *limits;            /* NULL: none are measured */
    const PlanItem *item;      /* whose case is in memory; NULL: none yet */
    Instance instance;
} Series;

/* A row with the samples of this mode, its rates, limit and errors (docs/RESULTS.md), or with a verdict and its reason, in a fresh
 * worker each time. Nothing is emulated: without a GPU a CUDA variant is a skip. Another Status than STATUS_OK: rungs itself cannot
 * go on. row: zero at first; row_free() it. */
Status series_take(Series *self, const PlanItem *item, const VariantChoice *choice, Mode mode, size_t samples, Row *row);
/* Releases the case. */
void series_close(Series *self);
