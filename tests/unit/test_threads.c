/* Threads that end after run() has returned, because they had to wait for each other on their way out, have done nothing wrong. */
#include "worker/worker.h"

#include "base/clock.h"
#include "measure/measure.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROUNDS = 20, SLEEPERS = 200 };

static pthread_mutex_t door = PTHREAD_MUTEX_INITIALIZER, night = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t ready;

static void spin(double seconds) {
    const double begin = clock_seconds();
    while (clock_seconds() - begin < seconds) {}
}

static void *sleeps(void *context) {
    pthread_mutex_lock(&night);
    pthread_mutex_unlock(&night);
    return context;
}

static void *leaves_second(void *context) {
    pthread_barrier_wait(&ready);
    pthread_mutex_lock(&door);
    spin(1e-3);
    pthread_mutex_unlock(&door);
    return context;
}

static void *leaves_first(void *context) {
    const int round = *(int *)context;
    pthread_mutex_lock(&door);
    pthread_barrier_wait(&ready);
    spin(18e-3 + 1e-4 * round);
    pthread_mutex_unlock(&door);
    return NULL;
}

static void start(pthread_t *thread, void *(*work)(void *), void *context) {
    assert_int_equal(pthread_create(thread, NULL, work, context), 0);
}

/* Two hundred sleepers between the two make a round of looks long: often the first ends during one in which the second was seen to
 * wait. */
static void one_after_the_other(void **state) {
    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        pthread_t second, first, sleepers[SLEEPERS];
        bool alone = true;
        pthread_mutex_lock(&night);
        pthread_barrier_init(&ready, NULL, 3);
        start(&second, leaves_second, NULL);
        for (int i = 0; i < SLEEPERS; i++) start(&sleepers[i], sleeps, NULL);
        start(&first, leaves_first, &round);
        pthread_detach(second), pthread_detach(first);
        pthread_barrier_wait(&ready);
        if (threads_rest(0.03, &alone) != STATUS_OK) fail_msg("round %d: %s", round, status_message());
        assert_false(alone);
        pthread_mutex_unlock(&night);
        for (int i = 0; i < SLEEPERS; i++) pthread_join(sleepers[i], NULL);
        pthread_barrier_destroy(&ready);
    }
}

static void *wakes(void *context) {
    for (int i = 0; i < 2; i++) {
        pthread_mutex_lock(&night);
        spin(1e-3);
        pthread_mutex_unlock(&night);
        pthread_barrier_wait(&ready);
    }
    return context;
}

/* A thread that rested and is woken before the next call has worked between the two, also if it is asleep again. */
static void between_two_calls(void **state) {
    (void)state;
    pthread_t thread;
    bool alone = true;
    pthread_mutex_lock(&night);
    pthread_barrier_init(&ready, NULL, 2);
    start(&thread, wakes, NULL);
    assert_int_equal(threads_rest(0.03, &alone), STATUS_OK);
    assert_int_equal(threads_rested(), STATUS_OK);
    pthread_mutex_unlock(&night);
    pthread_barrier_wait(&ready);
    assert_int_equal(threads_rested(), STATUS_CHECK);
    pthread_barrier_wait(&ready);
    pthread_join(thread, NULL);
    assert_int_equal(threads_rested(), STATUS_CHECK);
    pthread_barrier_destroy(&ready);
}

enum { HOGS = 8, POOLS = 10 };

/* As a pool spins before it sleeps: the time passes for it even when others have its core. */
static void *spins_then_sleeps(void *context) {
    const double begin = clock_seconds();
    while (clock_seconds() - begin < 30e-3) sched_yield();
    return sleeps(context);
}

/* It may go without its core for longer than two looks are apart, and rests no more for that. */
static void a_pool_spins_on_a_busy_machine(void **state) {
    (void)state;
    pid_t hogs[HOGS];
    for (int i = 0; i < HOGS; i++)
        if ((hogs[i] = fork()) == 0)
            for (prctl(PR_SET_PDEATHSIG, SIGKILL);;) {}
    double worked = 0;
    for (int round = 0; round < POOLS; round++) {
        pthread_t pool;
        pthread_mutex_lock(&night);
        start(&pool, spins_then_sleeps, NULL);
        measure_watch();
        spin(20e-3);
        assert_int_equal(measure_rested(NULL), STATUS_OK);
        worked += measure_worked();
        pthread_mutex_unlock(&night);
        pthread_join(pool, NULL);
    }
    for (int i = 0; i < HOGS; i++) kill(hogs[i], SIGKILL), waitpid(hogs[i], NULL, 0);
    assert_true(worked == 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_after_the_other),
        cmocka_unit_test(between_two_calls),
        cmocka_unit_test(a_pool_spins_on_a_busy_machine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
