#include "base/shares.h"

#include <omp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <unistd.h>

enum { SHARES_MAX = 1024 };

typedef struct Share {
    ShareWork work;
    void *context;
    size_t begin, end;
    pthread_t thread;
    pid_t id;
    bool runs;
} Share;

static void *run(void *context) {
    Share *share = context;
    share->id = gettid();
    share->work(share->context, share->begin, share->end);
    return NULL;
}

/* A joined thread has yet to leave the kernel, which on a busy machine takes as long as others run: until then it is among this
 * process's threads, with all the time that it has run. */
static void end(const Share *share) {
    pthread_join(share->thread, NULL);
    while (tgkill(getpid(), share->id, 0) == 0) sched_yield();
}

/* A thread inherits the mask of the one that starts it, which OpenMP may have bound to one place: then each gets a place, as in a
 * team. */
static void place(pthread_attr_t *attributes, int thread) {
    const int places = omp_get_proc_bind() == omp_proc_bind_false ? 0 : omp_get_num_places();
    if (places == 0) return;
    int processors[CPU_SETSIZE];
    const int index = thread % places, held = omp_get_place_num_procs(index);
    if (held < 1 || held > CPU_SETSIZE) return;
    omp_get_place_proc_ids(index, processors);
    cpu_set_t mask;
    CPU_ZERO(&mask);
    for (int i = 0; i < held; i++)
        if (processors[i] >= 0 && processors[i] < CPU_SETSIZE) CPU_SET((size_t)processors[i], &mask);
    (void)pthread_attr_setaffinity_np(attributes, sizeof mask, &mask); /* refused: it runs where we do */
}

static void start(Share *share, int thread) {
    pthread_attr_t attributes;
    if (pthread_attr_init(&attributes) != 0) return;
    place(&attributes, thread);
    share->runs = pthread_create(&share->thread, &attributes, run, share) == 0;
    pthread_attr_destroy(&attributes);
}

static size_t share_count(size_t items, size_t least) {
    const int threads = omp_get_max_threads();
    const size_t most = threads < SHARES_MAX ? (size_t)threads : SHARES_MAX, worth = items / (least ? least : 1);
    return worth < 1 ? 1 : worth < most ? worth : most;
}

void shares_run(size_t items, size_t least, ShareWork work, void *context) {
    if (items == 0) return;
    Share shares[SHARES_MAX];
    const size_t count = share_count(items, least), size = items / count, more = items % count; /* the first `more` have one more */
    for (size_t i = 0, begin = 0; i < count; i++) {
        const size_t end = begin + size + (i < more);
        shares[i] = (Share){.work = work, .context = context, .begin = begin, .end = end};
        if (i > 0) start(&shares[i], (int)i);
        begin = end;
    }
    for (size_t i = 0; i < count; i++)
        if (!shares[i].runs) run(&shares[i]);
    for (size_t i = 0; i < count; i++)
        if (shares[i].runs) end(&shares[i]);
}
