/* cuda_pipeline.h - asynchronous copies of a thread, for the emulator. */
#pragma once

#include "emulator/cuda.h"

static inline void __pipeline_memcpy_async(void *to, const void *from, size_t bytes, size_t zeros = 0,
                                           EmulatorSite site = emulator_here()) {
    if (bytes != 4 && bytes != 8 && bytes != 16) emulator_trap("__pipeline_memcpy_async() copies 4, 8 or 16 bytes", site);
    if (zeros > bytes) emulator_trap("__pipeline_memcpy_async() fills more than its bytes", site);
    emulator_check_alignment(to, bytes);
    emulator_check_alignment(from, bytes);
    emulator_copy_start(to, from, bytes - zeros, zeros, site);
}
static inline void __pipeline_commit() {
    emulator_copy_commit();
}
static inline void __pipeline_wait_prior(size_t groups) {
    emulator_copy_wait((unsigned)groups);
}
