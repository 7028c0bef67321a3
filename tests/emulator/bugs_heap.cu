/* Kernels that misuse malloc() and free(). A race detector knows arrays, not pieces of the heap. */
#include "kernel.h"
#include "selftest.h"

enum { OVERFLOW, UNDERFLOW, LATE, TWICE, INSIDE, UNWRITTEN, LEAK };

static __global__ void misuse(int bug, unsigned char *out) {
    unsigned char *piece = static_cast<unsigned char *>(malloc(20));
    volatile unsigned char *seen = piece;
    for (int k = 0; k < 19; k++) piece[k] = 1;
    if (bug != UNWRITTEN) piece[19] = 2;
    if (bug == OVERFLOW) seen[20] = 3;
    if (bug == UNDERFLOW) seen[-1] = 3;
    if (bug == UNWRITTEN) out[0] = piece[19];
    if (bug == INSIDE) free(piece + 16);
    if (bug != LEAK) free(piece);
    if (bug == LATE) out[0] = seen[3];
    if (bug == TWICE) free(const_cast<unsigned char *>(seen));
}

static Status run(const Device *device, int bug) {
    unsigned char *out;
    TRY(make_array<unsigned char>(device, NULL, 1, &out));
    const size_t before = device->in_use();
    TRY(launch(misuse, {1, 1, 0, device->stream()}, bug, out));
    const size_t heap = (size_t)8 << 20; /* taken by the first that allocates */
    return device->in_use() == before + heap ? STATUS_OK : status_fail(STATUS_CHECK, "a piece of the heap was not freed");
}

static Status run_overflow(const Device *device) {
    return run(device, OVERFLOW);
}
static Status run_underflow(const Device *device) {
    return run(device, UNDERFLOW);
}
static Status run_late(const Device *device) {
    return run(device, LATE);
}
static Status run_twice(const Device *device) {
    return run(device, TWICE);
}
static Status run_inside(const Device *device) {
    return run(device, INSIDE);
}
static Status run_unwritten(const Device *device) {
    return run(device, UNWRITTEN);
}
static Status run_leak(const Device *device) {
    return run(device, LEAK);
}

extern "C" const SelfTest BUGS_HEAP[] = {
    {"heap overflow by one", run_overflow, {NULL, "out of bounds", NULL}},
    {"heap underflow by one", run_underflow, {NULL, "out of bounds", NULL}},
    {"heap use after free", run_late, {NULL, "out of bounds", NULL}},
    {"heap piece freed twice", run_twice, {"free()", "free()", "free()"}},
    {"heap piece freed from its middle", run_inside, {"free()", "free()", "free()"}},
    {"heap piece not written", run_unwritten, {NULL, NULL, "uninitialised read"}},
    {"heap piece never freed", run_leak, {WRONG, WRONG, WRONG}},
    {NULL, NULL, {}},
};
