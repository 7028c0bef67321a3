/* Tests of the memory module that need a GPU: large copies through the staging buffers, guards, poison, refused allocations, and
 * digests. */
#include "device/device.h"
#include "device/digest.h"
#include "device/memory.h"
#include "gpu_check.h"
#include "kernel.h"
#include "measure/measure.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static __global__ void write_one(double *array, long long index) {
    array[index] = 1;
}

static void memory_on_the_device() {
    const cudaStream_t stream = static_cast<cudaStream_t>(device_cuda()->stream());
    const Device *device = device_cuda();
    const size_t n = ((size_t)72 << 20) / sizeof(double) + 3; /* several staging pieces and a rest */
    const Array shape = array_1d("x", DTYPE_F64, n);
    Buffer buffer;
    const Status created = buffer_create(device, &shape, &buffer);
    check_status(created, STATUS_OK, "buffer_create, 72 MiB");
    if (created != STATUS_OK) return;
    double *host = (double *)malloc(n * sizeof *host), *back = (double *)malloc(n * sizeof *back);
    for (size_t i = 0; i < n; i++) host[i] = (double)i * 0.5;
    check_status(buffer_poison(&buffer), STATUS_OK, "poison");
    check_status(buffer.device->copy_out(back, buffer.array.data, buffer.bytes), STATUS_OK, "download");
    size_t unwritten = 0;
    for (size_t i = 0; i < n; i++) unwritten += poison_element(back, DTYPE_F64, i);
    check(unwritten == n, "    elements that are poison", "%.0f", (double)unwritten, "all");
    check_status(buffer_upload(&buffer, host), STATUS_OK, "upload");
    memset(back, 0, n * sizeof *back);
    check_status(buffer.device->copy_out(back, buffer.array.data, buffer.bytes), STATUS_OK, "download");
    check(memcmp(host, back, n * sizeof *host) == 0, "    comes back as it went", "%.0f", (double)n, "elements");
    check_status(buffer_check_guards(&buffer), STATUS_OK, "guards untouched");
    check_status(buffer_check_unchanged(&buffer, host), STATUS_OK, "input untouched");

    static const struct {
        long long index;
        bool guard;
        const char *text, *what;
    } writes[] = {
        {-1, true, "(index -1)", "a kernel writes element -1"},
        {(long long)n, true, "past its end", "a kernel writes element n"},
        {(long long)n - 2, false, "element", "a kernel writes input element n - 2"},
    };
    for (size_t i = 0; i < sizeof writes / sizeof *writes; i++) {
        Buffer fresh;
        if (buffer_create(device, &shape, &fresh) != STATUS_OK || buffer_upload(&fresh, host) != STATUS_OK) {
            check(false, "second buffer", "%.0f", 0, status_message());
            continue;
        }
        check_status(launch(write_one, {1, 1, 0, stream}, (double *)fresh.array.data, writes[i].index), STATUS_OK, writes[i].what);
        check_status(device->wait("write_one"), STATUS_OK, "    it runs");
        const Status caught = writes[i].guard ? buffer_check_guards(&fresh) : buffer_check_unchanged(&fresh, host);
        check(caught == STATUS_CHECK && strstr(status_message(), writes[i].text), "    and is caught", "%.0f", caught,
              status_message());
        buffer_destroy(&fresh);
    }
    const double begin = clock_seconds();
    check_status(buffer_check_unchanged(&buffer, host), STATUS_OK, "72 MiB compared");
    printf("      at %.1f GB/s\n", 1e-9 * (double)(n * sizeof *host) / (clock_seconds() - begin));
    free(host);
    free(back);
    buffer_destroy(&buffer);
    const Array huge = array_1d("huge", DTYPE_F64, (size_t)1 << 45);
    check_status(buffer_create(device, &huge, &buffer), STATUS_MEMORY, "2^48 bytes are refused");
    printf("      %s\n", status_message());
    check_status(device->wait("after the refusal"), STATUS_OK, "    and the device works on");
}

/* The sum that a digest is, in the order of the addresses. */
static uint64_t summed(const unsigned char *data, size_t past, size_t bytes, uint64_t seed) {
    const size_t before = (DIGEST_STEP - past % DIGEST_STEP) % DIGEST_STEP, head = before < bytes ? before : bytes;
    const size_t words = (bytes - head) / DIGEST_STEP * 2;
    uint64_t sum = 0, index = words;
    for (size_t i = 0; i < head; i++) sum += digest_of_word(data[i], index++, seed);
    for (size_t i = 0; i < words; i++) {
        uint64_t word;
        memcpy(&word, data + head + 8 * i, sizeof word);
        sum += digest_of_word(word, i, seed);
    }
    for (size_t i = head + 8 * words; i < bytes; i++) sum += digest_of_word(data[i], index++, seed);
    return sum;
}

static void digests_on_the_device() {
    const size_t most = 300000, seed = 1481765934;
    unsigned char *host = (unsigned char *)malloc(most), *device = NULL;
    void *word = NULL;
    check(cudaMalloc(&device, most) == cudaSuccess && cudaMalloc(&word, 8) == cudaSuccess, "memory for digests", "%.0f",
          (double)most, "bytes");
    for (size_t i = 0; i < most; i++) host[i] = (unsigned char)(i * 2654435761u >> 13);
    check_status(device_cuda()->copy_in(device, host, most), STATUS_OK, "bytes for digests");
    static const size_t lengths[] = {0, 1, 15, 16, 17, 31, 4096, 262147};
    for (size_t past = 0; past <= DIGEST_STEP; past += 3)
        for (size_t length : lengths) {
            uint64_t found = 1;
            const Status status = digest_gpu(device + past, length, seed, word, device_cuda()->stream(), &found);
            check(status == STATUS_OK && found == summed(host + past, past, length, seed), "a digest", "%.0f", (double)length,
                  "bytes, as summed on the host");
        }
    (void)cudaFree(device);
    (void)cudaFree(word);
    free(host);
}

int main() {
    const int ready = gpu_check_open();
    if (ready != 0) return ready;
    memory_on_the_device();
    digests_on_the_device();
    return gpu_check_close();
}
