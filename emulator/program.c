/* A program as it is (`rungs try FILE.cu`): its main() is called in this process, its kernels are counted, and what was found of
 * each is kept in a table that the parent reads however this process ends. */
#include "emulator/program.h"
#include "emulator/fault.h"
#include "emulator/memory.h"

#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>

/* Lines of text of one length, so that each can be written anew: cmake/program.py. */
enum { ROW_BYTES = 512, ROWS_MAX = 1024, NAME_BYTES = 360, FOUND_BYTES = 96 };

typedef struct Row {
    char name[NAME_BYTES], found[FOUND_BYTES];
    unsigned long long launches, blocks, schedules;
} Row;

static Row rows[ROWS_MAX];
static int row_count;
static char *table;

bool program_runs(void) {
    return table != NULL;
}

static bool bound, shares;

bool program_shares(void) {
    return shares;
}

void emulator_share(void) {
    shares = true;
}

bool program_bound(void) {
    return bound;
}

void emulator_bind(void) {
    bound = true;
}

static void write_row(const Row *row) {
    char text[ROW_BYTES] = "";
    const int length = snprintf(text, sizeof text - 1, "%s\t%llu\t%llu\t%llu\t%s", row->name, row->launches, row->blocks,
                                row->schedules, row->found);
    memset(text + length, ' ', sizeof text - (size_t)length);
    text[ROW_BYTES - 1] = '\n';
    memcpy(table + (row - rows) * ROW_BYTES, text, sizeof text);
}

/* The last one takes all for which there is no room. */
static Row *row_of(const char *name) {
    int i = 0;
    while (i < row_count && strncmp(rows[i].name, name, NAME_BYTES - 1) != 0) i++;
    if (i == ROWS_MAX) return &rows[ROWS_MAX - 1];
    if (i == row_count) snprintf(rows[row_count++].name, NAME_BYTES, "%s", name);
    return &rows[i];
}

void program_scheduled(int schedules) {
    if (!table) return;
    Row *row = row_of(engine.launch->name);
    row->schedules += (unsigned long long)schedules;
    write_row(row);
}

void program_found(const char *kind) {
    if (!table) return;
    Row *row = row_of(engine.launch && engine.launch->name ? engine.launch->name : "(host code)");
    const size_t used = strlen(row->found);
    if (!strstr(row->found, kind)) snprintf(row->found + used, sizeof row->found - used, "%s%s", used ? ", " : "", kind);
    write_row(row);
}

static void *arrivals;

unsigned *emulator_grid_barrier(void) {
    return engine.launch->cooperative ? arrivals : NULL;
}

static Status launch_one(const EmulatorLaunch *launch) {
    if (!launch->cooperative) return emulator_launch(launch);
    TRY(arena_allocate(sizeof(unsigned), &arrivals));
    (void)cudaMemset(arrivals, 0, sizeof(unsigned));
    const Status status = emulator_launch(launch);
    (void)arena_release(arrivals);
    return status;
}

int emulator_program_launch(const EmulatorLaunch *launch, EmulatorSite site) {
    EmulatorLaunch named = *launch;
    char name[NAME_BYTES];
    if (!named.name) named.name = symbol_function(launch->kernel, name, sizeof name);
    if (!table) return runtime_note(launch_one(&named) == STATUS_OK ? cudaSuccess : cudaErrorInvalidConfiguration);
    if (engine.current)
        fault_at("launch from a kernel", site, __builtin_return_address(0),
                 "dynamic parallelism is not emulated (docs/EMULATOR.md)");
    Row *row = row_of(named.name);
    row->launches++;
    row->blocks += (unsigned long long)launch->grid[0] * launch->grid[1] * launch->grid[2];
    write_row(row);
    if (launch_one(&named) == STATUS_OK) return runtime_note(cudaSuccess);
    fprintf(stderr, "rungs-emulator: %s:%d: kernel %s: %s\n", site.file, site.line, named.name, status_message());
    snprintf(row->found, sizeof row->found, "launch refused");
    write_row(row);
    return runtime_note(cudaErrorInvalidConfiguration);
}

/* What assert() calls. */
void emulator_assert_fail(const char *condition, const char *file, unsigned line, const char *function);
void emulator_assert_fail(const char *condition, const char *file, unsigned line, const char *function) {
    if (!engine.current) {
        fprintf(stderr, "%s:%u: %s: Assertion `%s' failed.\n", file, line, function, condition);
        abort();
    }
    fault_at("failed assertion", (EmulatorSite){file, (int)line}, NULL, "%s", condition);
}

int program_main(const char *module, int argc, char **argv) {
    const char *descriptor = getenv("RUNGS_PROGRAM_TABLE");
    void *mapped =
        descriptor ? mmap(NULL, (size_t)ROW_BYTES * ROWS_MAX, PROT_READ | PROT_WRITE, MAP_SHARED, atoi(descriptor), 0) : MAP_FAILED;
    if (mapped == MAP_FAILED) {
        fprintf(stderr, "rungs-emulator: RUNGS_PROGRAM_TABLE names no table of kernels; `rungs try` starts programs\n");
        return 2;
    }
    table = mapped;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* nothing goes on after the command that started it */
    signals_install();
    sanitizer_watch_program();
    void *library = dlopen(module, RTLD_NOW | RTLD_GLOBAL);
    int (*run)(int, char **) = library ? (int (*)(int, char **))(uintptr_t)dlsym(library, "rungs_program_main") : NULL;
    if (!run) {
        fprintf(stderr, "rungs-emulator: %s\n", dlerror());
        return 2;
    }
    return run(argc, argv);
}
