/* others.h - the other threads of this process, by their CPU time. */
#pragma once

enum { OTHERS_MAX = 1024 };

typedef struct OtherThread {
    int id;
    double seconds; /* of CPU time */
} OtherThread;

/* All but the calling one, as many as there is room for; returns how many. */
int others_look(OtherThread threads[OTHERS_MAX]);
