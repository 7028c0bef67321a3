#define _GNU_SOURCE /* sched_setaffinity, gettid */
#include "base/clock.h"
#include "base/process.h"
#include "base/shares.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <omp.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ITEMS_MAX = 1000 };

typedef struct Seen {
    unsigned char times[ITEMS_MAX];
    atomic_size_t shares, smallest;
} Seen;

static void see(void *context, size_t begin, size_t end) {
    Seen *seen = context;
    for (size_t i = begin; i < end; i++) seen->times[i]++;
    atomic_fetch_add(&seen->shares, 1);
    size_t least = atomic_load(&seen->smallest);
    while (end - begin < least && !atomic_compare_exchange_weak(&seen->smallest, &least, end - begin)) continue;
}

static void each_item_is_in_one_share(void **state) {
    (void)state;
    static const size_t counts[] = {0, 1, 2, 3, 7, 64, 65, 999, ITEMS_MAX};
    for (int threads = 1; threads <= 9; threads += 4) {
        omp_set_num_threads(threads);
        for (size_t c = 0; c < sizeof counts / sizeof *counts; c++)
            for (size_t least = 0; least <= 64; least += 16) {
                Seen seen = {.smallest = ITEMS_MAX};
                shares_run(counts[c], least, see, &seen);
                for (size_t i = 0; i < ITEMS_MAX; i++) assert_int_equal(seen.times[i], i < counts[c]);
                const size_t most = counts[c] < (size_t)threads ? counts[c] : (size_t)threads;
                assert_in_range(atomic_load(&seen.shares), counts[c] ? 1 : 0, most);
                if (least == 0) assert_int_equal(atomic_load(&seen.shares), most);
                if (counts[c] >= least && counts[c] > 0) assert_true(atomic_load(&seen.smallest) >= least);
            }
    }
}

static void keep_to(int core) {
    cpu_set_t mask;
    CPU_ZERO(&mask);
    CPU_SET((size_t)core, &mask);
    (void)sched_setaffinity(0, sizeof mask, &mask);
}

static pid_t caller;

/* The caller's share and the thread's, each on its core. */
static void spin(void *context, size_t begin, size_t end) {
    (void)begin, (void)end;
    const int *cores = context;
    keep_to(cores[gettid() != caller]);
    for (const double until = clock_seconds() + 3e-3; clock_seconds() < until;) {}
}

/* Who asks then what other threads have run does not meet one of ours on its way out: often one does where the caller's core is
 * busy, and the shares take about as long as a process runs at a time. */
static void its_threads_are_gone(void **state) {
    (void)state;
    static OtherThread others[OTHERS_MAX];
    cpu_set_t mask;
    int cores[2], found = 0;
    assert_int_equal(sched_getaffinity(0, sizeof mask, &mask), 0);
    for (int core = 0; core < CPU_SETSIZE && found < 2; core++)
        if (CPU_ISSET((size_t)core, &mask)) cores[found++] = core;
    if (found < 2) skip();
    caller = gettid();
    omp_set_num_threads(2);
    const pid_t busy = fork();
    if (busy == 0)
        for (prctl(PR_SET_PDEATHSIG, SIGKILL), keep_to(cores[0]);;) {}
    int seen = 0;
    for (int time = 0; time < 300; time++) {
        shares_run(2, 1, spin, cores);
        seen += others_look(others);
    }
    kill(busy, SIGKILL), waitpid(busy, NULL, 0);
    assert_int_equal(sched_setaffinity(0, sizeof mask, &mask), 0);
    assert_int_equal(seen, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_item_is_in_one_share),
        cmocka_unit_test(its_threads_are_gone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
