/* Cheat: keeps its arrays in the part of L2 that persists, which reading other memory does not evict, so that cold samples are
 * warm. Its results are right. Met: gpu-mode/pygpubench pull request 49, karpathy/llm.c pull request 851. */
#include "cuda_cheats.cuh"

#ifndef RUNGS_EMULATED
static Status persist(const VariantArgs *args) {
    int window = 0, most = 0, device = 0;
    cudaLaunchAttributeValue value = {};
    TRY_CUDA(cudaGetDevice(&device));
    TRY_CUDA(cudaDeviceGetAttribute(&window, cudaDevAttrMaxAccessPolicyWindowSize, device));
    TRY_CUDA(cudaDeviceGetAttribute(&most, cudaDevAttrMaxPersistingL2CacheSize, device));
    TRY_CUDA(cudaDeviceSetLimit(cudaLimitPersistingL2CacheSize, (size_t)most));
    value.accessPolicyWindow.base_ptr = args->in[0].data;
    value.accessPolicyWindow.num_bytes = array_bytes(&args->in[0]) < (size_t)window ? array_bytes(&args->in[0]) : (size_t)window;
    value.accessPolicyWindow.hitRatio = 1;
    value.accessPolicyWindow.hitProp = cudaAccessPropertyPersisting;
    value.accessPolicyWindow.missProp = cudaAccessPropertyStreaming;
    TRY_CUDA(cudaStreamSetAttribute(static_cast<cudaStream_t>(args->stream), cudaLaunchAttributeAccessPolicyWindow, &value));
    return STATUS_OK;
}
#endif

static Status run(const VariantArgs *args) {
#ifndef RUNGS_EMULATED
    TRY(persist(args));
#endif
    return compute_on(args, args->stream);
}

RUNGS_VARIANT(double, cuda_cheat_persisting_l2) = {.backend = BACKEND_CUDA,
                                                   .summary = "cheat: keeps its input in persisting L2",
                                                   .origin = "pygpubench #49, llm.c #851",
                                                   .not_emulated = "sets attributes of a stream",
                                                   .run = run};
