/* claims.h - a published statement and its outcome by rows; the only place that decides. docs/SCENARIOS.md has the rules.
 */
#pragma once

#include "base/status.h"

#include <jansson.h>
#include <stdbool.h>

/* The campaigns of `rungs reproduce`; each covers those before it. */
typedef enum Tier { TIER_QUICK, TIER_DEFAULT, TIER_FULL } Tier;

typedef struct Claim {
    const char *id;        /* "rolling-naive-to-tile" */
    const char *statement; /* the claim in one sentence, as published */
    const char *source;    /* where: title or file */
    const char *url;       /* of the source; NULL: it has none */
    const char *section;   /* of the source: a heading, a cell, a table, a figure; NULL: all of it */
    const char *hardware;  /* on what: "NVIDIA P100 (DGX)" */
    const char *method;    /* how it was measured there, as far as is known */
    const char *note;      /* what a reader must know to judge it (n printed / n run); NULL: nothing */
    const char *scenario;
    const char *op;
    const char *kind;    /* one of CLAIM_KINDS */
    const char *program; /* one of CLAIM_PROGRAMS: whose program tests it */
    const char *foreign; /* "variant" or "baseline": that side is not the source's program, but a library or ours; NULL: neither */
    bool law;            /* a law or an equality: outside the band it does not hold, whatever the direction */
    const char *untestable;       /* why nothing here can test it; the members below are then NULL and NAN. NULL: they are set */
    const char *quantity;         /* one of CLAIM_QUANTITIES */
    const char *problem;          /* canonical case text the rows must have */
    const char *variant;          /* variant spec with tunables, canonical */
    const char *mode;             /* "cold", "hot", ...; NULL unless the quantity is made of times */
    const char *baseline;         /* like variant; NULL unless quantity is speedup or error_ratio */
    const char *baseline_problem; /* case of the baseline's row; NULL: the same */
    const char *baseline_mode;    /* mode of the baseline's time; NULL: the same */
    const char *output;           /* whose error; NULL unless quantity is error or error_ratio */
    const char *rule;             /* one of CLAIM_RULES */
    double value;                 /* the published number; NAN with range */
    double factor;                /* with about: how far ours may be from it, >= 1; else NAN */
    double low, high;             /* the acceptance band; -INFINITY, INFINITY: no such limit */
    const char *reason;           /* why this band; NULL with rule shown */
    const char *not_run;          /* why the scenario leaves the case out; NULL: it runs it */
    Tier tier;                    /* the first that judges it */
    bool has_rows;                /* the scenario runs what it compares */
} Claim;

/* NULL-terminated.
 * statement: somebody published it; finding: what a corrected protocol gives. Findings are not in the totals. */
extern const char *const CLAIM_KINDS[];
extern const char *const CLAIM_TIERS[]; /* by Tier */
/* original: the published program itself; reimplementation: one that does what it does; successor: the program or library that
 * became of it, as it is today; ours: any other, not in the totals. */
extern const char *const CLAIM_PROGRAMS[];
/* speedup: time of baseline / time of variant; seconds; bytes_per_second, elements_per_second: of the op's work model; error:
 * largest absolute error; launches: kernels of one call; peak_bytes: device memory of one call, outputs included;
 * bytes_over_minimum: device memory bytes read and written / bytes of the work model. */
extern const char *const CLAIM_QUANTITIES[];
/* about: within a factor of the value either way; at_least, at_most: one-sided; range: a published band; shown: a time or rate of
 * other hardware, not judged; its outcome is fails if ours is slower in every process, else not_testable. */
extern const char *const CLAIM_RULES[];

/* CLAIM_DIRECTION, CLAIM_FAR: outside the band, in a published direction, within and beyond a factor of CLAIM_FAR_FACTOR. */
enum { CLAIM_HOLDS, CLAIM_DIRECTION, CLAIM_FAR, CLAIM_FAILS, CLAIM_NOT_TESTABLE, CLAIM_NOT_RUN, CLAIM_OUTCOME_COUNT };
enum { CLAIM_FAR_FACTOR = 5 };
/* For people. */
extern const char *const CLAIM_OUTCOME_WORDS[];
/* Processes that a time needs to be more than provisional. */
enum { CLAIM_PROCESSES = 5 };

/* How judged claims came out. Each is in one of these numbers only. */
typedef struct ClaimTotals {
    size_t outcomes[CLAIM_OUTCOME_COUNT];      /* statements, tested by all programs but ours */
    size_t shown, shown_worse, findings, ours; /* shown_worse: of those shown, slower here */
} ClaimTotals;

/* {"kind":"claim","id":...,"outcome":...,"why":...,"here":x|null,"low":x|null,"high":x|null,"processes":n,"provisional":b, ...},
 * judged from the rows (JSON array with lines of kind "row" and "environment") alone; "run" is that of the variant's row, if one
 * was used. New reference. */
json_t *claim_judge(const Claim *claim, const json_t *rows);
/* The claim itself; "expected" says in words what bears it out. */
json_t *claim_to_json(const Claim *claim);
/* Of a judged claim: "outcome" is "holds", "direction", "far", "fails", "not_testable" or "not_run". */
int claim_outcome(const json_t *judged);
/* Adds a judged claim to the totals. */
void claim_count(const json_t *judged, ClaimTotals *totals);

/* ---- Our value for a claim, from rows: for claim_judge(). */

enum { CLAIM_WHY_MAX = 1024 };

typedef struct Measured {
    double value, low, high; /* of times and their ratios: median and range over processes; low and high NAN: fewer than two */
    bool exact;              /* a count, or an error on given inputs: it has no interval */
    bool emulated;           /* an error in the emulator */
    const char *run;         /* borrowed from the row */
    int processes;           /* of the side that has fewest */
} Measured;

/* Is it about launches, memory or bytes, which are counted, not timed? */
bool claim_is_about_counts(const Claim *claim);
/* CLAIM_HOLDS if *out is set; else CLAIM_NOT_RUN, CLAIM_NOT_TESTABLE, or CLAIM_FAILS if the variant's result is wrong, and why. */
int claim_measure(const Claim *claim, const json_t *rows, Measured *out, char why[CLAIM_WHY_MAX]);
