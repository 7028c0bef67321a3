#include "emulator/memory.h"

#include "emulator/fault.h"
#include "emulator/program.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

void __sanitizer_start_switch_fiber(void **kept, const void *bottom, size_t bytes) __attribute__((weak));
void __sanitizer_finish_switch_fiber(void *kept, const void **bottom_left, size_t *bytes_left) __attribute__((weak));
void __asan_poison_memory_region(void const volatile *from, size_t bytes) __attribute__((weak));
void __asan_unpoison_memory_region(void const volatile *from, size_t bytes) __attribute__((weak));
void *__asan_region_is_poisoned(void *from, size_t bytes) __attribute__((weak));
void __asan_set_error_report_callback(void (*called)(const char *text)) __attribute__((weak));
void *__asan_get_report_pc(void) __attribute__((weak));
void *__asan_get_report_address(void) __attribute__((weak));
int __asan_get_report_access_type(void) __attribute__((weak));
size_t __asan_get_report_access_size(void) __attribute__((weak));
void __ubsan_get_current_report_data(const char **kind, const char **message, const char **file, unsigned *line, unsigned *column,
                                     char **address) __attribute__((weak));

void sanitizer_start_switch(void **kept, Stack to) {
    if (__sanitizer_start_switch_fiber) __sanitizer_start_switch_fiber(kept, to.bottom, to.bytes);
}

void sanitizer_finish_switch(void *kept, Stack *left) {
    if (!__sanitizer_finish_switch_fiber) return;
    const void *bottom;
    size_t bytes;
    __sanitizer_finish_switch_fiber(kept, &bottom, &bytes);
    if (!left->bottom) *left = (Stack){(void *)(uintptr_t)bottom, bytes};
}

void sanitizer_forbid(const void *from, size_t bytes) {
    if (__asan_poison_memory_region && bytes) __asan_poison_memory_region(from, bytes);
}

void sanitizer_allow(const void *from, size_t bytes) {
    if (__asan_unpoison_memory_region && bytes) __asan_unpoison_memory_region(from, bytes);
}

const void *sanitizer_first_forbidden(const void *from, size_t bytes) {
    return __asan_region_is_poisoned ? __asan_region_is_poisoned((void *)(uintptr_t)from, bytes) : NULL;
}

/* Called by the runtimes before they print and end the process: first say it in CUDA's words. */

/* Of clang 19 AddressSanitizer takes its locks before a fork, which would wait for ever for the one that it holds while it
 * reports. */
static bool reporting;
pid_t fork(void) {
    pid_t (*const usual)(void) = (pid_t(*)(void))(uintptr_t)dlsym(RTLD_NEXT, "fork");
    return reporting || !usual ? _Fork() : usual();
}

/* ASAN_OPTIONS of a program: its host code goes on where AddressSanitizer can, a few times. */
static void after_report(const char *text) {
    static int reports;
    (void)text;
    if (engine.launch || ++reports == FAULTS_MAX) _exit(FAULT_EXIT_CODE);
}

void sanitizer_watch_program(void) {
    if (__asan_set_error_report_callback) __asan_set_error_report_callback(after_report);
}

void __asan_on_error(void) {
    if (!engine.launch) program_found("a fault, see above"); /* a program's host code */
    if (!engine.launch) return;
    reporting = true;
    char what[ADDRESS_TEXT_MAX];
    const void *address = __asan_get_report_address();
    fault_announce("out of bounds", __asan_get_report_pc(), "%s of %zu bytes at %s",
                   __asan_get_report_access_type() ? "write" : "read", __asan_get_report_access_size(),
                   address_describe(address, what));
}

/* A wrong number, with which hardware goes on. */
static bool is_of_a_number(const char *kind) {
    return strstr(kind, "-overflow") || strstr(kind, "-shift-") || strstr(kind, "-load");
}

void __ubsan_on_report(void) {
    const char *kind = "", *message = "", *file = "";
    unsigned line = 0, column = 0;
    char *address = NULL;
    if (!engine.launch) program_found("undefined behaviour"); /* of a program's host code, which goes on (UBSAN_OPTIONS) */
    if (!engine.launch || !__ubsan_get_current_report_data) return;
    __ubsan_get_current_report_data(&kind, &message, &file, &line, &column, &address);
    char where[512];
    snprintf(where, sizeof where, "%s:%u:%u", file ? file : "?", line, column);
    if (program_runs() && is_of_a_number(kind)) {
        fault_more("undefined behaviour", where, "%s (%s)", message, kind); /* each place once: the runtime's doing */
        return;
    }
    fault_announce(strcmp(kind, "out-of-bounds-index") == 0 ? "out of bounds" : "undefined behaviour", NULL, "%s (%s), at %s",
                   message, kind, where);
    if (program_runs()) _exit(FAULT_EXIT_CODE);
}

#define ASAN_OPTIONS "exitcode=86:detect_leaks=0:allow_user_segv_handler=1:detect_stack_use_after_return=0:print_legend=0"

/* Debian's runtime asks a program of LLVM for lines, which clang's package does not bring. */
const char *__asan_default_options(void) {
    return access("/usr/bin/addr2line", X_OK) == 0 ? ASAN_OPTIONS ":external_symbolizer_path=/usr/bin/addr2line" : ASAN_OPTIONS;
}

const char *__ubsan_default_options(void) {
    return "exitcode=86:halt_on_error=1:print_stacktrace=1";
}
