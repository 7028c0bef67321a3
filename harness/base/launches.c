#include "base/launches.h"

#include <stdio.h>

static Launches sums;
static Status first_failure = STATUS_OK;
static char first_message[256];

void launches_add(const unsigned grid[3], const unsigned block[3], size_t shared_bytes) {
    const double blocks = (double)grid[0] * grid[1] * grid[2];
    sums.launches++;
    sums.blocks += blocks;
    sums.threads += blocks * block[0] * block[1] * block[2];
    sums.shared_bytes += (double)shared_bytes;
}

Launches launches_take(void) {
    const Launches taken = sums;
    sums = (Launches){0};
    return taken;
}

Status launches_failed(Status status) {
    if (first_failure == STATUS_OK) {
        first_failure = status;
        snprintf(first_message, sizeof first_message, "%s", status_message());
    }
    return status;
}

Status launches_failure(void) {
    const Status failure = first_failure;
    first_failure = STATUS_OK;
    return failure == STATUS_OK ? STATUS_OK
                                : status_fail(failure, "a launch failed and run() did not report it: %s", first_message);
}
