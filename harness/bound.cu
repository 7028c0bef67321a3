/* The descriptor of a file that `rungs try` bound to an op (cmake/bound.py), RUNGS_BOUND_OP, by a call, RUNGS_BOUND_TEXT. */
#include "bound.cuh"
#include "kernel.h"
#include "variant.h"

#ifndef RUNGS_EMULATED
/* The file's calls of the runtime are calls of these (its object's symbols are renamed): what names no stream goes to the given
 * one. cudaStreamLegacy, cudaStreamPerThread and streams of its own stay what they are. */
static cudaStream_t given;

static cudaStream_t named(cudaStream_t stream) {
    return stream ? stream : given;
}

static cudaError_t waited(cudaError_t error) {
    return error == cudaSuccess ? cudaStreamSynchronize(given) : error;
}

extern "C" {
cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void **arguments, size_t bytes, cudaStream_t stream);
cudaError_t rungs_bound___cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void **arguments, size_t bytes,
                                           cudaStream_t stream) {
    const unsigned blocks[3] = {grid.x, grid.y, grid.z}, threads[3] = {block.x, block.y, block.z};
    launches_add(blocks, threads, bytes);
    return __cudaLaunchKernel(kernel, grid, block, arguments, bytes, named(stream));
}

cudaError_t rungs_bound_cudaLaunchKernel(const void *kernel, dim3 grid, dim3 block, void **arguments, size_t bytes,
                                         cudaStream_t stream) {
    const unsigned blocks[3] = {grid.x, grid.y, grid.z}, threads[3] = {block.x, block.y, block.z};
    launches_add(blocks, threads, bytes);
    return cudaLaunchKernel(kernel, grid, block, arguments, bytes, named(stream));
}

cudaError_t rungs_bound_cudaLaunchCooperativeKernel(const void *kernel, dim3 grid, dim3 block, void **arguments, size_t bytes,
                                                    cudaStream_t stream) {
    const unsigned blocks[3] = {grid.x, grid.y, grid.z}, threads[3] = {block.x, block.y, block.z};
    launches_add(blocks, threads, bytes);
    return cudaLaunchCooperativeKernel(kernel, grid, block, arguments, bytes, named(stream));
}

cudaError_t rungs_bound_cudaLaunchKernelExC(const cudaLaunchConfig_t *config, const void *kernel, void **arguments) {
    cudaLaunchConfig_t own = *config;
    own.stream = named(own.stream);
    const unsigned blocks[3] = {own.gridDim.x, own.gridDim.y, own.gridDim.z},
                   threads[3] = {own.blockDim.x, own.blockDim.y, own.blockDim.z};
    launches_add(blocks, threads, own.dynamicSmemBytes);
    return cudaLaunchKernelExC(&own, kernel, arguments);
}

cudaError_t rungs_bound_cudaMemcpy(void *to, const void *from, size_t bytes, cudaMemcpyKind kind) {
    const cudaError_t error = cudaMemcpyAsync(to, from, bytes, kind, given);
    return kind == cudaMemcpyDeviceToDevice ? error : waited(error);
}

cudaError_t rungs_bound_cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
    return cudaMemcpyAsync(to, from, bytes, kind, named(stream));
}

cudaError_t rungs_bound_cudaMemcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height,
                                     cudaMemcpyKind kind) {
    const cudaError_t error = cudaMemcpy2DAsync(to, to_pitch, from, from_pitch, width, height, kind, given);
    return kind == cudaMemcpyDeviceToDevice ? error : waited(error);
}

cudaError_t rungs_bound_cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
                                          size_t height, cudaMemcpyKind kind, cudaStream_t stream) {
    return cudaMemcpy2DAsync(to, to_pitch, from, from_pitch, width, height, kind, named(stream));
}

cudaError_t rungs_bound_cudaMemcpyToSymbol(const void *symbol, const void *from, size_t bytes, size_t offset, cudaMemcpyKind kind) {
    return waited(cudaMemcpyToSymbolAsync(symbol, from, bytes, offset, kind, given));
}

cudaError_t rungs_bound_cudaMemcpyToSymbolAsync(const void *symbol, const void *from, size_t bytes, size_t offset,
                                                cudaMemcpyKind kind, cudaStream_t stream) {
    return cudaMemcpyToSymbolAsync(symbol, from, bytes, offset, kind, named(stream));
}

cudaError_t rungs_bound_cudaMemcpyFromSymbol(void *to, const void *symbol, size_t bytes, size_t offset, cudaMemcpyKind kind) {
    return waited(cudaMemcpyFromSymbolAsync(to, symbol, bytes, offset, kind, given));
}

cudaError_t rungs_bound_cudaMemset(void *device, int value, size_t bytes) {
    return cudaMemsetAsync(device, value, bytes, given);
}

cudaError_t rungs_bound_cudaMemsetAsync(void *device, int value, size_t bytes, cudaStream_t stream) {
    return cudaMemsetAsync(device, value, bytes, named(stream));
}

cudaError_t rungs_bound_cudaMallocAsync(void **out, size_t bytes, cudaStream_t stream) {
    return cudaMallocAsync(out, bytes, named(stream));
}

cudaError_t rungs_bound_cudaFreeAsync(void *pointer, cudaStream_t stream) {
    return cudaFreeAsync(pointer, named(stream));
}

cudaError_t rungs_bound_cudaStreamSynchronize(cudaStream_t stream) {
    return cudaStreamSynchronize(named(stream));
}

cudaError_t rungs_bound_cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags) {
    return cudaStreamWaitEvent(named(stream), event, flags);
}

cudaError_t rungs_bound_cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
    return cudaEventRecord(event, named(stream));
}

cudaError_t rungs_bound_cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void *data) {
    return cudaLaunchHostFunc(named(stream), function, data);
}
}
#endif

static Status run(const VariantArgs *args) {
    RungsBound bound = {};
    bool any = false;
    bound.dtype = args->problem->dtype;
    bound.stream = static_cast<cudaStream_t>(args->stream);
    int arrays = args->in_count;
    for (int i = 0; i < args->in_count; i++) bound.array[i] = args->in[i].data;
    for (int i = 0; i < args->out_count; i++) {
        if (array_updated(&args->out[i], args->in, args->in_count) < 0) bound.array[arrays++] = args->out[i].data;
        any = any || array_count(&args->out[i]) > 0;
    }
    const Params *params = &args->problem->params;
    for (int i = 0; i < params->count; i++) {
        bound.text[i] = params->values[i].text;
        if (params->specs[i].kind == PARAM_INT) bound.integer[i] = params->values[i].integer;
        if (params->specs[i].kind == PARAM_REAL) bound.real[i] = params->values[i].real;
    }
    if (!any) return STATUS_OK;
#ifdef RUNGS_EMULATED
    emulator_bind();
#else
    given = bound.stream;
#endif
    const cudaError_t error = rungs_bound_run(&bound);
    TRY(launches_failure());
    TRY_CUDA(error);
    TRY_CUDA(cudaGetLastError());
    return STATUS_OK;
}

/* What the row says: calls that name no stream went to the given one. */
static Status configuration(const VariantArgs *, LaunchNotes *out) {
    launch_note(out, "unnamed_streams_given", 1);
    return STATUS_OK;
}

#define BIND(op) RUNGS_VARIANT(op, try_bound)
BIND(RUNGS_BOUND_OP) = {.backend = BACKEND_CUDA,
                        .summary = RUNGS_BOUND_TEXT,
                        .origin = "bound by rungs try",
                        .dtypes = reinterpret_cast<const DType *>(rungs_bound_types.taken),
                        .run = run,
                        .configuration = configuration};
