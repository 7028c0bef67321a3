/* selftest.h - the emulator's own tests. Clean kernels are correct CUDA: they must pass, without a word, in every order, in every
 * kind of build, and on a GPU (selftest_gpu.c), which shows that what the emulator takes for CUDA is CUDA. Each buggy kernel has
 * one bug, which must be reported as what it is.
 */
#pragma once

#include "base/status.h"
#include "device/device.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How the kernels of this program are watched. */
enum { KIND_PLAIN, KIND_ASAN, KIND_RACE, KIND_MEMORY, KIND_COUNT };

/* A result that is not what it should be: run() returns STATUS_CHECK. Otherwise the first words of the report. */
#define WRONG "wrong result"

typedef struct SelfTest {
    const char *name; /* NULL ends a table */
    Status (*run)(const Device *device);
    const char *noticed[KIND_COUNT]; /* as what, in random order; NULL: this kind of build cannot be counted on to notice */
    const char *says;                /* words that the report has as well, or NULL */
} SelfTest;

extern const SelfTest CLEAN_BLOCK[], CLEAN_WARP[], CLEAN_ATOMIC[], CLEAN_GRID[], CLEAN_CUB[], CLEAN_AFFINE[], CLEAN_HEAP[],
    CLEAN_OFFSETS[], CLEAN_SCOPES[], CLEAN_LITMUS[], CLEAN_COPIES[], CLEAN_STRINGS[], BUGS_SYNC[], BUGS_MEMORY[], BUGS_HEAP[],
    BUGS_SCOPES[], BUGS_MANY[], BUGS_LITMUS[], BUGS_COPIES[];

#ifdef __cplusplus
}

#include <stdlib.h>
#include <string.h>

/* Device memory with a copy of host[0 .. n), or (host NULL) undefined. Never freed: each test has a process of its own. */
template <typename T> static inline Status make_array(const Device *device, const T *host, size_t n, T **out) {
    void *memory = NULL;
    TRY(device->allocate(n * sizeof(T), &memory));
    *out = static_cast<T *>(memory);
    return host ? device->copy_in(memory, host, n * sizeof(T)) : STATUS_OK;
}

/* Waits for the kernels and compares bit by bit. */
template <typename T>
static inline Status expect_equal(const Device *device, const T *actual, const T *expected, size_t n, const char *what) {
    T *host = static_cast<T *>(malloc(n * sizeof(T)));
    if (!host) return status_fail(STATUS_MEMORY, "%s", what);
    Status status = device->wait(what);
    if (status == STATUS_OK) status = device->copy_out(host, actual, n * sizeof(T));
    for (size_t i = 0; i < n && status == STATUS_OK; i++)
        if (memcmp(&host[i], &expected[i], sizeof(T)) != 0)
            status = status_fail(STATUS_CHECK, "%s: element %zu is %a, expected %a", what, i, (double)host[i], (double)expected[i]);
    free(host);
    return status;
}
#endif
