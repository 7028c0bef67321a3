/* problem.h - `rungs try FOLDER`: a problem as KernelBench writes it becomes an op with two variants, by cmake/kernelbench.py. */
#pragma once

#include "plan/registry.h"

enum { PROBLEM_VARIANTS = 2 };

typedef struct Problem {
    const Op *op;
    const VariantEntry *variants[PROBLEM_VARIANTS]; /* Model, ModelNew */
    char bound[512];                                /* what it is, for people */
} Problem;

/* How many of the words are its paths: a folder, or two files in Python; 0: they name none. */
int problem_paths(char *const *words, int count);
/* STATUS_CHECK: what is wrong with the files. STATUS_UNSUPPORTED: what this machine lacks. */
Status problem_add(char *const *paths, int count, Problem *out);
