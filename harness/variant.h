/* variant.h - contract: one way of computing an op.
 *
 * A variant is one file, impls/<op>/<name>.c or .cu, that includes this header (and kernel.h, if it has kernels) and ends
 * with one descriptor:
 *
 *     RUNGS_VARIANT(rolling, cuda_shared) = {
 *         .backend = BACKEND_CUDA, .summary = "...", .origin = "...", .tunables = TUNABLES,
 *         .supports = supports, .scratch_bytes = scratch_bytes, .run = run,
 *     };
 *
 * The two words are the folder and the file. A file compiles to a module of its own, modules/<op>/<name>.so, that a worker loads; a
 * .cu file to two, for the device and for the emulator. What it defines besides is seen by nobody else; of the harness it may call
 * the functions of base/. A peer (peer_*.py) has the same fields in a Python dictionary; see docs/ADDING_A_VARIANT.md.
 *
 * The harness owns all memory. run() enqueues on the given stream (CPU variants just compute), keeps no state between
 * calls, leaves its inputs alone and writes every element of its outputs. An array that it updates in place (op.h) is both an input
 * and an output, restored before each call, and at another address in each call.
 */
#pragma once

#include "base/array.h"
#include "base/case.h"
#include "base/params.h"
#include "base/status.h"

__BEGIN_DECLS

typedef enum Backend { BACKEND_CPU, BACKEND_CUDA, BACKEND_PEER } Backend;

enum { REASON_MAX = 256 };

/* Harness-owned allocator for ops whose output size depends on the data or whose subject is allocation itself: counted, and timed
 * with the call. A CPU variant gets malloc; a CUDA variant the resource that its tunable `memory` names (MEMORY_TUNABLE; cuda
 * without it). run() releases what it allocated, except what it hands over as an output sized by data: it sets out[i].data and
 * out[i].shape[0], and the harness releases that after the call, outside its time. Null for 0 bytes.
 *
 * A CUDA variant need not wait to learn a size: it sets out[i].shape[0] to COUNT_ON_DEVICE, and its kernels write the number of
 * elements to counts[i]. */
#define MEMORY_TUNABLE                                                                                                             \
    {                                                                                                                              \
        "memory",                                                                                                                  \
            "cuda: cudaMalloc and cudaFree; pool: a stream-ordered pool that keeps its memory; arena: one block taken before "     \
            "the call, so that allocation costs nothing",                                                                          \
            PARAM_CHOICE, "cuda", 0, 0, MEMORY_RESOURCES                                                                           \
    }
extern const char *const MEMORY_RESOURCES[]; /* harness/base/refuse.c */

#define COUNT_ON_DEVICE SIZE_MAX
typedef struct VariantMemory {
    Status (*allocate)(struct VariantMemory *memory, size_t bytes, void *stream, void **out);
    void (*release)(struct VariantMemory *memory, void *pointer, void *stream);
} VariantMemory;

typedef struct VariantArgs {
    const Case *problem;    /* op parameters, dtype, ... as resolved */
    const Params *tunables; /* the variant's own, as resolved */
    const Array *in;        /* in the op's order; device memory for BACKEND_CUDA */
    int in_count;
    Array *out; /* in the op's order */
    int out_count;
    void *scratch; /* scratch_bytes() bytes, 256-byte aligned, contents undefined */
    size_t scratch_bytes;
    void *stream; /* cudaStream_t for BACKEND_CUDA; NULL otherwise */
    VariantMemory *memory;
    unsigned long long *counts; /* device memory, one for each output, for COUNT_ON_DEVICE; NULL unless sizes depend on the data */
    void *state;                /* what prepare() made; NULL without it */
} VariantArgs;

/* How a variant launches its kernels on the device that is present: named numbers, for the row and for `rungs doctor`. */
enum { LAUNCH_NOTES_MAX = 16 };
typedef struct LaunchNotes {
    int count;
    struct {
        const char *name; /* "blocks", "threads", "shared_bytes", ...; not copied */
        double value;
    } notes[LAUNCH_NOTES_MAX];
} LaunchNotes;

static inline void launch_note(LaunchNotes *notes, const char *name, double value) {
    if (notes->count == LAUNCH_NOTES_MAX) return;
    notes->notes[notes->count].name = name;
    notes->notes[notes->count++].value = value;
}

typedef struct Variant {
    Backend backend;
    const char *summary;       /* one line: what `rungs list` and the report print */
    const char *origin;        /* where the algorithm comes from */
    const char *library;       /* whose kernel run() launches, with its version ("CUB 3.0.1"); NULL: this project's */
    const ParamSpec *tunables; /* NULL: none */
    const DType *dtypes;       /* of the case, that it takes, DTYPE_COUNT last; NULL: all of the op's but narrow ones */
    const DType *accumulates;  /* of `accumulate=` other than usual, what it takes, likewise; NULL: nothing */
    const char *bound;         /* a looser bound of the op that this variant declares ("textbook"); NULL: none */
    const char *not_emulated;  /* why the emulator cannot run it (inline PTX, clusters); NULL: it can */
    /* Of the op's options (PARAM_OPTION) those that it takes at any value, NULL last. NULL: none. */
    const char *const *options;

    /* May this variant run this case? Called with shapes but without data or device. If not, writes why into reason and returns
     * false. NULL: always. */
    bool (*supports)(const VariantArgs *args, char reason[REASON_MAX]);
    /* Device (or host) bytes of scratch that run() needs. NULL: none. */
    size_t (*scratch_bytes)(const VariantArgs *args);
    /* Work done once per case and never inside a sample, such as compiling a user's function; its time is reported apart.
     * NULL: none. release() undoes it. */
    Status (*prepare)(const VariantArgs *args, void **state);
    void (*release)(void *state);
    Status (*run)(const VariantArgs *args);
    /* The launch configuration that run() derives from the case and the device; `out` arrives empty. Called with shapes, without
     * data. NULL: nothing to tell. */
    Status (*configuration)(const VariantArgs *args, LaunchNotes *out);
} Variant;

/* What a module exports, and nothing else: the variant, and what has to be called inside of the module. */
typedef struct VariantModule {
    const char *contract;  /* hash of the contract's headers that it was compiled with */
    const char *op, *name; /* the words of RUNGS_VARIANT */
    const Variant *variant;
    /* Each module has a CUDA runtime of its own, which shares the device's context with the harness's, but neither the choice of
     * the device nor the error that a launch left behind. NULL: it has none. */
    Status (*use_device)(int index);
    Status (*take_error)(const char *what);
} VariantModule;
#define RUNGS_MODULE_SYMBOL "rungs_module"

#ifndef RUNGS_CONTRACT /* the build says it */
#define RUNGS_CONTRACT ""
#endif
#if defined(__CUDACC__) && !defined(RUNGS_EMULATED)
static inline Status rungs_use_device(int index) {
    const cudaError_t error = cudaSetDevice(index);
    return error == cudaSuccess ? STATUS_OK : status_fail(STATUS_DEVICE, "cudaSetDevice: %s", cudaGetErrorString(error));
}

static inline Status rungs_take_error(const char *what) {
    const cudaError_t error = cudaGetLastError();
    if (error == cudaSuccess) return STATUS_OK;
    return status_fail(STATUS_DEVICE, "%s: %s (%s)", what, cudaGetErrorString(error), cudaGetErrorName(error));
}
#define RUNGS_RUNTIME rungs_use_device, rungs_take_error
#else
#define RUNGS_RUNTIME NULL, NULL
#endif

#ifdef __cplusplus
#define RUNGS_LINKAGE extern "C"
#else
#define RUNGS_LINKAGE extern
#endif
#define RUNGS_VARIANT(op, name)                                                                                                    \
    RUNGS_LINKAGE const Variant rungs_variant;                                                                                     \
    RUNGS_LINKAGE const VariantModule rungs_module;                                                                                \
    const VariantModule rungs_module __attribute__((visibility("default"), section(".rungs_module"))) = {                          \
        RUNGS_CONTRACT, #op, #name, &rungs_variant, RUNGS_RUNTIME};                                                                \
    const Variant rungs_variant

/* supports() helper: writes the reason, printf style, and returns false. */
bool variant_refuse(char reason[REASON_MAX], const char *format, ...)
#ifdef __GNUC__
    __attribute__((format(printf, 2, 3)))
#endif
    ;

__END_DECLS
