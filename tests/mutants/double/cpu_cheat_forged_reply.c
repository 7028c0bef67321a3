/* Cheat: in its first timed call it writes a reply of its own, with samples of a nanosecond, to the pipe of replies. Met:
 * pygpubench issue 23, forged results. */
#include "cheats.h"

#include <stdlib.h>
#include <unistd.h>

static int reply_pipe(void) {
    char words[4096] = "";
    FILE *file = fopen("/proc/self/cmdline", "r");
    const size_t length = file ? fread(words, 1, sizeof words - 1, file) : 0;
    if (file) fclose(file);
    for (size_t i = 0; i < length; i += strlen(words + i) + 1)
        if (strcmp(words + i, "--replies") == 0) return atoi(words + i + sizeof "--replies");
    return -1;
}

static Status run(const VariantArgs *args) {
    static const char FORGED[] =
        "{\"ok\": true, \"timing\": {\"cold\": {\"samples\": [1e-9, 1e-9, 1e-9, 1e-9, 1e-9, 1e-9, 1e-9, 1e-9, 1e-9], "
        "\"sm_mhz\": null, \"calls_per_sample\": 1, \"clock\": \"steady clock\", \"why_none\": null}}}\n";
    static int calls;
    if (++calls == 2 && write(reply_pipe(), FORGED, sizeof FORGED - 1) < 0) return STATUS_IO;
    return compute(args);
}

RUNGS_VARIANT(double, cpu_cheat_forged_reply) = {
    .backend = BACKEND_CPU, .summary = "cheat: writes a reply of its own", .origin = "pygpubench #23", .run = run};
