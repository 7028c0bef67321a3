/* case.h - one problem to solve: op, parameters, dtype, input family, seed. Plain data; plan/case.h reads and prints it. */
#pragma once

#include "base/array.h"
#include "base/params.h"

#include <stdint.h>

enum { CASE_INPUT_MAX = 64, CASE_TEXT_MAX = 1024 };

typedef struct Case {
    const char *op; /* the op's name; static storage */
    Params params;
    DType dtype;                /* one of the op's: f32 or f64, of the floating-point arrays; of strings, that of their offsets */
    int accumulate;             /* 1 + the DType of sums; 0: case_usual_sums() */
    char input[CASE_INPUT_MAX]; /* input family: "uniform", "offset1e8", "real:co2" */
    uint64_t seed;
} Case;

/* Of f16, bf16, e4m3 and e5m2 sums are f32. */
static inline DType case_usual_sums(DType dtype) {
    return dtype_is_narrow(dtype) ? DTYPE_F32 : dtype;
}
/* What the case's sums are in, by its definition, and numbers that are given to a whole sum, such as a discount. */
static inline DType case_sums(const Case *problem) {
    return problem->accumulate ? (DType)(problem->accumulate - 1) : case_usual_sums(problem->dtype);
}
static inline bool case_is_usual(const Case *problem) {
    return case_sums(problem) == case_usual_sums(problem->dtype);
}
