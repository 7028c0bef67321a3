#include "base/interrupt.h"

#include <signal.h>
#include <string.h>

static volatile sig_atomic_t noted;

void interrupt_note(int signal_number) {
    if (!noted) noted = signal_number;
}

int interrupt_pending(void) {
    return noted;
}

Status interrupt_check(void) {
    return noted ? status_fail(STATUS_IO, "interrupted by signal %d (%s)", (int)noted, strsignal(noted)) : STATUS_OK;
}
