#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* pipe2 */
#endif
#include "base/process.h"

#include "base/clock.h"
#include "base/guard.h"
#include "base/interrupt.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

static const double SECONDS_BETWEEN_LOOKS = 0.5; /* whether a signal came just before the wait began */

/* Until end of file, or until a limit says that the program has to go. */
static Status collect(const char *name, int read_end, const ProcessLimits *limits, Text *output) {
    const double until = limits->seconds > 0 ? clock_seconds() + limits->seconds : INFINITY;
    const size_t before = output->length;
    for (;;) {
        const double left = until - clock_seconds();
        TRY(interrupt_check());
        if (!(left > 0)) return status_fail(STATUS_IO, "%s did not complete its answer within %g s", name, limits->seconds);
        if (limits->bytes && output->length - before > limits->bytes)
            return status_fail(STATUS_IO, "%s wrote more than %zu bytes", name, limits->bytes);
        struct pollfd wait_for = {.fd = read_end, .events = POLLIN};
        const int ready = poll(&wait_for, 1, (int)(fmin(left, SECONDS_BETWEEN_LOOKS) * 1000) + 1);
        if (ready == 0 || (ready < 0 && errno == EINTR)) continue;
        char piece[4096];
        const ssize_t got = read(read_end, piece, sizeof piece);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return status_fail(STATUS_IO, "%s: its answer cannot be read: %s", name, strerror(errno));
        if (got == 0) return STATUS_OK;
        TRY(text_append(output, "%.*s", (int)got, piece));
    }
}

Status process_capture(const char *const argv[], const ProcessLimits *limits, Text *output, int *exit_code) {
    static const ProcessLimits NONE = {0};
    if (!limits) limits = &NONE;
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return status_fail(STATUS_IO, "%s: no pipe: %s", argv[0], strerror(errno));
    Guard guard;
    const GuardProgram program = {argv, limits->variable, .output = ends[1], .own_input = limits->own_input,
                                  .quiet_errors = limits->quiet_errors};
    const int error = guard_start(&program, &guard);
    close(ends[1]);
    if (error) {
        close(ends[0]);
        return status_fail(error == ENOENT ? STATUS_UNSUPPORTED : STATUS_IO, "%s: cannot be started: %s", argv[0], strerror(error));
    }
    const Status status = collect(argv[0], ends[0], limits, output);
    close(ends[0]);
    *exit_code = guard_end(&guard, status == STATUS_OK ? GUARD_WAIT : interrupt_pending() ? GUARD_TERM : GUARD_KILL);
    return *exit_code >= 0 ? status : status_fail(STATUS_IO, "%s: cannot be waited for", argv[0]);
}
