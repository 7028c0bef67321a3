/* devices_alone.c - each GPU copies alone, then all at once: a process each, since a question to a worker waits for its answer. */
#include "base/clock.h"
#include "base/process.h"
#include "base/stats.h"
#include "device/child.h"
#include "pipeline/run.h"
#include "protocol.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { REPEATS = 9 };
static const double COPY_BYTES = 256e6, PATIENCE_SECONDS = 120, ANSWER_SECONDS = 60;
static const double COLD_MOST = 1.01, HOST_MOST = 1.01; /* of the time alone */

/* What the processes share. */
typedef struct Board {
    atomic_int turn, done; /* how many have measured alone; beside the others */
    atomic_bool broken;
    char why[256];
    DeviceTrial trials[DEVICES_MAX];
} Board;

static bool wait_for(Board *board, atomic_int *number, int value) {
    const struct timespec nap = {.tv_nsec = 1000000};
    const double end = clock_seconds() + PATIENCE_SECONDS;
    while (atomic_load(number) < value && !atomic_load(&board->broken) && clock_seconds() < end) nanosleep(&nap, NULL);
    return atomic_load(number) >= value && !atomic_load(&board->broken);
}

static Status measure(Child *child, int device, double *cold, double *complete) {
    Limit limits[MEASURE_MODE_COUNT];
    json_t *reply = NULL;
    TRY(child_ask(child,
                  json_pack("{s:s, s:s, s:i, s:f, s:f, s:[s, s]}", KEY_DO, DO_LIMIT, KEY_KIND, "cuda", KEY_DEVICE, device,
                            KEY_BYTES_READ, COPY_BYTES, KEY_BYTES_WRITTEN, COPY_BYTES, KEY_MODES, mode_name(MODE_COLD),
                            mode_name(MODE_COMPLETE)),
                  ANSWER_SECONDS, &reply));
    limits_read(json_object_get(reply, KEY_LIMIT), limits);
    json_decref(reply);
    *cold = limits[MODE_COLD].seconds, *complete = limits[MODE_COMPLETE].seconds;
    return STATUS_OK;
}

/* Medians; the first REPEATS count, and it goes on until `others` have theirs. */
static Status repeat(Board *board, Child *child, int device, int others, DeviceTrial *trial, int which) {
    double cold[REPEATS], complete[REPEATS], unused;
    for (int i = 0; i < REPEATS; i++) TRY(measure(child, device, &cold[i], &complete[i]));
    trial->cold[which] = stats_of(cold, REPEATS).median;
    trial->complete[which] = stats_of(complete, REPEATS).median;
    if (others > 0) atomic_fetch_add(&board->done, 1);
    while (atomic_load(&board->done) < others && !atomic_load(&board->broken)) TRY(measure(child, device, &unused, &unused));
    return STATUS_OK;
}

static Status take_part(Board *board, const int *devices, int count, int mine) {
    Child *child = NULL;
    double unused;
    Status status = child_start(&(ChildOptions){0}, &child);
    if (status == STATUS_OK) status = measure(child, devices[mine], &unused, &unused); /* contexts, memory */
    if (status == STATUS_OK && wait_for(board, &board->turn, mine))
        status = repeat(board, child, devices[mine], 0, &board->trials[mine], 0);
    if (status == STATUS_OK) atomic_fetch_add(&board->turn, 1);
    if (status == STATUS_OK && wait_for(board, &board->turn, count))
        status = repeat(board, child, devices[mine], count, &board->trials[mine], 1);
    if (status != STATUS_OK && !atomic_exchange(&board->broken, true))
        snprintf(board->why, sizeof board->why, "GPU %d: %.200s", devices[mine], status_message());
    child_stop(child);
    return status;
}

Status devices_try(const int *devices, int count, DeviceTrial trials[]) {
    pid_t processes[DEVICES_MAX];
    Board *board = mmap(NULL, sizeof *board, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (board == MAP_FAILED) return status_fail(STATUS_MEMORY, "no memory for the GPUs' trial");
    int well = 0;
    (void)fflush(NULL);
    for (int d = 0; d < count; d++) {
        processes[d] = fork();
        if (processes[d] == 0) _exit(take_part(board, devices, count, d) == STATUS_OK ? 0 : 1);
        if (processes[d] < 0) atomic_store(&board->broken, true);
    }
    for (int d = 0; d < count; d++) {
        int how = 1;
        while (processes[d] > 0 && waitpid(processes[d], &how, 0) < 0 && !interrupt_pending()) continue;
        if (how != 0) atomic_store(&board->broken, true);
        well += how == 0 && board->trials[d].cold[1] > 0;
    }
    memcpy(trials, board->trials, (size_t)count * sizeof *trials);
    const Status status =
        well == count ? STATUS_OK : status_fail(STATUS_DEVICE, "%s", *board->why ? board->why : "a trial broke off");
    (void)munmap(board, sizeof *board);
    return status;
}

const char *devices_disturbed(const int *devices, int count, const DeviceTrial trials[], bool *host) {
    static char why[160];
    *why = '\0', *host = false;
    for (int d = 0; d < count; d++) {
        const double cold = trials[d].cold[1] / trials[d].cold[0], complete = trials[d].complete[1] / trials[d].complete[0];
        if (!(cold <= COLD_MOST))
            snprintf(why, sizeof why, "cold times of GPU %d change by %+.1f%% beside the others", devices[d], 100 * (cold - 1));
        if (!(complete <= HOST_MOST)) *host = true;
    }
    return *why ? why : NULL;
}
