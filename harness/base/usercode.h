/* usercode.h - window functions that users write: from a source file to a function that can be called. Users read docs/APPLY.md.
 *
 * The same file is compiled by the host compiler (here) and by NVRTC (impls/rolling/_nvrtc.h). Both see it between a prelude, which
 * defines `real`, and #line, so that messages show the user's own file and lines.
 */
#pragma once

#include "base/status.h"
#include "base/text.h"

__BEGIN_DECLS

#define USERCODE_PARAM "function" /* the parameter of an op that names the file */
enum { USERCODE_NAME_MAX = 256 };

typedef enum UsercodeReal { USERCODE_F32, USERCODE_F64, USERCODE_LONG_DOUBLE } UsercodeReal;

/* out[0 .. arr_len) are the outputs of this call; shared[offset + i] is the newest element of output i's window. */
typedef void (*WindowFunctionF32)(const float *shared, int history_len, float *out, int window_size, int arr_len, int offset);
typedef void (*WindowFunctionF64)(const double *shared, int history_len, double *out, int window_size, int arr_len, int offset);
typedef void (*WindowFunctionLongDouble)(const long double *shared, int history_len, long double *out, int window_size, int arr_len,
                                         int offset);

typedef union WindowFunction {
    void *address;
    WindowFunctionF32 f32;
    WindowFunctionF64 f64;
    WindowFunctionLongDouble long_double;
} WindowFunction;

typedef struct Usercode {
    void *library;
    WindowFunction function;
} Usercode;

/* How the calling file itself is sanitized, so that an emulated kernel's user function is sanitized like the kernel. */
typedef struct UsercodeBuild {
    const char *flags; /* one argument for the compiler; NULL: a plain build */
    int clang;         /* the major version of the clang whose sanitizers the program has; 0: gcc's */
} UsercodeBuild;

#if defined(__SANITIZE_ADDRESS__)
#define USERCODE_FLAGS "-fsanitize=address"
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) && __has_feature(undefined_behavior_sanitizer) /* what a C program's runtime has */
#define USERCODE_FLAGS                                                                                                             \
    "-fsanitize=address,alignment,bool,bounds,float-cast-overflow,integer-divide-by-zero,null,object-size,return,shift,"           \
    "signed-integer-overflow,unreachable,vla-bound"
#elif __has_feature(address_sanitizer)
#define USERCODE_FLAGS "-fsanitize=address"
#elif __has_feature(memory_sanitizer) && defined(RUNGS_EMULATED)
#define USERCODE_FLAGS "-fsanitize=kernel-memory"
#elif __has_feature(memory_sanitizer)
#define USERCODE_FLAGS "-fsanitize=memory"
#endif
#endif
#ifndef USERCODE_FLAGS
#define USERCODE_FLAGS NULL
#endif
#ifdef __clang__
static const UsercodeBuild USERCODE_BUILD = {USERCODE_FLAGS, __clang_major__};
#else
static const UsercodeBuild USERCODE_BUILD = {USERCODE_FLAGS, 0};
#endif

/* Compiles `path` with the host compiler ($RUNGS_HOST_CC, else the first C++ compiler found) and loads it. build: &USERCODE_BUILD.
 * A relative path that does not exist is looked for in the source tree too. A name as usercode_name() gives it is taken where the
 * file lies in the current folder and still has this content. STATUS_INVALID: no such file, the compiler's message, or no
 * window_function in it; STATUS_UNSUPPORTED: no compiler. */
Status usercode_open(const char *path, UsercodeReal real, const UsercodeBuild *build, Usercode *out);
void usercode_close(Usercode *code);

/* What rows call the file: its path in the source tree, else "NAME#HASH", its name and a hash of its content. */
void usercode_name(const char *path, char name[USERCODE_NAME_MAX]);
/* STATUS_INVALID if there is no such file that could be a function. */
Status usercode_check(const char *path);
/* prelude + declaration + #line + the user's file + tail, for another compiler. */
Status usercode_source(const char *path, const char *prelude, UsercodeReal real, const char *tail, Text *out);
/* The failure of a file that compiled but defines no window function. */
Status usercode_missing(const char *path);

__END_DECLS
