/* binding.h - what `rungs try` makes a variant of: with --call a file as it is, by cmake/bound.py; of a folder a problem as
 * KernelBench writes it, which becomes an op with two variants, by cmake/kernelbench.py. */
#pragma once

#include "plan/registry.h"

#include <limits.h>
#include <stdbool.h>

enum { BINDING_FLAGS_MAX = 64 };

typedef struct Binding {
    const char *file, *call, *launch; /* one of the last two, or a comment in the file */
    const char *flags[BINDING_FLAGS_MAX];
    int flag_count;
} Binding;

/* Does the file have CUDA's ending, .cu or .cuh? */
bool binding_is_cuda(const char *path);
/* Takes nvcc's flags, words with one dash, out of the command line; the rest of it stays in argv, and its length is returned. */
int binding_flags(Binding *binding, int argc, char **argv);
/* Is the file to be bound, by an option or by a comment of its own? */
bool binding_wanted(const Binding *binding, const char *path);
/* The end of a message about a file that cannot be compiled: what a CUDA file without a binding lacks; "" for others. */
const char *binding_advice(const Binding *binding, const char *path);
/* Writes the file that makes the call; `made` is its path. */
Status binding_make(const Binding *binding, const Op *op, const char *path, char made[PATH_MAX]);

/* ---- problem.c */

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
