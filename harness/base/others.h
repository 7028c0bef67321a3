/* others.h - the other threads of this process, by their CPU time. */
#pragma once

enum { OTHERS_MAX = 1024 };

typedef struct OtherThread {
    int id;
    double seconds; /* of CPU time */
} OtherThread;

/* CPU seconds of a thread since those were looked at; all of its own where it is none of them. */
double other_ran(OtherThread now, const OtherThread *before, int count);
/* All but the calling one, as many as there is room for; returns how many. */
int others_look(OtherThread threads[OTHERS_MAX]);
