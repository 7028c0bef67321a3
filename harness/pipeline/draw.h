/* draw.h - whatever is drawn for a row (the data of its samples, which of them are compared) follows from one number, which no
 * worker knows before the row has failed. */
#pragma once

#include "base/mode.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { DRAW_TEXT_MAX = 64, DRAW_ROUNDS_MAX = 2 };

typedef struct Draw {
    uint64_t shared; /* by all variants of a case, whose references are shared, too; 0: nothing is drawn */
    uint64_t own;    /* the row's */
    size_t samples;  /* of each mode, to repeat a failure; 0: as many as their time allows */
    bool in_rounds;  /* with --precision, whose earlier rounds ended after so many samples; 0: there are no more */
    size_t rounds[DRAW_ROUNDS_MAX];
} Draw;

typedef enum DrawWhat { DRAW_PILOT, DRAW_SAMPLE, DRAW_ORDER, DRAW_CALLS } DrawWhat;

/* From 1 to 2^63 - 1, as JSON has integers with a sign. */
uint64_t draw_anew(void);
/* Such a number for a set of inputs; from it nobody learns the draw, nor another of its numbers (SipHash). */
uint64_t draw_set(uint64_t shared, int set);
uint64_t draw_of(const Draw *self, Mode mode, DrawWhat what, size_t index);
/* 32 hexadecimal digits, "-" and each round, "-SAMPLES", "r" if in rounds. Returns text. */
char *draw_format(const Draw *self, char text[DRAW_TEXT_MAX]);
bool draw_parse(const char *text, Draw *out);
