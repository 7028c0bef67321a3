/* See terms.h. */
#include "terms.h"

enum { LEDGERS = 16 };

static struct {
    const double *tolerance;
    size_t count;
    BoundTerm *largest;
} ledgers[LEDGERS];
static size_t ledger_count;
static BoundTerm named; /* the largest of the present tolerance */

bool bound_terms_wanted;

void bound_term_add(const char *name, double size) {
    if (!named.name || size > named.size) named = (BoundTerm){name, size};
}

void bound_terms_clear(void) {
    named = (BoundTerm){0};
}

void bound_terms_keep(const double *tolerance) {
    if (!named.name) return;
    for (size_t k = 0; k < ledger_count; k++)
        if (tolerance >= ledgers[k].tolerance && tolerance < ledgers[k].tolerance + ledgers[k].count)
            ledgers[k].largest[tolerance - ledgers[k].tolerance] = named;
    bound_terms_clear();
}

void bound_terms_open(const double *tolerance, size_t count, BoundTerm *largest) {
    if (ledger_count == LEDGERS) return;
    for (size_t i = 0; i < count; i++) largest[i] = (BoundTerm){0};
    ledgers[ledger_count].tolerance = tolerance;
    ledgers[ledger_count].count = count;
    ledgers[ledger_count++].largest = largest;
    bound_terms_wanted = true;
}
