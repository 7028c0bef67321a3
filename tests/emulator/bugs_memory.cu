/* Kernels, and host code, with one bug each in which memory they touch. */
#include "kernel.h"
#include "selftest.h"

enum { THREADS = 128 };

/* BUG: one element more than the launch asked for. */
static __global__ void dynamic_overflow(int *out) {
    DYN_SHARED(int, buffer);
    buffer[threadIdx.x + 1] = (int)threadIdx.x;
    __syncthreads();
    out[threadIdx.x] = buffer[threadIdx.x + 1];
}

static Status run_dynamic_overflow(const Device *device) {
    int *out;
    TRY(make_array<int>(device, NULL, THREADS, &out));
    return launch(dynamic_overflow, {1, THREADS, THREADS * sizeof(int), device->stream()}, out);
}

/* BUG: index THREADS of an array of THREADS; the index comes from outside so that no compiler sees it. */
static __global__ void static_overflow(int *out, int shift) {
    __shared__ int buffer[THREADS];
    __shared__ int neighbour[THREADS];
    neighbour[threadIdx.x] = 0;
    buffer[(int)threadIdx.x + shift] = (int)threadIdx.x;
    __syncthreads();
    out[threadIdx.x] = buffer[(int)threadIdx.x + shift] + neighbour[threadIdx.x];
}

static Status run_static_overflow(const Device *device) {
    int *out;
    TRY(make_array<int>(device, NULL, THREADS, &out));
    return launch(static_overflow, {1, THREADS, 0, device->stream()}, out, 1);
}

/* The same through a pointer, which has forgotten the array's length. */
static __global__ void static_overflow_by_pointer(int *out, int shift) {
    __shared__ int buffer[THREADS];
    __shared__ int neighbour[THREADS];
    int *const pointer = buffer;
    neighbour[threadIdx.x] = 0;
    pointer[(int)threadIdx.x + shift] = (int)threadIdx.x;
    __syncthreads();
    out[threadIdx.x] = pointer[(int)threadIdx.x + shift] + neighbour[threadIdx.x];
}

static Status run_static_overflow_by_pointer(const Device *device) {
    int *out;
    TRY(make_array<int>(device, NULL, THREADS, &out));
    return launch(static_overflow_by_pointer, {1, THREADS, 0, device->stream()}, out, 1);
}

/* BUG: no bounds check. */
static __global__ void global_access(int *x, int shift) {
    x[(int)(blockIdx.x * blockDim.x + threadIdx.x) + shift] = 1;
}

static Status run_global_overflow(const Device *device) {
    int *x;
    TRY(make_array<int>(device, NULL, 2 * THREADS, &x));
    return launch(global_access, {3, THREADS, 0, device->stream()}, x, 0);
}

static Status run_global_overflow_by_one(const Device *device) {
    int *x;
    TRY(make_array<int>(device, NULL, THREADS - 1, &x));
    return launch(global_access, {1, THREADS, 0, device->stream()}, x, 0);
}

static Status run_global_underflow(const Device *device) {
    int *x;
    TRY(make_array<int>(device, NULL, THREADS - 1, &x));
    return launch(global_access, {1, THREADS - 1, 0, device->stream()}, x, -1);
}

/* BUG: reads beyond the payload of an array that has guards around it. */
static __global__ void read_next(const int *x, int *out) {
    out[threadIdx.x] = x[threadIdx.x + 1];
}

static Status run_guard_read(const Device *device) {
    int host[3 * THREADS] = {0}, *x, *out;
    TRY(make_array(device, host, 3 * THREADS, &x));
    TRY(make_array<int>(device, NULL, THREADS, &out));
    device->forbid(x, THREADS * sizeof(int));
    device->forbid(x + 2 * THREADS, THREADS * sizeof(int));
    return launch(read_next, {1, THREADS, 0, device->stream()}, (const int *)x + THREADS, out);
}

static Status run_use_after_free(const Device *device) {
    int *x, *other;
    TRY(make_array<int>(device, NULL, THREADS, &x));
    device->release(x);
    TRY(make_array<int>(device, NULL, THREADS, &other));
    return launch(global_access, {1, THREADS, 0, device->stream()}, x, 0);
}

/* BUG: a pointer that the device does not have. */
static Status run_null(const Device *device) {
    return launch(global_access, {1, THREADS, 0, device->stream()}, (int *)NULL, 4);
}

/* BUG: the last element is summed but never written. */
static __global__ void dynamic_uninitialised(double *out) {
    DYN_SHARED(double, buffer);
    if (threadIdx.x < THREADS - 1) buffer[threadIdx.x] = 1;
    __syncthreads();
    double sum = 0;
    for (int i = 0; i < THREADS; i++) sum += buffer[i];
    out[threadIdx.x] = sum;
}

static __global__ void static_uninitialised(double *out) {
    __shared__ double buffer[THREADS];
    if (threadIdx.x < THREADS - 1) buffer[threadIdx.x] = 1;
    __syncthreads();
    double sum = 0;
    for (int i = 0; i < THREADS; i++) sum += buffer[i];
    out[threadIdx.x] = sum;
}

static Status run_uninitialised(const Device *device, void (*kernel)(double *), size_t shared_bytes) {
    double expected[THREADS], *out;
    for (int i = 0; i < THREADS; i++) expected[i] = THREADS - 1; /* what zeroed memory would give */
    TRY(make_array<double>(device, NULL, THREADS, &out));
    TRY(launch(kernel, {1, THREADS, shared_bytes, device->stream()}, out));
    return expect_equal(device, out, expected, THREADS, "uninitialised");
}

static Status run_dynamic_uninitialised(const Device *device) {
    return run_uninitialised(device, dynamic_uninitialised, THREADS * sizeof(double));
}
static Status run_static_uninitialised(const Device *device) {
    return run_uninitialised(device, static_uninitialised, 0);
}

/* BUG: adds to an output that nobody has set. */
static __global__ void accumulate(int *out) {
    out[threadIdx.x] += 1;
}

static Status run_global_uninitialised(const Device *device) {
    int *out;
    TRY(make_array<int>(device, NULL, THREADS, &out));
    return launch(accumulate, {1, THREADS, 0, device->stream()}, out);
}

/* BUG: a vector load from an address that is no multiple of its size. */
static __global__ void misaligned(const float *x, float *out) {
    const float4 four = __ldg(reinterpret_cast<const float4 *>(x + 1));
    out[0] = four.x + four.w;
}

static __global__ void misaligned_member(const float *x, float *out) {
    const float4 *four = reinterpret_cast<const float4 *>(x + 1);
    out[0] = four->x + four->w;
}

static Status launch_misaligned(const Device *device, void (*kernel)(const float *, float *)) {
    float host[8] = {0}, *x, *out;
    TRY(make_array(device, host, 8, &x));
    TRY(make_array<float>(device, NULL, 1, &out));
    return launch(kernel, {1, 1, 0, device->stream()}, (const float *)x, out);
}

static Status run_misaligned(const Device *device) {
    return launch_misaligned(device, misaligned);
}
static Status run_misaligned_member(const Device *device) {
    return launch_misaligned(device, misaligned_member);
}

static __global__ void misaligned_atomic(char *x) {
    atomicAdd(reinterpret_cast<int *>(x + 2), 1);
}

static Status run_misaligned_atomic(const Device *device) {
    char host[8] = {0}, *x;
    TRY(make_array(device, host, 8, &x));
    return launch(misaligned_atomic, {1, 1, 0, device->stream()}, x);
}

/* BUG: recursion without an end, near enough. */
static __device__ __noinline__ int deep(volatile int *x, int depth) {
    volatile int local[64];
    local[depth % 64] = depth;
    return depth == 0 ? x[0] : deep(x, depth - 1) + local[depth % 64];
}

static __global__ void recursion(int *x) {
    x[0] = deep(x, 1 << 24);
}

static Status run_recursion(const Device *device) {
    const int zero = 0;
    int *x;
    TRY(make_array(device, &zero, 1, &x));
    return launch(recursion, {1, 1, 0, device->stream()}, x);
}

/* BUG: a pointer to the host's heap. */
static Status run_host_pointer(const Device *device) {
    int *x = static_cast<int *>(calloc(THREADS, sizeof(int)));
    return launch(global_access, {1, THREADS, 0, device->stream()}, x, 0);
}

/* BUG: host code reads device memory. */
static Status run_host_access(const Device *device) {
    const int zero = 0;
    int *x;
    TRY(make_array(device, &zero, 1, &x));
    return *(volatile int *)x == 0 ? STATUS_OK : STATUS_CHECK;
}

/* BUG: the work goes to another stream than the given one: a refusal, not a fault. */
static Status run_other_stream(const Device *device) {
    int *x;
    TRY(make_array<int>(device, NULL, THREADS, &x));
    return launch(global_access, {1, THREADS, 0, NULL}, x, 0);
}

static __global__ void trap() {
    __trap();
}

static Status run_trap(const Device *device) {
    return launch(trap, {1, 1, 0, device->stream()});
}

#define BOUNDS "out of bounds"
extern "C" const SelfTest BUGS_MEMORY[] = {
    {"dynamic shared overflow", run_dynamic_overflow, {NULL, BOUNDS, BOUNDS}},
    {"static shared overflow", run_static_overflow, {NULL, BOUNDS, NULL}},
    {"static shared overflow by pointer", run_static_overflow_by_pointer, {NULL, BOUNDS, NULL}},
    {"global overflow", run_global_overflow, {BOUNDS, BOUNDS, BOUNDS}},
    {"global overflow by one", run_global_overflow_by_one, {NULL, BOUNDS, BOUNDS}},
    {"global underflow", run_global_underflow, {NULL, BOUNDS, BOUNDS}},
    {"read of a guard", run_guard_read, {NULL, BOUNDS, BOUNDS}},
    {"use after free", run_use_after_free, {BOUNDS, BOUNDS, BOUNDS}},
    {"null pointer", run_null, {BOUNDS, "undefined behaviour", BOUNDS}},
    {"uninitialised dynamic shared", run_dynamic_uninitialised, {WRONG, WRONG, "uninitialised read", "uninitialised value"}},
    {"uninitialised static shared", run_static_uninitialised, {WRONG, WRONG, "uninitialised read", "uninitialised value"}},
    {"uninitialised global", run_global_uninitialised, {NULL, NULL, "uninitialised read"}},
    {"misaligned vector", run_misaligned, {"misaligned address", "misaligned address", "misaligned address"}},
    {"misaligned member", run_misaligned_member, {NULL, "undefined behaviour", NULL}},
    {"misaligned atomic", run_misaligned_atomic, {"misaligned address", "misaligned address", "misaligned address"}},
    {"recursion", run_recursion, {"stack overflow", "stack overflow", "stack overflow"}},
    {"host pointer", run_host_pointer, {NULL, NULL, "host memory touched by a kernel"}},
    {"host access",
     run_host_access,
     {"device memory touched by host code", "device memory touched by host code", "device memory touched by host code"}},
    {"other stream", run_other_stream, {WRONG, WRONG, WRONG}},
    {"trap", run_trap, {"trap", "trap", "trap"}},
    {NULL, NULL, {}},
};
