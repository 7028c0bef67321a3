/* Kernels with several bugs: one must not hide another. And reports that must name a place. */
#include "kernel.h"
#include "selftest.h"

#include "emulator/fiber.h"

enum { THREADS = 64 };

/* BUG: all store one value; BUG: a read of what nobody wrote; BUG: a neighbour's value without a barrier. */
static __global__ void three_bugs(int *same, const int *unset, int *out) {
    __shared__ int values[THREADS];
    *same = 7;
    values[threadIdx.x] = (int)threadIdx.x;
    out[threadIdx.x] = values[threadIdx.x ^ 1] + unset[threadIdx.x];
}

static Status run_three_bugs(const Device *device) {
    int *same, *unset, *out;
    TRY(make_array<int>(device, NULL, 1, &same));
    TRY(make_array<int>(device, NULL, THREADS, &unset));
    TRY(make_array<int>(device, NULL, THREADS, &out));
    return launch(three_bugs, {1, THREADS, 0, device->stream()}, same, (const int *)unset, out);
}

static __global__ void same_values(int *same) {
    *same = 7;
}

static __global__ void stop() {
    __trap();
}

/* BUG: a trap. That all threads store one value is not to be told. */
static Status run_silent_same_values(const Device *device) {
    int *same;
    emulator_settings.same_value = CLASS_SILENT;
    TRY(make_array<int>(device, NULL, 1, &same));
    TRY(launch(same_values, {1, THREADS, 0, device->stream()}, same));
    return launch(stop, {1, 1, 0, device->stream()});
}

/* BUG: two writes meet, and the values differ though many are alike. */
static __global__ void almost_same(int *out) {
    *out = threadIdx.x == THREADS / 2;
}

static Status run_almost_same(const Device *device) {
    int *out;
    TRY(make_array<int>(device, NULL, 1, &out));
    return launch(almost_same, {1, THREADS, 0, device->stream()}, out);
}

/* BUG: all write one word, in two branches whose stores the compiler merges. */
static __global__ void merged_stores(int *out, const int *x) {
    if (x[threadIdx.x] > 3)
        *out = x[threadIdx.x] * 3;
    else
        *out = x[threadIdx.x] + 5;
}

static Status run_merged_stores(const Device *device) {
    int x[THREADS], *in, *out;
    for (int i = 0; i < THREADS; i++) x[i] = i;
    TRY(make_array(device, x, THREADS, &in));
    TRY(make_array<int>(device, NULL, 1, &out));
    return launch(merged_stores, {1, THREADS, 0, device->stream()}, out, (const int *)in);
}

/* BUG: counts in memory that nobody set to zero. */
static __global__ void count_from_nothing(int *count) {
    atomicAdd(count, 1);
}

static Status run_count_from_nothing(const Device *device) {
    int *count;
    TRY(make_array<int>(device, NULL, 1, &count));
    return launch(count_from_nothing, {1, THREADS, 0, device->stream()}, count);
}

/* BUG: no fence on either side; whether the data are read depends on the schedule. */
static __global__ void sometimes_read(int *flag, int *data, int *out) {
    if (blockIdx.x == 0) {
        *data = 5;
        atomicExch(flag, 1);
    } else if (atomicAdd(flag, 0)) {
        *out = *data;
    }
}

static Status run_sometimes_read(const Device *device) {
    const int zero[3] = {0};
    int *words;
    emulator_settings.schedules = 8;
    TRY(make_array(device, zero, 3, &words));
    return launch(sometimes_read, {2, 1, 0, device->stream()}, words, words + 1, words + 2);
}

static __device__ int launches[3] = {0, 10, 0};

static __global__ void count_launches(int *count) {
    int *const piece = static_cast<int *>(malloc(sizeof *piece));
    *piece = 1;
    count[threadIdx.x] += *piece;
    launches[1] += threadIdx.x == 0;
    if (threadIdx.x == 0) atomicAdd(&launches[2], 1);
    count[1] = launches[1];
    count[2] = launches[2];
    free(piece);
}

/* BUG: a trap. Before it, kernels that ran eight times each have the effect of one. */
static Status run_again(const Device *device) {
    const int zero[3] = {0}, expected[3] = {2, 12, 2};
    int *count;
    emulator_settings.schedules = 8;
    TRY(make_array(device, zero, 3, &count));
    for (int i = 0; i < 2; i++) TRY(launch(count_launches, {1, 1, 0, device->stream()}, count));
    TRY(expect_equal(device, count, expected, 3, "run_again"));
    return launch(stop, {1, 1, 0, device->stream()});
}

extern "C" const SelfTest BUGS_MANY[] = {
    {"three bugs: a race", run_three_bugs, {NULL, NULL, "data race"}, "values"},
    {"three bugs: same values", run_three_bugs, {NULL, NULL, "same-value race"}, NULL},
    {"three bugs: an uninitialised read", run_three_bugs, {NULL, NULL, "uninitialised read"}, "device array 2"},
    {"silent same values", run_silent_same_values, {"trap", "trap", "trap"}, NULL},
    {"almost the same value", run_almost_same, {NULL, NULL, "data race"}, NULL},
    {"merged stores", run_merged_stores, {NULL, NULL, "data race"}, "writes at tests/emulator/bugs_many.cu:"},
    {"atomic on unset memory", run_count_from_nothing, {NULL, NULL, "uninitialised read"}, NULL},
    {"race in some schedules", run_sometimes_read, {NULL, NULL, "data race"}, "schedules were tried"},
    {"launch run again", run_again, {"trap", "trap", "trap"}, NULL},
    {NULL, NULL, {}, NULL},
};
