/* Idea: the published program, as it is. A copy of x, then one column after the other, in place: y[i] += gamma y[i+1] (left:
 * y[i-1]) in all rows, four rows to an iteration, the last rows one by one. Rows are n elements apart, so each addition touches
 * another cache line.
 * Traffic: 1 read and 1 write of n for the copy; then 1 read and 1 write of n while a cache holds one line of each row, else a line of
 *   each row from memory for each column.
 * Rounding: in the dtype, two roundings per step: the bits of cpu_sequential.
 * Limits: one thread. One gamma for each row: with one for several rows the published loop reads beyond it. No masks, no sums of k
 *   terms; 2^31 - 1 rows and columns, which it counts in int.
 * Origin: torch-discounted-cumsum 1.1.0, discounted_cumsum_cpu.cpp. */
#include "common/discounted_cumsum/case.h"

#include <limits.h>
#include <string.h>

#define DEFINE_UPDATE(T, suffix)                                                                                                   \
    static void update_##suffix(T *y, const T *gamma, int rows, size_t n, size_t to, size_t from) {                                \
        for (int i = 0; i < rows - 3; i += 4) {                                                                                    \
            T *row = y + (size_t)i * n;                                                                                            \
            row[to] += gamma[i] * row[from];                                                                                       \
            row[n + to] += gamma[i + 1] * row[n + from];                                                                           \
            row[2 * n + to] += gamma[i + 2] * row[2 * n + from];                                                                   \
            row[3 * n + to] += gamma[i + 3] * row[3 * n + from];                                                                   \
        }                                                                                                                          \
        for (int i = rows - (rows & 3); i < rows; i++) y[(size_t)i * n + to] += gamma[i] * y[(size_t)i * n + from];                \
    }
DEFINE_UPDATE(float, f32)
DEFINE_UPDATE(double, f64)

static bool supports(const VariantArgs *args, char reason[REASON_MAX]) {
    const DcsJob job = dcs_job(args);
    if (job.gamma_element) return variant_refuse(reason, "gamma_per=element: the published code has one gamma for each row");
    if (job.gamma_row == 0 && job.rows > 1)
        return variant_refuse(reason, "gamma_per=all batch=%zu: the published loop reads gamma[row] beyond its one value",
                              job.rows);
    if (params_choice(&args->problem->params, "reset") != 0)
        return variant_refuse(reason, "reset=mask: the published code has no mask");
    if (job.k > 0) return variant_refuse(reason, "k=%zu: the published code has no sums of k terms", job.k);
    if (job.rows > INT_MAX || job.n > INT_MAX)
        return variant_refuse(reason, "batch=%zu n=%zu: the published code counts rows and columns in int", job.rows, job.n);
    return true;
}

static Status run(const VariantArgs *args) {
    const DcsJob job = dcs_job(args);
    const int rows = (int)job.rows, n = (int)job.n;
    if (rows == 0 || n == 0) return STATUS_OK;
    memcpy(job.y, job.x, job.rows * job.n * dtype_size(args->problem->dtype));
    for (int turn = 1; turn < n; turn++) {
        const size_t to = (size_t)(job.right ? n - 1 - turn : turn), from = job.right ? to + 1 : to - 1;
        if (job.f32)
            update_f32(job.y, job.gamma, rows, job.n, to, from);
        else
            update_f64(job.y, job.gamma, rows, job.n, to, from);
    }
    return STATUS_OK;
}

RUNGS_VARIANT(discounted_cumsum, cpu_row_batched) = {
    .backend = BACKEND_CPU,
    .summary = "the published C++: column by column across all rows, four rows at a time, in place",
    .origin = "torch-discounted-cumsum 1.1.0",
    .supports = supports,
    .run = run,
};
