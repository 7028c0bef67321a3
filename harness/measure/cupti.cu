#include "measure/cupti.cuh"

#include "base/toolkit.h"
#include "kernel.h"
#include "measure/counts.h"

#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if RUNGS_CUPTI_ACTIVITY
static_assert(CUPTI_API_VERSION >= 18, "CUPTI of CUDA 12 or newer");

/* RUNGS_CUPTI names the library, or is empty for "none". Only one of the headers' major version: its records have their layout. */
static Status load(Cupti *out) {
    const int major = CUDART_VERSION / 1000;
    const char *wanted = getenv("RUNGS_CUPTI");
    void *library = wanted ? *wanted ? dlopen(wanted, RTLD_NOW | RTLD_LOCAL) : nullptr : toolkit_open("cupti", major);
    if (!library)
        return wanted
                   ? status_fail(STATUS_UNSUPPORTED, "CUPTI: RUNGS_CUPTI is '%s': %s", wanted, *wanted ? dlerror() : "none wanted")
                   : status_fail(STATUS_UNSUPPORTED,
                                 "CUPTI (libcupti.so.%d) was not found: on the loader's path, in CUDA_HOME, CUDA_PATH, "
                                 "/usr/local/cuda, build/cuda, build/python; install it with `pip install nvidia-cuda-cupti` or "
                                 "set RUNGS_CUPTI to the library",
                                 major);
#define CUPTI_FIND(name)                                                                                                           \
    out->name = reinterpret_cast<decltype(out->name)>(dlsym(library, #name));                                                      \
    if (!out->name && !*missing) *missing = #name;
    const char **missing = &out->missing;
    CUPTI_ACTIVITY_FUNCTIONS(CUPTI_FIND)
    missing = &out->range_missing;
    CUPTI_RANGE_FUNCTIONS(CUPTI_FIND)
#undef CUPTI_FIND
    Dl_info info = {};
    if (out->cuptiGetVersion && dladdr(reinterpret_cast<void *>(out->cuptiGetVersion), &info) != 0) out->path = info.dli_fname;
    if (!out->path) out->path = "libcupti";
    return STATUS_OK;
}

Status cupti_get(const Cupti **out) {
    static Cupti cupti;
    static bool loaded;
    if (!loaded) TRY(load(&cupti));
    loaded = true;
    if (cupti.missing) return status_fail(STATUS_UNSUPPORTED, "CUPTI: %s has no %s", cupti.path, cupti.missing);
    *out = &cupti;
    return STATUS_OK;
}

Status cupti_get_ranges(const Cupti **out) {
    TRY(cupti_get(out));
#if RUNGS_CUPTI_RANGES
    if ((*out)->range_missing)
        return status_fail(STATUS_UNSUPPORTED, "CUPTI: %s has no %s: CUPTI of CUDA 12.8 or newer is needed", (*out)->path,
                           (*out)->range_missing);
    return STATUS_OK;
#else
    return status_fail(STATUS_UNSUPPORTED,
                       "built with a CUPTI older than that of CUDA 12.8, which cannot count device memory this way");
#endif
}

struct Advice {
    CUptiResult result;
    const char *text;
};

static const Advice ADVICE[] = {
    {CUPTI_ERROR_INSUFFICIENT_PRIVILEGES,
     "; hardware counters need root or CAP_SYS_ADMIN, which a sandbox takes, or a driver that was "
     "loaded with NVreg_RestrictProfilingToAdminUsers=0"},
    {CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES, "; the hypervisor forbids hardware counters"},
    {CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED, "; not on a virtual GPU"},
    {CUPTI_ERROR_HARDWARE_BUSY, "; is another profiler at work?"},
    {CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED, "; another profiler runs this process"},
    {CUPTI_ERROR_NOT_INITIALIZED, "; is the driver older than this CUPTI?"},
    {CUPTI_ERROR_UNKNOWN, "; are libnvperf_host.so and libnvperf_target.so beside libcupti?"},
};

Status cupti_failed(const Cupti *cupti, CUptiResult result, const char *call) {
    const char *name = nullptr, *advice = "";
    char function[64];
    if (!cupti->cuptiGetResultString || cupti->cuptiGetResultString(result, &name) != CUPTI_SUCCESS || !name)
        name = "unknown result";
    for (const Advice &known : ADVICE)
        if (known.result == result) advice = known.text;
    const size_t length = strcspn(call, "(");
    snprintf(function, sizeof function, "%.*s", static_cast<int>(length), call);
    return status_fail(STATUS_UNSUPPORTED, "CUPTI: %s: %s (%d)%s", function, name, static_cast<int>(result), advice);
}

Status counts_library(const char **path) {
    const Cupti *cupti = nullptr;
    TRY(cupti_get(&cupti));
    *path = cupti->path;
    return STATUS_OK;
}
#else
Status cupti_get(const Cupti **out) {
    *out = nullptr;
    return status_fail(STATUS_UNSUPPORTED,
                       "built without CUPTI's headers: install them with the CUDA toolkit, or nvidia-cuda-cupti");
}

Status cupti_get_ranges(const Cupti **out) {
    return cupti_get(out);
}

Status counts_library(const char **path) {
    const Cupti *cupti = nullptr;
    *path = nullptr;
    return cupti_get(&cupti);
}
#endif

/* ---- Does counting work on this machine? With a copy of known size. */

enum { COPY_THREADS = 256 };
static const size_t COPY_BYTES = (size_t)64 << 20;

static __global__ void __launch_bounds__(COPY_THREADS) copy_kernel(const uint4 *from, uint4 *to, size_t n) {
    const size_t i = blockIdx.x * static_cast<size_t>(COPY_THREADS) + threadIdx.x;
    if (i < n) to[i] = from[i];
}

struct Copy {
    uint4 *from, *to;
    void *stream;
};

static Status run_copy(void *context) {
    const Copy *copy = static_cast<const Copy *>(context);
    const size_t n = COPY_BYTES / sizeof(uint4);
    return launch(copy_kernel, {static_cast<unsigned>((n + COPY_THREADS - 1) / COPY_THREADS), COPY_THREADS, 0, copy->stream},
                  copy->from, copy->to, n);
}

static Status copy_open(Copy *copy, void *stream) {
    *copy = Copy{nullptr, nullptr, stream};
    TRY_CUDA(cudaMalloc(&copy->from, COPY_BYTES));
    TRY_CUDA(cudaMalloc(&copy->to, COPY_BYTES));
    TRY_CUDA(cudaMemset(copy->from, 1, COPY_BYTES));
    return STATUS_OK;
}

static void copy_close(Copy *copy) {
    (void)cudaFree(copy->from);
    (void)cudaFree(copy->to);
}

Status counts_try_activity(void *stream) {
    Copy copy;
    ActivityList list = {};
    const MeasuredWork work = {run_copy, &copy};
    Status status = copy_open(&copy, stream);
    if (status == STATUS_OK) status = counts_activity(&work, stream, &list);
    const size_t launches = activity_count(&list, ACTIVITY_KERNEL);
    if (status == STATUS_OK && launches != 1)
        status = status_fail(STATUS_UNSUPPORTED, "CUPTI reported %zu launches instead of one", launches);
    activity_free(&list);
    copy_close(&copy);
    return status;
}

/* Some lines of what a call wrote may still be missing, but neither nothing nor everything twice. */
static bool plausible(double bytes) {
    return bytes > 0.5 * static_cast<double>(COPY_BYTES) && bytes < 1.5 * static_cast<double>(COPY_BYTES);
}

Status counts_try_bytes(void *stream) {
    Copy copy;
    ByteCounts bytes = {};
    const MeasuredWork work = {run_copy, &copy};
    Status status = copy_open(&copy, stream);
    if (status == STATUS_OK) status = counts_bytes(&work, stream, &bytes);
    copy_close(&copy);
    if (status == STATUS_OK && !(plausible(bytes.read) && plausible(bytes.written + bytes.written_behind)))
        return status_fail(STATUS_UNSUPPORTED, "CUPTI reported %.0f bytes read and %.0f written for a copy of %zu", bytes.read,
                           bytes.written + bytes.written_behind, COPY_BYTES);
    return status;
}
