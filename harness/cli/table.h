/* table.h - what a run of a few cases ends with: a table of times for each case, and a sentence that says who won. */
#pragma once

#include "record/row.h"

/* Zero: empty. */
typedef struct Table {
    struct TableLine *lines;
    size_t count, capacity;
    bool full; /* there were more rows than a person reads, or there was no memory for them */
} Table;

/* A timed row; a later one of the same case and variant takes its place. Others are left out. */
void table_add(Table *self, const Row *row);
/* On stdout. Nothing where no row was timed, or there were too many. */
void table_print(const Table *self);
void table_free(Table *self);
/* Is it one of the words of a text? */
bool table_has_word(const char *text, const char *word, size_t length);
/* Three significant digits with a unit that people read: 27.1 ms. */
void table_seconds(double seconds, char text[32]);
