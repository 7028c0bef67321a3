/* chain.h - the recurrence along long rows by all cores: blocks that threads take in turn. A block is read once to see what it
 * carries out, waits for what comes in, tells the next block, and is written while it is still in the cache. */
#ifndef RUNGS_IMPLS_DCS_CHAIN_H
#define RUNGS_IMPLS_DCS_CHAIN_H

#include "common/cpu_chain.h"
#include "common/discounted_cumsum/stretch.h"

#include <omp.h>

typedef struct DcsLink {
    ChainSlot slot;
    double carry; /* out of the block */
} DcsLink;

static inline size_t dcs_blocks(size_t count, size_t block) {
    return count / block + (count % block != 0);
}

enum { READ_TWICE = 4 };

/* Whole rows to each thread, unless more than half the threads would have none: the blocks of a chain are read twice. */
static inline bool dcs_by_rows(const DcsJob *job) {
    return 2 * job->rows >= (size_t)job->threads;
}

/* How the job is shared. In a chain each thread has to have more to do than on rows of its own. */
static inline void dcs_share(DcsJob *job, long long threads) {
    const size_t elements = job->rows * job->n;
    job->threads = chain_threads(threads, omp_get_max_threads(), elements);
    if (threads <= 0 && job->k == 0 && !dcs_by_rows(job)) job->threads = chain_threads(0, job->threads, elements / READ_TWICE);
    if (job->k == 0 && dcs_by_rows(job) && job->rows < (size_t)job->threads) job->threads = job->rows > 1 ? (int)job->rows : 1;
    job->block = dcs_by_rows(job) ? CHAIN_BLOCK : chain_block_size(elements, job->threads);
}

static inline bool dcs_is_chained(const DcsJob *job) {
    return job->k == 0 && !dcs_by_rows(job) && job->n > job->block;
}

static inline size_t dcs_chain_bytes(const DcsJob *job) {
    return job->rows * dcs_blocks(job->n, job->block) * sizeof(DcsLink);
}

/* What comes into a row's first block: nothing, or the position that has been written. */
static inline double dcs_entry(const DcsJob *job, size_t row) {
    return job->begin == 0 ? 0 : dcs_value(job->y, dcs_walk(job, row, 0).first, job->f32);
}

/* alone: there is one thread, so that what comes in is always there. */
static inline void dcs_chain_block(const DcsJob *job, size_t row, size_t block, bool alone, DcsLink *link) {
    const size_t from = job->begin + block * job->block, count = job->n - from < job->block ? job->n - from : job->block;
    const DcsWalk at = dcs_walk(job, row, from);
    double weight = 0, out = NAN, in;
    if (!alone && from + count < job->n) out = dcs_measure(job, at, count, &weight);
    if (block > 0) {
        chain_wait(&link[-1].slot);
        in = link[-1].carry;
    } else {
        in = dcs_entry(job, row);
    }
    const bool known = isfinite(in) && fabs(weight) <= DBL_MAX && fabs(out + weight * in) <= dcs_limit(job->f32);
    if (known) {
        link->carry = out + weight * in;
        chain_publish(&link->slot);
    }
    const double end = dcs_write(job, at, count, in);
    if (!known) {
        link->carry = end;
        chain_publish(&link->slot);
    }
}

/* links: dcs_chain_bytes of scratch. */
static inline void dcs_run_chained(const DcsJob *job, void *scratch) {
    DcsLink *links = scratch;
    const size_t per_row = dcs_blocks(job->n - job->begin, job->block), blocks = job->rows * per_row;
    for (size_t b = 0; b < blocks; b++) atomic_init(&links[b].slot.ready, 0);
#pragma omp parallel num_threads(job->threads)
    {
        const size_t team = (size_t)omp_get_num_threads();
        for (size_t b = (size_t)omp_get_thread_num(); b < blocks; b += team)
            dcs_chain_block(job, b / per_row, b % per_row, team == 1, &links[b]);
    }
}

#endif
