/* Idea: all cores, eight elements at a time. Blocks of up to 2^15 elements, which threads take in turn: a block is read once to see
 * what it amounts to, waits for the state before it, tells the next, and is written while it is still in the cache (ewm/eight.h,
 * cpu_chain.h). Where an element is NaN or infinite, or a series starts, eight are done one by one.
 * Traffic: each element once in and once out, the second reading is from the cache.
 * Rounding: in double, means and variances blended by shares of the weight, in 3 + n/8 steps; no difference of squares.
 * Limits: a block with a NaN, an infinity or a start cannot be summed up before what comes in is known: such blocks wait for each other.
 * Origin: Chan, Golub and LeVeque (1979) for joining; the chain of blocks: Yan, Long and Zhang (2013), StreamScan. */
#ifdef __AVX512F__
#pragma GCC target("prefer-vector-width=512")
#endif
#include "common/cpu_chain.h"
#include "common/ewm/eight.h"

#include <omp.h>

static const ParamSpec TUNABLES[] = {
    {"threads", "threads; 0: all cores, fewer where there is little to do", PARAM_INT, "0", 0, 4096, NULL},
    {0},
};

typedef struct Link {
    ChainSlot slot;
    EwmState state; /* after the block */
} Link;

typedef struct Job {
    EwmCase rule;
    EwmTables tables;
    const void *x;
    const uint8_t *starts; /* NULL: one series */
    void *y;
    bool f32;
    int threads;
    size_t block; /* elements */
} Job;

static size_t blocks_of(size_t n, size_t block) {
    return n / block + (n % block != 0);
}

static void share(Job *job, size_t n, long long threads) {
    job->threads = chain_threads(threads, omp_get_max_threads(), n);
    job->block = chain_block_size(n, job->threads);
}

static size_t scratch_bytes(const VariantArgs *args) {
    const size_t n = array_count(&args->in[0]);
    Job job = {0};
    share(&job, n, params_int(args->tunables, "threads"));
    return blocks_of(n, job.block) * sizeof(Link);
}

static void write_block(const Job *job, EwmState *state, size_t first, size_t end) {
    const EwmCase *rule = &job->rule;
    if (!job->tables.usable) {
        ewm_walk(rule, state, job->x, job->starts, job->y, job->f32, first, end);
        return;
    }
    switch (rule->agg * 2 + (job->f32 ? 1 : 0)) {
    case 0:
        ewm_write_as(rule, &job->tables, EWM_MEAN, false, state, job->x, job->starts, job->y, first, end);
        return;
    case 1:
        ewm_write_as(rule, &job->tables, EWM_MEAN, true, state, job->x, job->starts, job->y, first, end);
        return;
    case 2:
        ewm_write_as(rule, &job->tables, EWM_VAR, false, state, job->x, job->starts, job->y, first, end);
        return;
    case 3:
        ewm_write_as(rule, &job->tables, EWM_VAR, true, state, job->x, job->starts, job->y, first, end);
        return;
    case 4:
        ewm_write_as(rule, &job->tables, EWM_STD, false, state, job->x, job->starts, job->y, first, end);
        return;
    default:
        ewm_write_as(rule, &job->tables, EWM_STD, true, state, job->x, job->starts, job->y, first, end);
        return;
    }
}

static bool measure_block(const Job *job, EwmState *state, size_t first, size_t end) {
    if (!job->tables.usable) return false;
    switch ((job->rule.agg == EWM_MEAN ? 0 : 2) + (job->f32 ? 1 : 0)) {
    case 0:
        return ewm_measure_as(&job->tables, false, false, state, job->x, job->starts, first, end);
    case 1:
        return ewm_measure_as(&job->tables, false, true, state, job->x, job->starts, first, end);
    case 2:
        return ewm_measure_as(&job->tables, true, false, state, job->x, job->starts, first, end);
    default:
        return ewm_measure_as(&job->tables, true, true, state, job->x, job->starts, first, end);
    }
}

/* alone: there is one thread, so that the state before a block is always there. */
static void chain_block(const Job *job, size_t block, bool alone, Link *link) {
    const size_t n = job->rule.n, first = block * job->block, end = n - first < job->block ? n : first + job->block;
    EwmState state = {0}, own;
    bool known = !alone && block > 0 && end < n && measure_block(job, &own, first, end);
    if (block > 0) {
        chain_wait(&link[-1].slot);
        state = link[-1].state;
    }
    known = known && state.count > 0 && state.gap == 1 && state.special == 0;
    if (known) {
        link->state = ewm_join(&job->rule, &state, &own);
        chain_publish(&link->slot);
    }
    write_block(job, &state, first, end);
    if (!known) {
        link->state = state;
        chain_publish(&link->slot);
    }
}

static Status run(const VariantArgs *args) {
    Job job = {.rule = ewm_case(args), .x = args->in[0].data, .y = args->out[0].data, .f32 = args->problem->dtype == DTYPE_F32};
    job.tables = ewm_tables(&job.rule);
    if (job.rule.segments) job.starts = args->in[1].data;
    if (job.rule.n == 0) return STATUS_OK;
    share(&job, job.rule.n, params_int(args->tunables, "threads"));
    const size_t blocks = blocks_of(job.rule.n, job.block);
    Link *links = args->scratch;
    for (size_t b = 0; b < blocks; b++) atomic_init(&links[b].slot.ready, 0);
#pragma omp parallel num_threads(job.threads)
    {
        const size_t team = (size_t)omp_get_num_threads();
        for (size_t b = (size_t)omp_get_thread_num(); b < blocks; b += team) chain_block(&job, b, team == 1, &links[b]);
    }
    return STATUS_OK;
}

RUNGS_VARIANT(ewm, cpu_best) = {
    .backend = BACKEND_CPU,
    .summary = "blended shares of eight elements, blocks that hand their state from thread to thread, all cores",
    .origin = "Chan, Golub and LeVeque 1979; the chain of blocks: Yan, Long and Zhang 2013 (StreamScan)",
    .tunables = TUNABLES,
    .scratch_bytes = scratch_bytes,
    .run = run,
};
