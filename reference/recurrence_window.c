/* Sums of the last K terms, by van Herk's and Gil and Werman's cut: the row in tiles of K positions; a window is the tail of one
 * tile and the head of the next, joined without a subtraction, so that what has left a window leaves no trace. */
#include "recurrence.h"

#include <stdlib.h>

Status recurrence_run_window(const RecurrenceLine *line, size_t terms, RecurrenceEmit emit, void *context) {
    (void)line, (void)terms, (void)emit, (void)context;
    return status_fail(STATUS_UNSUPPORTED, "k: not yet");
}
