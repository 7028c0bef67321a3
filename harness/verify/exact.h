/* exact.h - outputs that must be right to the byte, and a verdict on them in words. */
#pragma once

#include "base/array.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct ExactReport {
    size_t count, expected_count; /* elements there are, and there should be */
    size_t mismatches;            /* elements that differ, with those that only one of the two has */
    size_t first_mismatch;        /* if there is one */
    size_t unwritten;             /* mismatches that are still poison (base/poison.h) */
    size_t first_unwritten;
    bool pass; /* starts false; true only if the sizes agree and every byte does */
} ExactReport;

/* Compares on all cores. Both of one dtype, on the host. poison: what `actual` was filled with (base/poison.h). */
void exact_compare(const Array *actual, const Array *expected, unsigned char poison, ExactReport *out);
/* One sentence for people: what is wrong with output `index` of the op's outputs, where; "" if it passed. If it belongs to a string
 * column (X.offsets, X.chars, X.validity) the row is named and quoted. actual: as large as the variant made them. Returns text. */
char *exact_explain(const ExactReport *report, const Array *actual, const Array *expected, int count, int index, char *text,
                    size_t size);
