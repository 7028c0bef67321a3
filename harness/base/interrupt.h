/* interrupt.h - a signal that asks the program to end. Who waits or is about to begin something long asks whether one has come. A
 * program that never calls interrupt_note is never interrupted so: the signal's own action holds. */
#ifndef RUNGS_BASE_INTERRUPT_H
#define RUNGS_BASE_INTERRUPT_H

#include "base/status.h"

/* For a signal handler: the first signal stays. */
void interrupt_note(int signal_number);
/* The signal that came; 0: none. */
int interrupt_pending(void);
/* STATUS_IO if one came. */
Status interrupt_check(void);

#endif
