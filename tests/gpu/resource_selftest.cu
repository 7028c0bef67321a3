/* The memory resources cuda, pool and arena on a GPU: blocks, counts, what is kept between calls, guards, samples of a call that
 * allocates. */
#include "device/resource.h"

#include "gpu_check.h"
#include "kernel.h"
#include "measure/measure.h"

#include <string.h>

static const size_t BIG = (size_t)48 << 20, SMALL = 1000;

static __global__ void fill(unsigned char *bytes, size_t n, unsigned char value) {
    for (size_t i = threadIdx.x; i < n; i += blockDim.x) bytes[i] = value;
}

typedef struct Call {
    Resource *resource;
    size_t overrun, calls;
    Array output;
} Call;

/* Takes three blocks, writes two, releases two and hands over one: an output of `SMALL` bytes. */
static Status run(void *context) {
    Call *call = static_cast<Call *>(context);
    VariantMemory *memory = resource_memory(call->resource);
    void *stream = device_cuda()->stream(), *first, *second, *third;
    call->calls++;
    TRY(memory->allocate(memory, BIG, stream, &first));
    TRY(memory->allocate(memory, SMALL, stream, &second));
    TRY(launch(fill, {1, 256, 0, stream}, (unsigned char *)first, BIG / 64, (unsigned char)1));
    memory->release(memory, first, stream);
    TRY(memory->allocate(memory, BIG / 2, stream, &third));
    TRY(launch(fill, {1, 256, 0, stream}, (unsigned char *)second, SMALL + call->overrun, (unsigned char)7));
    memory->release(memory, third, stream);
    call->output = array_1d("y", DTYPE_U8, SMALL);
    call->output.data = second;
    return STATUS_OK;
}

static Status put_away(void *context) {
    Call *call = static_cast<Call *>(context);
    TRY(resource_hand_over(call->resource, &call->output));
    TRY(resource_end(call->resource));
    return resource_begin(call->resource, false);
}

static void one_call(Call *call, bool guarded, const char *what) {
    unsigned char back[SMALL];
    check_status(resource_begin(call->resource, guarded), STATUS_OK, what);
    check_status(run(call), STATUS_OK, "    a call");
    check_status(device_cuda()->wait("the call"), STATUS_OK, "    wait");
    check_status(resource_hand_over(call->resource, &call->output), STATUS_OK, "    hand over");
    check_status(resource_end(call->resource), STATUS_OK, "    end");
    const ResourceCounts counts = resource_counts(call->resource);
    check(counts.allocations == 3, "    allocations", "%.0f", (double)counts.allocations, "3");
    check(counts.peak_bytes == BIG + SMALL, "    peak bytes", "%.0f", (double)counts.peak_bytes, "48 MiB + 1000");
    check(counts.live_bytes == SMALL, "    live bytes", "%.0f", (double)counts.live_bytes, "1000");
    memset(back, 0, sizeof back);
    check_status(device_cuda()->copy_out(back, call->output.data, SMALL), STATUS_OK, "    the output");
    size_t right = 0;
    for (size_t i = 0; i < SMALL; i++) right += back[i] == 7;
    check(right == SMALL, "    bytes that are right", "%.0f", (double)right, "1000");
}

static void what_is_kept(Call *call, const char *name) {
    check_status(resource_begin(call->resource, false), STATUS_OK, "between calls");
    const double held = (double)resource_held_bytes(call->resource);
    if (strcmp(name, "cuda") == 0)
        check(held == 0, "    cuda keeps nothing", "%.0f", held, "0");
    else
        check(held >= (double)BIG && held < 3.0 * (double)BIG, "    bytes kept", "%.0f", held, "48 MiB to 144 MiB");
}

static void samples(Call *call) {
    const MeasuredWork work = {run, call, put_away};
    const SamplingPace pace = {5, 20, 0.2};
    static const Mode MODES[] = {MODE_COLD, MODE_HOT, MODE_ENQUEUE, MODE_COMPLETE, MODE_GRAPH};
    for (size_t m = 0; m < sizeof MODES / sizeof *MODES; m++) {
        Samples taken;
        check_status(measure_gpu(MODES[m], &work, device_cuda()->stream(), &pace, &taken), STATUS_OK, "samples of a mode");
        if (MODES[m] == MODE_GRAPH)
            check(taken.count == 0 && strstr(taken.why_none, "allocates memory"), "    no graph", "%.0f", (double)taken.count,
                  taken.why_none);
        else
            check(taken.count >= 5 && taken.calls_per_sample == 1, "    samples of one call", "%.0f", (double)taken.count,
                  "5 or more");
        samples_free(&taken);
    }
}

static void overrun(Call *call) {
    check_status(resource_begin(call->resource, true), STATUS_OK, "a kernel writes one byte past its output");
    call->overrun = 1;
    check_status(run(call), STATUS_OK, "    a call");
    call->overrun = 0;
    check_status(device_cuda()->wait("the call"), STATUS_OK, "    it runs");
    check_status(resource_hand_over(call->resource, &call->output), STATUS_CHECK, "    and is caught");
}

int main() {
    const int code = gpu_check_open();
    if (code) return code;
    for (int i = 0; MEMORY_RESOURCES[i]; i++) {
        Call call = {};
        printf("\nmemory=%s\n", MEMORY_RESOURCES[i]);
        check_status(resource_create(device_cuda(), MEMORY_RESOURCES[i], &call.resource), STATUS_OK, "create");
        if (!call.resource) continue;
        one_call(&call, false, "first call");
        one_call(&call, true, "guarded call");
        one_call(&call, false, "second call");
        what_is_kept(&call, MEMORY_RESOURCES[i]);
        samples(&call);
        overrun(&call);
        check_status(resource_begin(call.resource, false), STATUS_OK, "after it");
        resource_destroy(call.resource);
    }
    return gpu_check_close();
}
