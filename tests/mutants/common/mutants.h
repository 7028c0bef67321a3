/* mutants.h - the mutants of an op as a table in one file, cpu_mutants.c. The tunable `wrong` names the one that runs; `nothing` is
 * right and must pass. The file defines
 *     #define MUTANTS(M) M(nothing, 0) M(zero, .zero = true) ...     a name, and the initialiser of a `type`
 * before MUTANT_TABLE(type), whose rows mutant_of(args) finds. */
#pragma once

#include "variant.h"

#define MUTANT_NAME(name, ...) #name,
#define MUTANT_CHANGE(name, ...) {__VA_ARGS__},
#define MUTANT_TABLE(type)                                                                                                         \
    static const char *const WRONG[] = {MUTANTS(MUTANT_NAME) NULL};                                                                \
    static const ParamSpec TUNABLES[] = {{"wrong", "what it does wrong", PARAM_CHOICE, "nothing", 0, 0, WRONG}, {0}};              \
    static const type CHANGES[] = {MUTANTS(MUTANT_CHANGE)};                                                                        \
    static inline const type *mutant_of(const VariantArgs *args) {                                                                 \
        return &CHANGES[params_choice(args->tunables, "wrong")];                                                                   \
    }
