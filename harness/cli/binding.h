/* binding.h - `rungs try FILE.cu --op OP --call ...`: a file as it is becomes a variant of an op, by cmake/bound.py. */
#pragma once

#include "op.h"

#include <limits.h>
#include <stdbool.h>

enum { BINDING_FLAGS_MAX = 64 };

typedef struct Binding {
    const char *file, *call, *launch; /* one of the last two, or a comment in the file */
    const char *flags[BINDING_FLAGS_MAX];
    int flag_count;
} Binding;

/* Takes nvcc's flags, words with one dash, out of the command line; the rest of it stays in argv, and its length is returned. */
int binding_flags(Binding *binding, int argc, char **argv);
/* Is the file to be bound, by an option or by a comment of its own? */
bool binding_wanted(const Binding *binding, const char *path);
/* The end of a message about a file that cannot be compiled. */
const char *binding_advice(const Binding *binding, const char *path);
/* Writes the file that makes the call; `made` is its path. */
Status binding_make(const Binding *binding, const Op *op, const char *path, char made[PATH_MAX]);
