/* python_op.h - contract: an op whose reference() is in Python, in a file of the project. cmake/python_op.py writes its descriptor,
 * which has no reference(), and ends with
 *
 *     RUNGS_PYTHON_OP(layernorm, "reference/layernorm.py", false, false);
 */
#pragma once

#include "op.h"

typedef struct PythonOp {
    const Op *op;
    const char *file; /* below the project, or absolute: device/reference_worker.py runs it */
    bool float64;     /* is it no better than outputs of f64? Then their rows say so, and bear no claim */
    bool generates;   /* has it generate(case), which makes the inputs? */
} PythonOp;

/* The program finds them in this section. */
#define RUNGS_PYTHON_OP(op, file, float64, generates)                                                                              \
    extern const PythonOp rungs_python_op_##op;                                                                                    \
    const PythonOp rungs_python_op_##op = {&rungs_op_##op, file, float64, generates};                                              \
    static const PythonOp *const rungs_python_op_listed_##op __attribute__((section("rungs_python_ops"), used)) =                  \
        &rungs_python_op_##op
