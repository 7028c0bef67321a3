/* Between two calls of a sample on a GPU: a kernel of one block writes a few elements, which the host has made for all states, and
 * looks whether the call before it wrote those that were spoilt for it. */
#include "kernel.h"
#include "measure/measure.h"

#include <stdlib.h>
#include <string.h>

enum { PATCH_THREADS = 128 };

static __device__ bool is_there(const Patch &patch) {
    const unsigned char *bits = reinterpret_cast<const unsigned char *>(&patch.bits);
    size_t b = 0;
    while (b < patch.size && static_cast<const unsigned char *>(patch.to)[b] == bits[b]) b++;
    return b == patch.size;
}

/* The last `checks` patches are those of the state above, *left one of them that is still there. */
static __global__ void __launch_bounds__(PATCH_THREADS)
    patch_kernel(const Patch *patches, size_t writes, size_t checks, void **left) {
    for (size_t i = threadIdx.x; i < writes + checks; i += blockDim.x) {
        const Patch patch = patches[i];
        const unsigned char *from = reinterpret_cast<const unsigned char *>(&patch.bits);
        if (i >= writes && patch.size > 0 && is_there(patch)) *left = patch.to;
        for (size_t b = 0; b < patch.size && i < writes; b++) static_cast<unsigned char *>(patch.to)[b] = from[b];
    }
}

static void make_spoilt(const Spoiling *spoiling, size_t state, Patch *out) {
    for (int i = 0; i < spoiling->count; i++) {
        const Array *array = &spoiling->outputs[i];
        const size_t count = array_count(array), size = dtype_size(array->dtype);
        for (int k = 0; k < VARY_PLACES; k++, out++) {
            if (count == 0) continue;
            out->to = static_cast<unsigned char *>(array->data) + vary_place(spoiling->key, state, k, count) * size;
            out->size = size;
            memset(&out->bits, spoiling->poison, sizeof out->bits);
        }
    }
}

/* What was spoilt in the state above, where that tells and this state does not spoil it again. */
static void make_checks(const Spoiling *spoiling, size_t state, const Patch *now, Patch *out) {
    const int count = spoiling->count * VARY_PLACES;
    make_spoilt(spoiling, state + 1, out);
    for (int i = 0; i < count; i++) {
        bool tells = spoiling_tells(spoiling->outputs[i / VARY_PLACES].dtype);
        for (int j = 0; j < count; j++) tells = tells && now[j].to != out[i].to;
        if (!tells) out[i].size = 0;
    }
}

static void make_state(const Patches *self, const Rewriting *inputs, int in_count, const Spoiling *spoiling, size_t state,
                       Patch *out) {
    for (int i = 0; i < in_count; i++, out += VARY_PATCHES) vary_patches(&inputs[i], state, out);
    make_spoilt(spoiling, state, out);
    make_checks(spoiling, state, out, out + self->checks);
}

static Status make_room(Patches *self, size_t count) {
    if (count <= self->capacity) return STATUS_OK;
    void *memory = nullptr;
    patches_free(self);
    TRY_CUDA(cudaMalloc(&memory, count * sizeof(Patch)));
    self->on_device = static_cast<Patch *>(memory);
    self->capacity = count;
    TRY_CUDA(cudaMalloc(&memory, 2 * sizeof *self->left));
    self->left = static_cast<void **>(memory);
    return STATUS_OK;
}

Status patches_make(Patches *self, const Rewriting *inputs, int in_count, const Spoiling *spoiling, size_t states, void *stream) {
    const size_t checks = static_cast<size_t>(spoiling->count) * VARY_PLACES;
    const size_t of_state = static_cast<size_t>(in_count) * VARY_PATCHES + 2 * checks;
    const size_t count = states * of_state;
    TRY(make_room(self, count));
    self->states = 0; /* until they are there */
    self->of_state = of_state;
    self->checks = checks;
    Patch *made = static_cast<Patch *>(calloc(count ? count : 1, sizeof *made));
    if (!made) return status_fail(STATUS_MEMORY, "no host memory for %zu elements to rewrite between calls", count);
    for (size_t state = 0; state < states; state++) make_state(self, inputs, in_count, spoiling, state, made + state * of_state);
    const cudaStream_t ordered = static_cast<cudaStream_t>(stream);
    cudaError_t error = cudaMemcpyAsync(self->on_device, made, count * sizeof *made, cudaMemcpyHostToDevice, ordered);
    if (error == cudaSuccess && self->left) error = cudaMemsetAsync(self->left, 0, 2 * sizeof *self->left, ordered);
    if (error == cudaSuccess) error = cudaStreamSynchronize(ordered);
    free(made);
    TRY_CUDA(error);
    self->states = states;
    return STATUS_OK;
}

Status patches_enqueue(const Patches *self, size_t state, bool called, void *stream) {
    if (state >= self->states) return status_fail(STATUS_INTERNAL, "state %zu of %zu was not made", state, self->states);
    if (self->of_state == 0) return STATUS_OK;
    return launch(patch_kernel, {1, PATCH_THREADS, 0, stream}, static_cast<const Patch *>(self->on_device + state * self->of_state),
                  self->of_state - self->checks, self->checks, self->left + !called);
}

Status patches_left(const Patches *self, void *stream, const void **element) {
    void *left = nullptr;
    if (self->left)
        TRY_CUDA(cudaMemcpyAsync(&left, self->left, sizeof left, cudaMemcpyDeviceToHost, static_cast<cudaStream_t>(stream)));
    TRY_CUDA(cudaStreamSynchronize(static_cast<cudaStream_t>(stream)));
    *element = left;
    return STATUS_OK;
}

void patches_free(Patches *self) {
    if (self->on_device) (void)cudaFree(self->on_device);
    if (self->left) (void)cudaFree(self->left);
    *self = Patches{};
}

Status move_gpu(void *to, const void *from, size_t bytes) {
    TRY_CUDA(cudaMemcpy(to, from, bytes, cudaMemcpyDefault));
    TRY_CUDA(cudaStreamSynchronize(cudaStreamLegacy));
    return STATUS_OK;
}

Status fill_gpu(void *to, int byte, size_t bytes) {
    TRY_CUDA(cudaMemset(to, byte, bytes));
    TRY_CUDA(cudaStreamSynchronize(cudaStreamLegacy));
    return STATUS_OK;
}

Status wait_gpu(void) {
    TRY_CUDA(cudaDeviceSynchronize());
    return STATUS_OK;
}

Status free_gpu(size_t *bytes) {
    size_t all;
    TRY_CUDA(cudaMemGetInfo(bytes, &all));
    return STATUS_OK;
}
