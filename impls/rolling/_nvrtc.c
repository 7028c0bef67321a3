#include "_nvrtc.h"

#include "base/text.h"
#include "base/toolkit.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* NVRTC's C interface, as far as it is used here; its header need not be installed. */
typedef struct _nvrtcProgram *Program;
typedef struct Nvrtc {
    int (*create)(Program *, const char *source, const char *name, int header_count, const char *const *headers,
                  const char *const *names);
    int (*compile)(Program, int option_count, const char *const *options);
    int (*destroy)(Program *);
    int (*log_size)(Program, size_t *);
    int (*log)(Program, char *);
    int (*cubin_size)(Program, size_t *);
    int (*cubin)(Program, char *);
    const char *(*error_string)(int);
} Nvrtc;

enum { COMPILATION_FAILED = 6 };

static const char *const SYMBOLS[] = {
    "nvrtcCreateProgram", "nvrtcCompileProgram", "nvrtcDestroyProgram", "nvrtcGetProgramLogSize",
    "nvrtcGetProgramLog", "nvrtcGetCUBINSize",   "nvrtcGetCUBIN",       "nvrtcGetErrorString",
};
enum { SYMBOL_COUNT = sizeof SYMBOLS / sizeof *SYMBOLS };
_Static_assert(sizeof(Nvrtc) == SYMBOL_COUNT * sizeof(void *), "SYMBOLS are the members of Nvrtc, in order");

static Status load(int toolkit, Nvrtc *out) {
    const char *wanted = getenv("RUNGS_NVRTC");
    void *library = wanted && *wanted ? dlopen(wanted, RTLD_NOW | RTLD_LOCAL) : toolkit_open("nvrtc", toolkit);
    const int others[] = {13, 12};
    for (int i = 0; i < 2 && !library && !(wanted && *wanted); i++) library = toolkit_open("nvrtc", others[i]);
    if (!library && !(wanted && *wanted)) library = dlopen("libnvrtc.so", RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return status_fail(STATUS_UNSUPPORTED,
                           "NVRTC (libnvrtc.so.%d) was not found: on the loader's path, in CUDA_HOME, CUDA_PATH, /usr/local/cuda, "
                           "build/python; install it with `pip install nvidia-cuda-nvrtc` or set RUNGS_NVRTC to the library",
                           toolkit);
    void *address[SYMBOL_COUNT];
    for (int i = 0; i < SYMBOL_COUNT; i++) {
        address[i] = dlsym(library, SYMBOLS[i]);
        if (!address[i]) return status_fail(STATUS_UNSUPPORTED, "NVRTC: %s is missing in the library", SYMBOLS[i]);
    }
    memcpy(out, address, sizeof *out);
    return STATUS_OK; /* the library stays loaded */
}

static Status refused(const Nvrtc *nvrtc, Program program, const char *name, int error) {
    size_t size = 0;
    char *log = NULL;
    if (nvrtc->log_size(program, &size) == 0 && size > 1) log = calloc(size + 1, 1);
    if (log) nvrtc->log(program, log);
    const Status status =
        status_fail(error == COMPILATION_FAILED ? STATUS_INVALID : STATUS_DEVICE, "%s: NVRTC refused it (%s):\n%s", name,
                    nvrtc->error_string(error), log ? log : "(no message)");
    free(log);
    return status;
}

static Status take_cubin(const Nvrtc *nvrtc, Program program, void **cubin, size_t *bytes) {
    int error = nvrtc->cubin_size(program, bytes);
    if (error || *bytes == 0) return status_fail(STATUS_DEVICE, "NVRTC made no machine code: %s", nvrtc->error_string(error));
    char *code = malloc(*bytes);
    if (!code) return status_fail(STATUS_MEMORY, "no memory for %zu bytes of machine code", *bytes);
    error = nvrtc->cubin(program, code);
    if (error) {
        free(code);
        return status_fail(STATUS_DEVICE, "NVRTC: %s", nvrtc->error_string(error));
    }
    *cubin = code;
    return STATUS_OK;
}

Status nvrtc_compile(const char *source, const char *name, const char *architecture, int toolkit, void **cubin, size_t *bytes) {
    Nvrtc nvrtc = {0};
    TRY(load(toolkit, &nvrtc));
    Program program = NULL;
    int error = nvrtc.create(&program, source, name, 0, NULL, NULL);
    if (error) return status_fail(STATUS_DEVICE, "NVRTC: %s", nvrtc.error_string(error));
    char target[64];
    snprintf(target, sizeof target, "--gpu-architecture=%s", architecture);
    const char *const options[] = {target, "--std=c++17", "--generate-line-info"};
    error = nvrtc.compile(program, sizeof options / sizeof *options, options);
    const Status status = error ? refused(&nvrtc, program, name, error) : take_cubin(&nvrtc, program, cubin, bytes);
    nvrtc.destroy(&program);
    return status;
}
