/* What needs a GPU to test in timed calls: that it makes the inputs of a sample as the host does, that a launch error which
 * run() swallows is found, and that work on other streams is seen wherever it writes. One line per check; exit 0 all good, 1 a
 * check failed, 77 no GPU.
 */
#include "base/poison.h"
#include "base/vary.h"
#include "device/device.h"
#include "device/digest.h"
#include "gpu_check.h"
#include "kernel.h"
#include "measure/measure.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static cudaStream_t stream;
static const SamplingPace LIMITS = {5, 15, 0.5};

static __global__ void spin_kernel(unsigned long long duration) {
    unsigned long long begin, now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
    do asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    while (now - begin < duration);
}

/* What before() and taken() of a work see. */
struct Turns {
    int before, taken, of_three;
};

static Status work_in_turn(void *) {
    return launch(spin_kernel, {1, 1, 0, stream}, 20000ULL);
}

static Status take_turn(void *context, const SamplePlace *) {
    static_cast<Turns *>(context)->before++;
    return STATUS_OK;
}

static Status count_taken(void *context, const SamplePlace *place) {
    Turns *turns = static_cast<Turns *>(context);
    turns->of_three = static_cast<int>(place->count);
    turns->taken += place->index + 1 <= place->count;
    return STATUS_OK;
}

static void samples_are_announced_and_shown() {
    for (int mode = MODE_COLD; mode < MEASURE_MODE_COUNT; mode++) {
        Turns turns = {};
        const MeasuredWork measured = {.run = work_in_turn, .context = &turns, .before = take_turn, .taken = count_taken};
        Samples samples;
        check_status(measure_gpu((Mode)mode, &measured, stream, &LIMITS, &samples), STATUS_OK, mode_name((Mode)mode));
        check(turns.taken == (int)samples.count && turns.of_three == turns.taken, "    samples shown, of so many", "%.0f",
              turns.taken, "all");
        check(turns.before > turns.taken, "    and announced, as pilots are", "%.0f", turns.before, "more");
        samples_free(&samples);
    }
}

static Status work_and_wait(void *) {
    TRY(launch(spin_kernel, {1, 1, 0, stream}, 150000000ULL));
    TRY_CUDA(cudaStreamSynchronize(stream));
    return STATUS_OK;
}

/* Its pilot counts as a sample; that it cannot be queued is found out before. */
static void a_long_call_that_waits_is_shown_once() {
    Turns turns = {};
    const MeasuredWork measured = {.run = work_and_wait, .context = &turns, .before = take_turn, .taken = count_taken};
    Samples samples;
    check_status(measure_gpu(MODE_COLD, &measured, stream, &LIMITS, &samples), STATUS_OK, "cold, 150 ms and waiting");
    check(turns.taken == (int)samples.count && turns.taken > 1, "    samples shown", "%.0f", turns.taken, "all, and each once");
    samples_free(&samples);
}

/* The GPU makes the same inputs as the host, bit for bit. */
static void inputs_are_varied_alike() {
    enum { COUNT = 1000003 };
    static const DType types[] = {DTYPE_F32, DTYPE_F64, DTYPE_U8};
    for (int t = 0; t < 3; t++)
        for (int how = VARY_MIX; how < VARY_COUNT; how++) {
            if ((how == VARY_LETTERS) != (types[t] == DTYPE_U8) || vary_moves_rows(static_cast<VaryHow>(how))) continue;
            const size_t bytes = COUNT * dtype_size(types[t]);
            unsigned char *host[4];
            void *device[3];
            for (int i = 0; i < 4; i++) host[i] = static_cast<unsigned char *>(malloc(bytes));
            for (size_t i = 0; i < COUNT; i++) {
                if (types[t] == DTYPE_F32)
                    reinterpret_cast<float *>(host[0])[i] = i % 7 ? 0.1f * static_cast<float>(i) : NAN,
                                           reinterpret_cast<float *>(host[1])[i] = i % 5 ? 1.0f / static_cast<float>(i) : INFINITY;
                else if (types[t] == DTYPE_F64)
                    reinterpret_cast<double *>(host[0])[i] = i % 7 ? 0.1 * static_cast<double>(i) : NAN,
                                            reinterpret_cast<double *>(host[1])[i] = i % 5 ? 1 / static_cast<double>(i) : INFINITY;
                else
                    host[0][i] = host[1][i] = static_cast<unsigned char>(i);
            }
            for (int i = 0; i < 3; i++) (void)cudaMalloc(&device[i], bytes);
            for (int i = 0; i < 2; i++) check_status(move_gpu(device[i], host[i], bytes), STATUS_OK, "inputs to the GPU");
            const Vary vary = vary_open(static_cast<VaryHow>(how), 12345u + static_cast<unsigned>(how), COUNT);
            check_status(vary_gpu(&vary, types[t], COUNT, device[0], device[1], device[2], stream), STATUS_OK, "vary");
            check_status(wait_gpu(), STATUS_OK, "waiting");
            check_status(move_gpu(host[3], device[2], bytes), STATUS_OK, "to the host");
            check_status(fill_gpu(device[2], 0x5A, bytes), STATUS_OK, "filling");
            vary_all(&vary, types[t], COUNT, host[0], host[1], host[2]);
            check(memcmp(host[2], host[3], bytes) == 0, "    the same on the host", "%.0f", how, "each");
            check(memcmp(host[0], host[3], bytes) != 0, "    and not what it was made from", "%.0f", how, "each");
            for (int i = 0; i < 3; i++) (void)cudaFree(device[i]);
            for (int i = 0; i < 4; i++) free(host[i]);
        }
}

/* Two inputs and an output of a work whose kernel counts how often it finds what the call before it found. */
struct Rewritten {
    Array in, out;
    Rewriting rewriting;
    Patches patches;
    bool writes;              /* the output, else it stays as it was spoilt */
    unsigned long long *last; /* on the device: a checksum of the last call's input, calls that found it again */
};

static __global__ void look_at_input(const double *x, size_t n, unsigned long long *last) {
    unsigned long long sum = 0;
    for (size_t i = 0; i < n; i++) sum += (i + 1) * static_cast<unsigned long long>(__double_as_longlong(x[i]));
    last[1] += sum == last[0];
    last[0] = sum;
}

static Status look_once(void *context) {
    const Rewritten *self = static_cast<Rewritten *>(context);
    if (self->writes) TRY_CUDA(cudaMemsetAsync(self->out.data, 0, array_bytes(&self->out), stream));
    return launch(look_at_input, {1, 1, 0, stream}, static_cast<const double *>(self->in.data), array_count(&self->in), self->last);
}

static Status rewrite(void *context, size_t state, bool called) {
    Rewritten *self = static_cast<Rewritten *>(context);
    const Spoiling spoiling = {&self->out, 1, 77, 0x7B};
    if (state >= self->patches.states) TRY(patches_make(&self->patches, &self->rewriting, 1, &spoiling, state + 1, stream));
    return patches_enqueue(&self->patches, state, called, stream);
}

static size_t poisoned(const unsigned char *bytes, size_t count) {
    size_t found = 0;
    for (size_t i = 0; i < count; i++) found += bytes[i] == 0x7B;
    return found;
}

/* No call of a sample finds the inputs of the one before it; in the end they are what they were, and outputs are spoilt. */
static void inputs_are_rewritten_between_calls() {
    enum { COUNT = 300 };
    static double a[COUNT], b[COUNT], first[COUNT], end[COUNT], out[COUNT];
    unsigned long long last[2] = {1, 0};
    Rewritten self = {};
    void *memory[3];
    for (int i = 0; i < COUNT; i++) a[i] = 1.0 / (i + 1), b[i] = 3.0 / (i + 1);
    for (void *&block : memory) (void)cudaMalloc(&block, sizeof first);
    self.in = array_1d("x", DTYPE_F64, COUNT), self.out = array_1d("y", DTYPE_F64, COUNT);
    self.in.data = memory[0], self.out.data = memory[1], self.last = static_cast<unsigned long long *>(memory[2]);
    self.rewriting = {.how = vary_input(VARY_MIX, 5, 0, &self.in), .dtype = DTYPE_F64, .n = COUNT, .a = a, .b = b, .to = memory[0]};
    vary_all(&self.rewriting.how, DTYPE_F64, COUNT, a, b, first);
    const MeasuredWork measured = {.run = look_once, .context = &self, .between = rewrite, .between_context = &self};
    for (int i = 0; i < 4; i++) {
        const Mode mode = i % 2 ? MODE_HOT : MODE_GRAPH;
        const void *left = nullptr;
        Samples samples;
        self.writes = i / 2;
        self.patches.states = 0; /* made anew */
        (void)cudaMemcpy(memory[0], first, sizeof first, cudaMemcpyHostToDevice);
        (void)cudaMemset(memory[1], 0, sizeof out);
        (void)cudaMemcpy(memory[2], last, sizeof last, cudaMemcpyHostToDevice);
        check_status(measure_gpu(mode, &measured, stream, &LIMITS, &samples), STATUS_OK, mode_name(mode));
        (void)cudaMemcpy(end, memory[0], sizeof end, cudaMemcpyDeviceToHost);
        (void)cudaMemcpy(out, memory[1], sizeof out, cudaMemcpyDeviceToHost);
        unsigned long long seen[2];
        (void)cudaMemcpy(seen, memory[2], sizeof seen, cudaMemcpyDeviceToHost);
        const double repeated = static_cast<double>(seen[1]),
                     spoilt = static_cast<double>(poisoned(reinterpret_cast<unsigned char *>(out), sizeof out));
        check(samples.calls_per_sample > 1, "    calls of a sample", "%.0f", static_cast<double>(samples.calls_per_sample), "more");
        check(samples.between_seconds > 0 && samples.between_seconds < 20e-6, "    seconds between them", "%g",
              samples.between_seconds, "some us");
        /* A mix of two sets repeats where both places fall on the same state; the last state of a sample is the first of the next.
         */
        check(repeated <= static_cast<double>(2 * samples.count + 8), "    calls that found what the last one found", "%.0f",
              repeated, "few");
        check(memcmp(first, end, sizeof first) == 0, "    in the end as at first", "%.0f", 1, "1");
        check(self.writes == (spoilt == 0), "    bytes of the output that are spoilt", "%.0f", spoilt,
              "some, or none if it is written");
        check_status(patches_left(&self.patches, stream, &left), STATUS_OK, "    and what each call left");
        check(self.writes == (left == nullptr), "    an element that was not written is found", "%.0f", left != nullptr,
              "as it was");
        samples_free(&samples);
    }
    patches_free(&self.patches);
    for (void *block : memory) (void)cudaFree(block);
}

/* A launch whose error run() keeps to itself. */
static Status fails_silently(void *context) {
    void *arguments[] = {context};
    (void)cudaLaunchKernel(reinterpret_cast<const void *>(spin_kernel), dim3(1, 1, 1), dim3(4096, 1, 1), arguments, 0, stream);
    return STATUS_OK;
}

static void a_swallowed_launch_error_is_found() {
    unsigned long long nothing = 0;
    const MeasuredWork measured = {fails_silently, &nothing};
    for (int mode = MODE_COLD; mode < MEASURE_MODE_COUNT; mode++) {
        Samples samples;
        if (mode == MODE_GRAPH) continue; /* nothing is captured */
        check_status(measure_gpu((Mode)mode, &measured, stream, &LIMITS, &samples), STATUS_DEVICE,
                     "a launch that fails without run() saying so");
        samples_free(&samples);
    }
}

/* Writes one element, on a stream of its choice. */
struct Writer {
    unsigned char *to;
    cudaStream_t on;
};

static __global__ void write_byte(unsigned char *to) {
    *to = 1;
}

static Status write_on(void *context) {
    const Writer *writer = static_cast<Writer *>(context);
    return launch(write_byte, {1, 1, 0, writer->on}, writer->to);
}

static void other_streams_are_seen() {
    enum { OUTPUT_BYTES = (4 << 20) + 5 };
    static const char *const NAMES[] = {"given", "legacy default", "per-thread default", "own", "own, blocking"};
    Array outputs[2] = {array_1d("first", DTYPE_U8, 100), array_1d("second", DTYPE_U8, OUTPUT_BYTES)};
    cudaStream_t streams[5] = {stream, cudaStreamLegacy, cudaStreamPerThread, NULL, NULL};
    (void)cudaStreamCreateWithFlags(&streams[3], cudaStreamNonBlocking);
    (void)cudaStreamCreate(&streams[4]);
    for (int i = 0; i < 2; i++)
        check(cudaMalloc(&outputs[i].data, array_bytes(&outputs[i])) == cudaSuccess, "output", "%.0f", i, "");
    for (int s = 0; s < 5; s++) {
        Writer writer = {static_cast<unsigned char *>(outputs[1].data) + OUTPUT_BYTES - 1, streams[s]};
        bool stray = false;
        for (int i = 0; i < 2; i++) (void)cudaMemset(outputs[i].data, POISON_BYTE, array_bytes(&outputs[i]));
        (void)cudaDeviceSynchronize();
        check_status(wrong_stream_gpu(write_on, &writer, stream, outputs, 2, POISON_BYTE, &stray), STATUS_OK, NAMES[s]);
        check(stray == (s > 0), "    the last byte of the second output, written elsewhere", "%.0f", stray, s ? "1" : "0");
    }
    for (int i = 0; i < 2; i++) (void)cudaFree(outputs[i].data);
    for (int s = 3; s < 5; s++) (void)cudaStreamDestroy(streams[s]);
}

static Status write_and_wait(void *context) {
    const Writer *writer = static_cast<Writer *>(context);
    TRY(launch(write_byte, {1, 1, 0, writer->on}, writer->to));
    TRY_CUDA(cudaStreamSynchronize(writer->on));
    return STATUS_OK;
}

/* Nothing can be said of it, and that is said soon. */
static void a_call_that_waits_is_let_go() {
    Array output = array_1d("y", DTYPE_U8, 100);
    bool stray = true;
    check(cudaMalloc(&output.data, array_bytes(&output)) == cudaSuccess, "output", "%.0f", 0, "");
    (void)cudaMemset(output.data, POISON_BYTE, array_bytes(&output));
    (void)cudaDeviceSynchronize();
    Writer writer = {static_cast<unsigned char *>(output.data), stream};
    const double begin = clock_seconds();
    check_status(wrong_stream_gpu(write_and_wait, &writer, stream, &output, 1, POISON_BYTE, &stray), STATUS_OK,
                 "a call that waits");
    check(!stray, "    writes on the given stream", "%.0f", stray, "0");
    check(clock_seconds() - begin < 1, "    and was let go after [s]", "%.2f", clock_seconds() - begin, "below 1");
    (void)cudaFree(output.data);
}

int main() {
    const int ready = gpu_check_open();
    if (ready != 0) return ready;
    stream = static_cast<cudaStream_t>(device_cuda()->stream());
    samples_are_announced_and_shown();
    a_long_call_that_waits_is_shown_once();
    inputs_are_varied_alike();
    inputs_are_rewritten_between_calls();
    a_swallowed_launch_error_is_found();
    other_streams_are_seen();
    a_call_that_waits_is_let_go();
    return gpu_check_close();
}
