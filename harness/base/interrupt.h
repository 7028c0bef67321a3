/* interrupt.h - a signal that asks the program to end. Code that waits, or is about to begin something long, checks whether one has
 * come. In a program that never calls interrupt_note the signal's default action holds. */
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
