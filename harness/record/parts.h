/* parts.h - the parts of a row that workers report: each is a struct, and one JSON object in replies (docs/PROTOCOL.md) and in rows
 * (docs/RESULTS.md), written and read here. What a reply lacks, or has of another type, is 0, NaN, false, or "". New references. */
#ifndef RUNGS_RECORD_PARTS_H
#define RUNGS_RECORD_PARTS_H

#include "base/array.h"
#include "base/mode.h"
#include "base/params.h"
#include "base/stats.h"
#include "measure/counts.h"
#include "measure/limit.h"
#include "verify/exact.h"
#include "verify/norms.h"

#include <jansson.h>

enum { LAUNCH_NUMBERS_MAX = 24, CHECKED_MAX = 8, CONDITIONS_MAX = 6 };

/* How kernels were launched: numbers by name; none: nothing is known. */
typedef struct Launch {
    char device[16]; /* "cuda", "emulator", "cpu" */
    int count;
    struct {
        char name[48];
        double value;
    } numbers[LAUNCH_NUMBERS_MAX];
} Launch;

typedef struct KernelCount {
    char name[ACTIVITY_NAME_MAX];
    size_t launches, shared_bytes;
    double seconds, occupancy;
    int registers, grid[3], block[3];
} KernelCount;

/* What a call does. NaN: not counted. */
typedef struct Counts {
    bool any;                                       /* anything was counted */
    double allocations, peak_bytes;                 /* WHAT_MEMORY */
    char resource[16];                              /* "": no allocation */
    double launches, copies, fills, kernel_seconds; /* WHAT_LAUNCHES */
    KernelCount *kernels;
    size_t kernel_count;
    double registers, occupancy;
    double bytes_read, bytes_written, bytes_written_behind; /* WHAT_BYTES */
    double seconds;                                         /* that counting took */
} Counts;

/* A sample of a mode whose outputs are compared, and the set of inputs that it is taken on. */
typedef struct CheckedSample {
    size_t sample;
    int set;
} CheckedSample;

/* What NVML says of a GPU before and after the samples of a mode. */
typedef struct Conditions {
    bool known;
    double watts[2], celsius[2];
    int reason_count;
    char reasons[CONDITIONS_MAX][32]; /* why clocks were held down */
    bool throttled;                   /* heat, a power brake or the hardware was among them */
} Conditions;

/* The samples of a mode, or why there are none. */
typedef struct ModeTiming {
    bool taken; /* the mode was asked for */
    size_t count, calls_per_sample;
    double *seconds, *sm_mhz; /* per call; SM clock, NULL: not told */
    char clock[64], why_none[512];
    Conditions conditions;
    CheckedSample checked[CHECKED_MAX];
    size_t checked_count;
    Stats stats;
    double bytes_per_second, elements_per_second; /* NaN: none */
    struct {
        double seconds, bytes_read, bytes_written, share;
        char kernel[64]; /* "": no limit */
    } limit;
} ModeTiming;

/* One output against its reference. */
typedef struct OutputErrors {
    char output[ARRAY_NAME_MAX];
    bool exact; /* which of the two */
    union {
        ErrorReport bounded;
        ExactReport bytes;
    };
} OutputErrors;

/* NaN and inf are not JSON: null; the reason goes into a key of its own by the caller. */
json_t *json_number_or_null(double value);
/* {"agg": "mean", "n": 1000, ...}. */
json_t *params_json(const Params *params);
json_t *errors_json(const OutputErrors *errors);

/* Sets a number, or adds it. */
void launch_set(Launch *launch, const char *name, double value);
json_t *launch_json(const Launch *launch);
/* Adds what the JSON has. */
void launch_read(const json_t *json, Launch *launch);

Counts counts_none(void);
void counts_free(Counts *counts);
bool counts_copy(const Counts *counts, Counts *out);
/* what: the part that a worker counted; NULL: everything, as in a row. */
json_t *counts_json(const Counts *counts, const char *what);
/* Adds what the JSON has. */
void counts_read(const json_t *json, Counts *counts);

json_t *samples_json(const ModeTiming *timing);
/* With all that a row has besides. */
json_t *timing_json(const ModeTiming *timing);
/* The modes of a reply to `time`; what `timing` has is not freed. */
void timing_read(const json_t *json, ModeTiming timing[MODE_COUNT]);
/* One sample by this clock; NaN: none, for this reason. */
void timing_single(ModeTiming *timing, double seconds, const char *clock_or_reason);
void timing_free(ModeTiming timing[MODE_COUNT]);

/* The reply to `limit`: NaN where it has no such mode. */
void limits_read(const json_t *json, Limit out[MEASURE_MODE_COUNT]);
json_t *limits_json(const Limit limits[MEASURE_MODE_COUNT], unsigned modes);

#endif
