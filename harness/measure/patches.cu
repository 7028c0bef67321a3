/* Between two calls of a sample on a GPU: a kernel of one block writes a few elements, which the host has made for all states. */
#include "kernel.h"
#include "measure/measure.h"

#include <stdlib.h>
#include <string.h>

enum { PATCH_THREADS = 128 };

static __global__ void __launch_bounds__(PATCH_THREADS) patch_kernel(const Patch *patches, size_t count) {
    for (size_t i = threadIdx.x; i < count; i += blockDim.x) {
        const Patch patch = patches[i];
        const unsigned char *from = reinterpret_cast<const unsigned char *>(&patch.bits);
        for (size_t b = 0; b < patch.size; b++) static_cast<unsigned char *>(patch.to)[b] = from[b];
    }
}

static void make_state(const Rewriting *inputs, int in_count, const Spoiling *spoiling, size_t state, Patch *out) {
    for (int i = 0; i < in_count; i++, out += VARY_PATCHES) vary_patches(&inputs[i], state, out);
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

static Status make_room(Patches *self, size_t count) {
    if (count <= self->capacity) return STATUS_OK;
    void *memory = nullptr;
    patches_free(self);
    TRY_CUDA(cudaMalloc(&memory, count * sizeof(Patch)));
    self->on_device = static_cast<Patch *>(memory);
    self->capacity = count;
    return STATUS_OK;
}

Status patches_make(Patches *self, const Rewriting *inputs, int in_count, const Spoiling *spoiling, size_t states, void *stream) {
    const size_t of_state = static_cast<size_t>(in_count) * VARY_PATCHES + static_cast<size_t>(spoiling->count) * VARY_PLACES;
    const size_t count = states * of_state;
    TRY(make_room(self, count));
    self->states = 0; /* until they are there */
    self->of_state = of_state;
    Patch *made = static_cast<Patch *>(calloc(count ? count : 1, sizeof *made));
    if (!made) return status_fail(STATUS_MEMORY, "no host memory for %zu elements to rewrite between calls", count);
    for (size_t state = 0; state < states; state++) make_state(inputs, in_count, spoiling, state, made + state * of_state);
    const cudaStream_t ordered = static_cast<cudaStream_t>(stream);
    cudaError_t error = cudaMemcpyAsync(self->on_device, made, count * sizeof *made, cudaMemcpyHostToDevice, ordered);
    if (error == cudaSuccess) error = cudaStreamSynchronize(ordered);
    free(made);
    TRY_CUDA(error);
    self->states = states;
    return STATUS_OK;
}

Status patches_enqueue(const Patches *self, size_t state, void *stream) {
    if (state >= self->states) return status_fail(STATUS_INTERNAL, "state %zu of %zu was not made", state, self->states);
    if (self->of_state == 0) return STATUS_OK;
    return launch(patch_kernel, {1, PATCH_THREADS, 0, stream}, static_cast<const Patch *>(self->on_device + state * self->of_state),
                  self->of_state);
}

void patches_free(Patches *self) {
    if (self->on_device) (void)cudaFree(self->on_device);
    *self = Patches{};
}
