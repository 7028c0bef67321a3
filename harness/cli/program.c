/* rungs try without an op: a CUDA program as it is, by cmake/program.py. */
#include "base/places.h"
#include "cli/binding.h"
#include "cli/commands.h"
#include "device/sandbox.h"
#include "plan/registry.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool program_is_given(int argc, char **argv) {
    bool kernels = false;
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (strcmp(argv[i], "--op") == 0 || strncmp(argv[i], "--op=", 5) == 0 || strcmp(argv[i], "--help") == 0) return false;
        kernels = kernels || binding_is_cuda(argv[i]);
    }
    return kernels;
}

static bool has_word(int argc, char **argv, const char *word) {
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (strcmp(argv[i], word) == 0) return true;
    return false;
}

int program_try(int argc, char **argv) {
    const ModuleSettings *settings = modules_settings();
    if (!settings->emulated)
        return cli_fail(status_fail(STATUS_UNSUPPORTED,
                                    "a program runs in the emulator, which this build does not have: it needs clang and CUDA's "
                                    "headers; rungs doctor says what is missing"));
    if (!has_word(argc, argv, "--no-sandbox") &&
        status_prefix(sandbox_check(), "not run (--no-sandbox runs it with all your rights): ") != STATUS_OK)
        return cli_fail(STATUS_UNSUPPORTED);
    const char **words = calloc((size_t)argc + 3, sizeof *words);
    if (!words) return cli_fail(status_fail(STATUS_MEMORY, "no memory for a command line"));
    words[0] = settings->python;
    words[1] = places_harness("cmake/program.py");
    words[2] = settings->folder;
    for (int i = 1; i < argc; i++) words[2 + i] = argv[i];
    fflush(NULL);
    execvp(words[0], (char *const *)(uintptr_t)words);
    return cli_fail(status_fail(STATUS_UNSUPPORTED, "%s: cannot be started: %s", words[0], strerror(errno)));
}
