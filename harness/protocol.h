/* protocol.h - contract: the commands between parent and worker and the keys of commands and replies (docs/PROTOCOL.md). Workers in
 * Python read them from this file (harness/device/peer_protocol.py): one #define with a text a line. */
#pragma once

/* What a command asks for, under KEY_DO. */
#define KEY_DO "do"
#define DO_HELLO "hello"
#define DO_OPEN "open"
#define DO_SUPPORTS "supports"
#define DO_PREPARE "prepare"
#define DO_RUN "run"
#define DO_TIME "time"
#define DO_CONTINUE "continue"
#define DO_CALLS "calls"
#define DO_SHOW "show"
#define DO_BITS "bits"
#define DO_ENERGY "energy"
#define DO_COUNT "count"
#define DO_END "end"
#define DO_CLOSE "close"
#define DO_REFERENCE "reference"
#define DO_GENERATE "generate"
#define DO_FACTS "facts"
#define DO_CEILINGS "ceilings"
#define DO_LIMIT "limit"
#define DO_COUNTING "counting"

/* Every reply has one of the first three; the error's kind is a word of base/status.h. */
#define KEY_OK "ok"
#define KEY_SKIP "skip"
#define KEY_ERROR "error"
#define KEY_KIND "kind" /* of an error; of a device: "cpu", "cuda" */

/* open, supports, reference */
#define KEY_DEVICE "device"
#define KEY_VARIANT "variant"
#define KEY_MODULE "module"
#define KEY_TUNABLES "tunables"
#define KEY_SIZED_BY_DATA "sized_by_data"
#define KEY_INPUTS "inputs"
#define KEY_FURTHER_INPUTS "further_inputs"
#define KEY_OUTPUTS "outputs"
#define KEY_LAUNCH "launch" /* of replies, as in a row */
#define KEY_BOUND "bound"
#define KEY_REFERENCES "references"
#define KEY_CASE "case"
#define KEY_TEXT "text"
#define KEY_OP "op"
#define KEY_PARAMS "params"
#define KEY_INPUT "input"
#define KEY_SEED "seed"

/* An array; those of references have a file for the values and one for the tolerances. */
#define KEY_NAME "name"
#define KEY_DTYPE "dtype"
#define KEY_ACCUMULATE "accumulate" /* of a case whose sums are not in the usual type */
#define KEY_OPTIONS "options"       /* of a case: names of those that are not at their default */
#define KEY_SHAPE "shape"
#define KEY_COUNT "count" /* of elements */
#define KEY_FILE "file"
#define KEY_VALUE "value"
#define KEY_TOLERANCE "tolerance"

/* prepare, run, end */
#define KEY_PREPARE_SECONDS "prepare_seconds"
#define KEY_SET "set"
#define KEY_POISON "poison"
#define KEY_SECONDS "seconds"
#define KEY_THREADS "threads"
#define KEY_LAUNCHED "launched"
#define KEY_COUNTS "counts" /* elements of the outputs; of count: what was counted */
#define KEY_KEPT_BYTES "kept_bytes"
#define KEY_RESTLESS "restless"

/* time */
#define KEY_MODES "modes"
#define KEY_MIN_SAMPLES "min_samples"
#define KEY_MAX_SAMPLES "max_samples"
#define KEY_PRECISION "precision"
#define KEY_VARY "vary"
#define KEY_NEXT "next"
#define KEY_KEY "key"
#define KEY_CALLS "calls"
#define KEY_LEFT_OUT "left_out"
#define KEY_LONGER "longer"
#define KEY_COLD "cold"
#define KEY_TAKEN "taken"
#define KEY_SHOW "show"
#define KEY_CHECK "check"
#define KEY_OF "of"
#define KEY_MODE "mode"
#define KEY_SAMPLE "sample"
#define KEY_TIMING "timing"
#define KEY_SAMPLES "samples"
#define KEY_SM_MHZ "sm_mhz"
#define KEY_CALLS_PER_SAMPLE "calls_per_sample"
#define KEY_BETWEEN_SECONDS "between_seconds"
#define KEY_CLOCK "clock"
#define KEY_WHY_NONE "why_none"
#define KEY_STOPPED "stopped"

/* bits: KEY_MIN_SAMPLES and KEY_MAX_SAMPLES calls */
#define KEY_BITS "bits"
#define KEY_DIFFER "differ"
#define KEY_OUTPUT "output"
#define KEY_ELEMENT "element"
#define KEY_APART "apart"

#define KEY_ENERGY "energy"

/* count: KEY_WHAT is one of the three */
#define KEY_WHAT "what"
#define WHAT_MEMORY "memory"
#define WHAT_LAUNCHES "launches"
#define WHAT_BYTES "bytes"
#define KEY_COUNTS_REASON "counts_reason"
#define KEY_ELSEWHERE "elsewhere" /* kernels on another stream than the given one; not sent */

/* facts, ceilings, limit, counting */
#define KEY_GPU "gpu"
#define KEY_CEILINGS "ceilings"
#define KEY_BYTES "bytes"
#define KEY_LIMIT "limit"
#define KEY_BYTES_READ "bytes_read"
#define KEY_BYTES_WRITTEN "bytes_written"
#define KEY_CONFIRM "confirm"
#define KEY_KERNEL "kernel"
#define KEY_COUNTING "counting"
#define KEY_LIBRARY "library"
#define KEY_LAUNCHES_REASON "launches_reason"
#define KEY_BYTES_REASON "bytes_reason"
