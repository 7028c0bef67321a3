/* plan/case.h - a case as one line of text: "rolling agg=mean n=1000003 window=3000 dtype=f64 input=offset1e8 seed=7". */
#pragma once

#include "base/case.h"
#include "op.h"

/* The dtypes that cases of the op may have: the default first, DTYPE_COUNT last. */
const DType *case_dtypes(const Op *op);
/* Defaults of the op, its first dtype, its first input family, seed 1. */
Status case_init(const Op *op, Case *out);
/* Is this a name that case_set knows? */
bool case_has(const Case *problem, const char *name);
/* Sets an op parameter or one of dtype, accumulate (where the op has it), input, seed. */
Status case_set(const Op *op, Case *problem, const char *name, const char *text);
/* Once all is set: what must be given is, and `accumulate` goes with the dtype. */
Status case_complete(const Op *op, const Case *problem);
/* Reads the whole line; errors name the column, the offending text and what is allowed. */
Status case_parse(const char *text, Case *out);
/* The canonical line, every parameter spelled out, `accumulate` where it is not usual: parse(format(c)) equals c. Returns text. */
char *case_format(const Case *problem, char *text, size_t size);
/* Are their lines the same? */
bool case_same(const Case *a, const Case *b);
