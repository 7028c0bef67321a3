/* Control: right, with working memory that each call maps, makes read-only once it is filled, and unmaps. Must pass. */
#include "variant.h"

#include <string.h>
#include <sys/mman.h>

static Status run(const VariantArgs *args) {
    const size_t n = array_count(&args->in[0]), bytes = n * sizeof(double);
    const double *x = args->in[0].data;
    double *sums = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (sums == MAP_FAILED) return status_fail(STATUS_MEMORY, "no mapping of %zu bytes", bytes);
    for (size_t i = 0; i < n; i++) sums[i] = x[i] + x[i];
    (void)mprotect(sums, bytes, PROT_READ);
    memcpy(args->out[0].data, sums, bytes);
    munmap(sums, bytes);
    return STATUS_OK;
}

RUNGS_VARIANT(double, cpu_mapped_control) = {
    .backend = BACKEND_CPU, .summary = "mutant: is right, with mapped working memory", .origin = "tests", .run = run};
