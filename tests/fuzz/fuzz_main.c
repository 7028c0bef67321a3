/* Chooses the target, and writes down which functions ran: FUZZ_COVERAGE names a file, which gets a line "OFFSET 0|1" for every
 * instrumented function at exit. Clang's counters are enough for that; llvm-cov is not on every machine that has clang. */
#include "fuzz.h"

#include "base/shares.h"

#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

void shares_run(size_t items, size_t least, ShareWork work, void *context) {
    (void)least;
    if (items > 0) work(context, 0, items);
}

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static const struct {
    const char *name;
    void (*target)(const uint8_t *bytes, size_t size);
} TOPICS[] = {{"npy", fuzz_npy},           {"case", fuzz_case},      {"pattern", fuzz_pattern}, {"scenario", fuzz_scenario},
              {"rows", fuzz_rows},         {"resume", fuzz_resume},  {"claims", fuzz_claims},   {"replies", fuzz_replies},
              {"commands", fuzz_commands}, {"options", fuzz_options}};

static void (*chosen)(const uint8_t *bytes, size_t size);

/* Laid down by -fsanitize-coverage: a counter and a place for every basic block; flag 1 marks the first of a function. */
typedef struct Place {
    uintptr_t address, flags;
} Place;
extern const Place PLACES[] __asm__("__start___sancov_pcs"), PLACES_END[] __asm__("__stop___sancov_pcs");
extern uint8_t COUNTERS[] __asm__("__start___sancov_cntrs");
extern const char PROGRAM_BEGIN[] __asm__("__ehdr_start");

static size_t *entries; /* indices of the blocks that begin a function */
static size_t entry_count;
static bool *ran;

static void write_coverage(void) {
    FILE *file = fopen(getenv("FUZZ_COVERAGE"), "w");
    REQUIRE(file);
    for (size_t i = 0; i < entry_count; i++)
        fprintf(file, "%zx %d\n", (size_t)(PLACES[entries[i]].address - (uintptr_t)PROGRAM_BEGIN), ran[i]);
    REQUIRE(fclose(file) == 0);
}

static void begin_coverage(void) {
    const size_t count = (size_t)(PLACES_END - PLACES);
    if (!getenv("FUZZ_COVERAGE")) return;
    entries = calloc(count, sizeof *entries);
    ran = calloc(count, sizeof *ran);
    REQUIRE(entries && ran);
    for (size_t i = 0; i < count; i++)
        if (PLACES[i].flags & 1) entries[entry_count++] = i;
    atexit(write_coverage);
}

int LLVMFuzzerInitialize(int *argc, char ***argv) {
    (void)argc, (void)argv;
    const char *name = getenv("FUZZ_TOPIC");
    for (size_t i = 0; i < sizeof TOPICS / sizeof *TOPICS; i++)
        if (name && strcmp(name, TOPICS[i].name) == 0) chosen = TOPICS[i].target;
    if (!chosen) {
        fprintf(stderr, "FUZZ_TOPIC chooses the target:");
        for (size_t i = 0; i < sizeof TOPICS / sizeof *TOPICS; i++) fprintf(stderr, " %s", TOPICS[i].name);
        fprintf(stderr, "\n");
        exit(2);
    }
    begin_coverage();
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    chosen(bytes, size);
    for (size_t i = 0; i < entry_count; i++) ran[i] |= COUNTERS[entries[i]] != 0; /* libFuzzer clears them for every input */
    return 0;
}

int fuzz_file(const uint8_t *bytes, size_t size, char path[FUZZ_PATH_MAX]) {
    const int fd = memfd_create("fuzz", 0);
    REQUIRE(fd >= 0 && write(fd, bytes, size) == (ssize_t)size);
    snprintf(path, FUZZ_PATH_MAX, "/proc/self/fd/%d", fd);
    return fd;
}

char *fuzz_text(const uint8_t *bytes, size_t size) {
    char *text = strndup((const char *)bytes, size);
    REQUIRE(text);
    return text;
}

int fuzz_refused(Status status, const char *begin) {
    return status == STATUS_INVALID && strncmp(status_message(), begin, strlen(begin)) == 0;
}
