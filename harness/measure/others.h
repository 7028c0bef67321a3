/* others.h - the other threads of this process, by their CPU time. */
#pragma once

#include "base/status.h"

__BEGIN_DECLS

enum { OTHERS_MAX = 1024 };

typedef struct OtherThread {
    int id;
    double seconds; /* of CPU time */
} OtherThread;

/* All but the calling one, as many as there is room for; returns how many. */
int others_look(OtherThread threads[OTHERS_MAX]);

/* For the workers of Python libraries. Waits until they rest, for a third of a second at most. */
void measure_watch(void);
/* MeasuredWork's rested(). */
Status measure_rested(void *unused);
/* Seconds that they ran from measure_watch() to the beginning of the sample's clock. */
double measure_worked(void);

__END_DECLS
