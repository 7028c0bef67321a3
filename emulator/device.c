/* The emulator as a Device: memory from the arena, one stream on which everything is done at once. */
#include "device/device.h"

#include "emulator/fault.h"
#include "emulator/memory.h"
#include "emulator/program.h"
#include "emulator/race.h"
#include "emulator/values.h"

void *stream_given(void) {
    static char stream; /* its address is unlike any a variant could make up: not NULL, not cudaStreamPerThread */
    return &stream;
}

Status stream_check(const void *stream, const char *what) {
    if (stream == stream_given() || program_runs() || (!stream && program_bound())) return STATUS_OK;
    return status_fail(STATUS_CHECK, "%s: works on another stream than the one it was given (args->stream)", what);
}

static Status emulator_open(int index) {
    (void)index; /* whatever GPU the run is for, there is one emulator */
    signals_install();
    return STATUS_OK;
}

static void emulator_close(void) {}

static Status emulator_allocate(size_t bytes, void **out) {
    TRY(arena_allocate(bytes, out));
    memory_unset(*out, bytes);
    return STATUS_OK;
}

static void emulator_release(void *pointer) {
    (void)arena_release(pointer);
}

static Status emulator_copy_in(void *device, const void *host, size_t bytes) {
    arena_open();
    bytes_copy(device, host, bytes);
    arena_close();
    memory_set(device, bytes);
    return STATUS_OK;
}

static Status emulator_copy_out(void *host, const void *device, size_t bytes) {
    arena_open();
    bytes_copy(host, device, bytes);
    arena_close();
    values_copied_to_host(device, bytes);
    return STATUS_OK;
}

/* The harness fills what a variant is to write: such bytes count as not yet written. */
static Status emulator_fill(void *device, unsigned char byte, size_t bytes) {
    arena_open();
    bytes_fill(device, byte, bytes);
    arena_close();
    memory_unset(device, bytes);
    return STATUS_OK;
}

static Status emulator_wait(const char *what) {
    (void)what;
    return STATUS_OK;
}

/* What kernels do not free leaks as well. */
static size_t emulator_in_use(void) {
    return arena_in_use() + heap_in_use();
}

static void emulator_describe(void *pointer, const char *name, const void *payload, size_t bytes) {
    (void)payload, (void)bytes; /* the guards are forbidden to kernels */
    arena_name(pointer, name);
}

const Device *device_emulator(void) {
    static const Device device = {
        .kind = "emulator",
        .timed = false,
        .open = emulator_open,
        .close = emulator_close,
        .allocate = emulator_allocate,
        .release = emulator_release,
        .copy_in = emulator_copy_in,
        .copy_out = emulator_copy_out,
        .fill = emulator_fill,
        .copy = emulator_copy_in,
        .wait = emulator_wait,
        .stream = stream_given,
        .in_use = emulator_in_use,
        .forbid = arena_forbid,
        .describe = emulator_describe,
    };
    return &device;
}
