/* params.h - named, typed, range-checked values: an op's parameters and a variant's tunables.
 *
 * A table of ParamSpec says what exists; Params holds one value for each. Text like "window=3000" is the only way in, so that a
 * case on the command line, in a scenario file and in a row go through the same checks and the same messages.
 */
#pragma once

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>

__BEGIN_DECLS

/* PARAM_OPTION: a choice that an op got when there were rows of it. Texts and rows leave out its default, so that theirs stay as
 * they are, and a variant takes another value only where its descriptor lists the option. */
typedef enum ParamKind { PARAM_INT, PARAM_REAL, PARAM_CHOICE, PARAM_TEXT, PARAM_OPTION } ParamKind;

enum { PARAMS_MAX = 16, PARAM_NAME_MAX = 32, PARAM_TEXT_MAX = 256 };

typedef struct ParamSpec {
    const char *name; /* NULL ends a table */
    const char *summary;
    ParamKind kind;
    const char *fallback;       /* the default, as text; NULL: must be given */
    double min, max;            /* inclusive, for PARAM_INT and PARAM_REAL; integers stay below 2^53 */
    const char *const *choices; /* NULL-terminated, for PARAM_CHOICE and PARAM_OPTION */
} ParamSpec;

/* Small, because a plan holds thousands of cases. */
typedef struct ParamValue {
    union { /* by the kind of its ParamSpec */
        long long integer;
        double real;
        int choice; /* index into choices */
    };
    const char *text; /* canonical; lives until the program ends, one copy of equal texts */
} ParamValue;

typedef struct Params {
    const ParamSpec *specs; /* values[i] is a value of specs[i] */
    int count;
    unsigned given; /* bit i: values[i] was set, and is not the default */
    ParamValue values[PARAMS_MAX];
} Params;

/* All values at their defaults (those without one stay unset). specs may be NULL: no parameters. */
Status params_init(const ParamSpec *specs, Params *out);
/* Sets one value from text. Integers accept 100000000, 1e8 and 2^22; reals anything strtod takes (0.99f is not special).
 * Errors (STATUS_INVALID) name the parameter, the offending text and what is allowed; unknown names list the known ones. */
Status params_set(Params *params, const char *name, const char *text);
/* Fails naming the first parameter that has no default and was not given. */
Status params_complete(const Params *params);

/* Look up a declared parameter. Asking for an undeclared one is a programming error and aborts with its name. */
long long params_int(const Params *params, const char *name);
double params_real(const Params *params, const char *name);
int params_choice(const Params *params, const char *name);
const char *params_text(const Params *params, const char *name); /* any kind, in canonical text */
bool params_has(const Params *params, const char *name);
bool params_given(const Params *params, int index);  /* false: the default stands */
bool params_unsaid(const Params *params, int index); /* an option at its default */
bool params_chosen(const Params *params, int index); /* an option at another value */
/* " name=value" for each that is not left unsaid, canonical and in declared order, into text; returns the length it needs (snprintf
 * style). */
size_t params_format(const Params *params, bool only_given, char *text, size_t size);

__END_DECLS
