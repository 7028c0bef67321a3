/* others.c - do the threads of a library rest before its calls? And do its calls leave handlers of signals? */
#include "base/clock.h"
#include "base/process.h"
#include "measure/kept.h"
#include "measure/measure.h"

#include <math.h>
#include <signal.h>
#include <string.h>
#include <time.h>

static const double REST_SECONDS = 1e-3, PATIENCE_SECONDS = 0.3; /* for pools that spin before they sleep */

static OtherThread before[OTHERS_MAX];
static int before_count;
static double worked;

/* What they have run since the last look. */
static double look_again(void) {
    static OtherThread now[OTHERS_MAX];
    const int count = others_look(now);
    double seconds = count == OTHERS_MAX ? INFINITY : 0; /* some may not have been seen */
    for (int i = 0; i < count; i++) seconds += other_ran(now[i], before, before_count);
    for (int i = 0; i < count; i++) before[i] = now[i];
    before_count = count;
    return seconds;
}

/* On a busy machine one that spins may not have run since the last look, and yet not sleep. */
static bool all_sleep(void) {
    for (int i = 0; i < before_count; i++)
        if (!other_sleeps(before[i].id)) return false;
    return true;
}

void measure_watch(void) {
    (void)look_again();
    for (double patient = 0; patient < PATIENCE_SECONDS; patient += REST_SECONDS) { /* counts steps, which take longer there */
        const bool slept = all_sleep();
        if (look_again() == 0 && slept) return;
        nanosleep(&(struct timespec){.tv_nsec = (long)(1e9 * REST_SECONDS)}, NULL);
    }
}

Status measure_rested(void *unused) {
    (void)unused;
    worked = look_again();
    return STATUS_OK;
}

double measure_worked(void) {
    return worked;
}

static void (*handlers[NSIG])(int);

static void (*handler_of(int number))(int) {
    struct sigaction action;
    return sigaction(number, NULL, &action) == 0 ? action.sa_handler : SIG_DFL;
}

void measure_look_at_handlers(void) {
    for (int number = 1; number < NSIG; number++) handlers[number] = handler_of(number);
}

Status measure_check_handlers(void) {
    for (int number = 1; number < NSIG; number++)
        if (handler_of(number) != handlers[number])
            return status_fail(STATUS_CHECK,
                               "in a call, sets a handler of signal %d (%s), which would compute outside of every sample", number,
                               strsignal(number));
    kept_expect(KEPT_ALWAYS);
    return STATUS_OK;
}

static int hooks;

int measure_hook(const char *event, void *given, void *told) {
    (void)given, (void)told;
    hooks += strcmp(event, "sys.addaudithook") == 0;
    return 0;
}

int measure_hooks(void) {
    return hooks;
}
