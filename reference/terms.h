/* terms.h - which term of a bound is the largest, for docs/VERIFICATION.md. Bounds name their terms as they add them up; somebody
 * who wants to know opens a ledger first, and runs the reference in one thread. Nobody else pays more than a comparison. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Of one tolerance. */
typedef struct BoundTerm {
    const char *name; /* NULL: no term was named */
    double size;
} BoundTerm;

extern bool bound_terms_wanted;

void bound_term_add(const char *name, double size);
void bound_terms_clear(void);
void bound_terms_keep(const double *tolerance);

static inline void bound_term(const char *name, double size) {
    if (bound_terms_wanted) bound_term_add(name, size);
}
/* What was named so far does not count. */
static inline void bound_terms_forget(void) {
    if (bound_terms_wanted) bound_terms_clear();
}
/* What was named, if anything was, is of this tolerance. */
static inline void bound_terms_settle(const double *tolerance) {
    if (bound_terms_wanted) bound_terms_keep(tolerance);
}

/* For tolerances [count] of one output; several ledgers may be open. */
void bound_terms_open(const double *tolerance, size_t count, BoundTerm *largest);
