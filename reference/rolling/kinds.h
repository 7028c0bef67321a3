/* kinds.h - the arithmetic of windows.c: what is known of a tile's heads and tails, and of two sets of elements together. */
#ifndef RUNGS_ROLLING_KINDS_H
#define RUNGS_ROLLING_KINDS_H

#include "windows.h"

/* Neighbouring outputs j = 0, 1, ..: from tail[from + j from_step] over what is between to head[to + j to_step]. The steps are 1,
 * or 0 at an end of the array. */
typedef struct WindowRun {
    const WindowRow *tail, *head;
    size_t from, to, from_step, to_step, count;
    Part between;
} WindowRun;

typedef struct Kind {
    /* Heads of `count` elements or, back, tails. */
    void (*scan)(const double *x, size_t count, bool back, WindowRow *out);
    Part (*merge)(Part left, Part right);
    /* Outputs out[at + j]. */
    void (*join)(const WindowRun *run, WindowRow *out, size_t at);
    double nan_stand_in; /* for elements that are not finite or, of extremes, NaN */
} Kind;

extern const Kind WINDOW_KINDS[];

#endif
