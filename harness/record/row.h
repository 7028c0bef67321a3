/* row.h - the result of one variant on one case, as the pipeline fills it. docs/RESULTS.md has the line that is written from it. */
#pragma once

#include "base/case.h"
#include "base/mode.h"
#include "base/stats.h"
#include "base/usercode.h"
#include "measure/counts.h"
#include "measure/limit.h"
#include "op.h"
#include "verify/exact.h"
#include "verify/norms.h"

#include <jansson.h>

/* ---- parts.c: the parts of a row that workers report: each is a struct, and one JSON object in replies (docs/PROTOCOL.md) and in
 * rows (docs/RESULTS.md), written and read here. What a reply lacks, or has of another type, is 0, NaN, false, or "". New
 * references. */

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
    Profile profile;
    double seconds; /* that counting took */
} Counts;

/* A sample of a mode whose outputs are compared, and the set of inputs that it is taken on. */
typedef struct CheckedSample {
    size_t sample;
    int set;
} CheckedSample;

/* What NVML says of a GPU before and after the samples of a mode. */
typedef struct Conditions {
    bool known;
    double celsius[2];
    int reason_count;
    char reasons[CONDITIONS_MAX][32]; /* why clocks were held down */
    bool throttled;                   /* heat, a power brake or the hardware was among them, as samples were taken */
    size_t retaken, remain;           /* throttled samples that were taken again; that stayed throttled */
} Conditions;

/* Whose clocks timed a mode. */
typedef enum ClockBy { CLOCK_UNKNOWN, CLOCK_WORKER, CLOCK_BOTH } ClockBy;

/* The samples of a mode, or why there are none. */
typedef struct ModeTiming {
    bool taken; /* the mode was asked for */
    size_t count, calls_per_sample;
    double *seconds, *sm_mhz; /* per call; SM clock, NULL: unknown */
    double between_seconds;   /* taken off: between two calls of a sample; 0: nothing */
    ClockBy clock_by;
    char clock[64], why_none[512], stopped[16]; /* stopped: measure/measure.h; "": unknown */
    Conditions conditions;
    CheckedSample checked[CHECKED_MAX];
    size_t checked_count;
    double changed; /* share of the outputs that are others on the data of its samples (verify/definitions.h), where some were
                       checked */
    Stats stats;
    double bytes_per_second, elements_per_second; /* NaN: none */
    struct {
        double seconds, bytes_read, bytes_written, share;
        int sector_bytes; /* in which bytes_read is counted */
        char kernel[64];  /* "": no limit */
    } limit;
} ModeTiming;

/* Repeated calls on one input. */
typedef struct Bits {
    size_t calls; /* with equal outputs, or up to the first whose differ */
    bool differ;
    char output[ARRAY_NAME_MAX]; /* where, in the first element */
    size_t element;
    double apart; /* relative distance of the two numbers there; NaN: they are none, or not finite */
    double seconds;
} Bits;

/* Of calls back to back. NaN: unknown. */
typedef struct Energy {
    double joules, low, high,
        joules_per_element;           /* of a call, without what the idle device uses: median and range of the windows */
    double watts, idle_watts, sm_mhz; /* means; watts: with what the idle device uses */
    size_t calls;
    double seconds;
} Energy;

enum { BITS_FEWEST = 3 }; /* calls that say something */

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
/* Of a case, with `accumulate` where it is not usual. */
json_t *case_params_json(const Case *problem);
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

/* What is of a reply to `bits`. */
json_t *bits_json(const Bits *bits);
void bits_read(const json_t *json, Bits *bits);
/* As in a row; reason: why nothing was tried. */
json_t *bits_row_json(const Bits *bits, const char *reason);

json_t *energy_json(const Energy *energy);
void energy_read(const json_t *json, Energy *energy);

/* The reply to `limit`: NaN where it has no such mode. */
void limits_read(const json_t *json, Limit out[MEASURE_MODE_COUNT]);
json_t *limits_json(const Limit limits[MEASURE_MODE_COUNT], unsigned modes);

/* ---- row.c: the row. */

enum { ROW_KEY_MAX = 2 * CASE_TEXT_MAX + 16 };

typedef enum Verdict { VERDICT_FAIL, VERDICT_PASS, VERDICT_SKIP, VERDICT_ERROR } Verdict; /* a row begins as failed */
typedef enum RowWorker { WORKER_NONE, WORKER_SHARED, WORKER_FRESH } RowWorker;

/* Zero: nothing is known. Texts that are not owned are borrowed from plan, registry and literals. `problem` may point into the row:
 * it stays where it began. */
typedef struct Row {
    /* Known before the variant runs. */
    const char *run, *scenario, *baseline; /* baseline: NULL: none */
    const char *variant, *backend;
    const char *library; /* whose kernel it is; NULL: this project's */
    bool emulated;
    Case problem; /* names a user's function by a hash, not by its path, which names people and projects */
    char user_code[USERCODE_NAME_MAX];
    char text[CASE_TEXT_MAX], spec[CASE_TEXT_MAX]; /* the case; variant and tunables */
    Params tunables;
    Work work;
    const char *sass_hash, *host_hash, *no_hash_reason;
    /* What became of it. */
    Verdict verdict;
    char *reason; /* NULL: it passed */
    const Bound *bound;
    bool bound_declared;
    bool float64; /* the reference is no better than that */
    bool judged;  /* `errors` is known, of so many outputs */
    OutputErrors errors[OP_MAX_ARRAYS];
    int error_count;
    const char *const *wrong; /* of the op (op.h); NULL: it has none, or nothing passed */
    unsigned rejects, admits; /* bit per wrong definition: its results are beyond the tolerances, or would pass */
    bool reverified;
    bool timed; /* `timing` is known */
    ModeTiming timing[MODE_COUNT];
    const char *why_not_timed;
    char draw[64];          /* what `run --draw` repeats the failure with (pipeline/draw.h); "": none */
    double prepare_seconds; /* NaN: nothing was prepared */
    Launch launch;
    Counts counts;
    char *counts_reason, *limit_reason;
    bool energy_wanted;
    Energy energy;
    char *no_energy_reason; /* NULL: it was measured, if it was wanted */
    Bits bits;
    const char *no_bits_reason; /* NULL: they were tried */
    bool on_gpu;                /* then: which */
    int gpu_index;
    const char *gpu_uuid; /* hidden; NULL: unknown */
    RowWorker worker;
    bool confined;  /* the worker could write nothing that decides a row (device/confine.h) */
    bool sandboxed; /* device/sandbox.h */
    int threads;    /* 0: unknown */
    double seconds_spent;
} Row;

const char *verdict_name(Verdict verdict);
/* Samples of a mode had data of their own that leave nearly all outputs as they are: a result that was kept would be right. */
bool row_on_one_input(const Row *row);
void row_free(Row *row);
/* Texts lose folders, which name people, and UUIDs (record/rowfile.c). NULL: none. */
void row_set_text(char **slot, const char *text);
/* Another verdict than pass takes the times away: a wrong result has none, whatever was measured. */
void row_decide(Row *row, Verdict verdict, const char *reason);
/* Those of an earlier call are replaced. */
void row_set_errors(Row *row, const OutputErrors *errors, int count);
/* What tells a row from others: case, variant with its tunables, and whether it was emulated. */
void row_key(const Row *row, char key[ROW_KEY_MAX]);
/* The line of the file. New reference; NULL without memory, or if a text is not UTF-8. */
json_t *row_json(const Row *row);

/* What a line of a results file is, and what of it decides whether a row is run again. Texts are the line's; "": there is none. */
typedef enum LineKind { LINE_OTHER, LINE_ENVIRONMENT, LINE_CEILINGS, LINE_ROW, LINE_CLAIM } LineKind;
LineKind line_kind(const json_t *line);
Verdict line_verdict(const json_t *line);
bool line_emulated(const json_t *line);
bool line_timed(const json_t *line);
/* Fills a row, as row_begin() made it, with what a terminal shows of its line. The texts belong to the line. */
void row_read(const json_t *line, Row *row);
double line_seconds_spent(const json_t *line);
void line_row_key(const json_t *line, char key[ROW_KEY_MAX]);

/* ---- replies.c: what else workers answer (docs/PROTOCOL.md) than the parts of a row. What a reply lacks is 0, NaN, or false.
 * Texts live as long as the reply. */

typedef struct PrepareReply {
    double seconds; /* NaN: there is nothing to prepare */
    Launch launch;
} PrepareReply;

typedef struct RunReply {
    double seconds;
    int threads;
    Launch launch; /* of the first run */
} RunReply;

/* What a worker says of a sample while it obeys `time`: it needs the next key; it has taken one; here are its outputs. */
typedef struct SampleReply {
    enum { SAMPLE_NONE, SAMPLE_NEXT, SAMPLE_TAKEN, SAMPLE_CHECK } what; /* NONE: the reply has the times */
    Mode mode;                                                          /* MODE_COUNT: it names none */
    size_t sample, of;                                                  /* of: samples of the mode in all; 0: of a pilot */
    double seconds;                                                     /* TAKEN: of a call; NaN: a library's worker */
    bool longer;                                                        /* by the host's clock than by events of a GPU */
} SampleReply;

PrepareReply reply_prepare(const json_t *reply);
RunReply reply_run(const json_t *reply);
/* The elements of output i, which a library may not give (0). False: the reply does not say. */
bool reply_elements(const json_t *reply, int i, size_t *elements);
SampleReply reply_sample(const json_t *reply);
/* False: there are none. */
bool reply_timing(const json_t *reply, ModeTiming timing[MODE_COUNT]);
/* Adds to the counts. NULL, or why something is missing. */
const char *reply_counts(const json_t *reply, Counts *counts);
/* The value of a measured peak; NaN: it was not measured. */
double ceiling_value(const json_t *ceilings, const char *name);
/* After the end of a case: bytes of the device that were added to those in use after the worker's first case; do threads run on? */
void reply_end(const json_t *reply, size_t *kept_bytes, bool *restless);
/* What can be counted: the library, and why not launches or bytes; NULL: nothing is in the way. */
void reply_counting(const json_t *reply, const char **library, const char **no_launches, const char **no_bytes);

/* ---- rowfile.c: results files: one JSON object per line, appended and flushed as it happens. docs/RESULTS.md has every key;
 * record/row.schema.json is the schema that CI validates against. Keys are the same wherever they occur, so rows of different runs
 * concatenate. */

typedef struct RowFile RowFile;

/* Opens for appending (creates it). A file with lines that are not of this schema is refused and left as it is (STATUS_INVALID
 * names file and line). A last line that a crash cut off is dropped, with a note on stderr by the caller: *cut; a whole one without
 * its newline is kept. A FIFO must get a reader within 10 s (STATUS_IO). */
Status rowfile_open(const char *path, RowFile **out, bool *cut);
/* Writes one line and flushes it to the file system. STATUS_IO names the path (disk full ...); the file then still ends on a whole
 * line. */
Status rowfile_append(RowFile *file, const json_t *row);
/* STATUS_IO: the file was moved, or removed and its rows saved elsewhere; the message says where they are. rowfile_append() checks
 * this too. */
Status rowfile_check(RowFile *file);
void rowfile_close(RowFile *file);
/* False: a pipe or a device, which only takes rows. */
bool rowfile_can_be_read(const RowFile *file);
/* Replaces the file by these lines (base/output.h). */
Status rowfile_replace(const char *path, const json_t *lines);
/* All lines of a file as a JSON array; errors name file and line. New reference. */
Status rowfile_read(const char *path, json_t **out);

/* ---- check.c: a line against record/row.schema.json: types, ranges and patterns of the keys that it has, and that those are there
 * which the schema calls `needed`. analysis/ checks what it reads by the same schema. */

enum { ROW_SCHEMA_VERSION = 1 };

/* place: "rows.jsonl:17". STATUS_INVALID with "PLACE: KEY.INNER is VALUE; expected ..."; STATUS_MEMORY. */
Status check_line(const char *place, const json_t *line);
