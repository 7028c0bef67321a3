#include "device/facts.h"

#ifndef RUNGS_WITH_CUDA

Status device_cuda_facts(int index, json_t **out) {
    (void)index, (void)out;
    return status_fail(STATUS_UNSUPPORTED, "built without CUDA");
}

void device_cuda_uuid(char uuid[48]) {
    uuid[0] = '\0';
}

#else

#include <cuda_runtime_api.h>
#include <stdio.h>

static void format_uuid(const cudaUUID_t *uuid, char text[48]) {
    size_t used = (size_t)snprintf(text, 48, "GPU-");
    for (int i = 0; i < 16; i++)
        used += (size_t)snprintf(text + used, 48 - used, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
                                 (unsigned)(unsigned char)uuid->bytes[i]);
}

Status device_cuda_facts(int index, json_t **out) {
    struct cudaDeviceProp p;
    int runtime = 0;
    cudaError_t error = cudaGetDeviceProperties(&p, index);
    if (error == cudaSuccess) error = cudaRuntimeGetVersion(&runtime);
    if (error != cudaSuccess) return status_fail(STATUS_DEVICE, "CUDA device %d: %s", index, cudaGetErrorString(error));
    char capability[16], version[16], uuid[48];
    snprintf(capability, sizeof capability, "%d.%d", p.major, p.minor);
    snprintf(version, sizeof version, "%d.%d", runtime / 1000, runtime % 1000 / 10);
    format_uuid(&p.uuid, uuid);
    *out = json_pack("{s:s, s:s, s:s, s:i, s:i, s:I, s:I, s:s}", "name", p.name, "uuid", uuid, "compute_capability", capability,
                     "sm_count", p.multiProcessorCount, "l2_bytes", p.l2CacheSize, "memory_bytes", (json_int_t)p.totalGlobalMem,
                     "shared_bytes_per_block", (json_int_t)p.sharedMemPerBlockOptin, "runtime", version);
    return *out ? STATUS_OK : status_fail(STATUS_MEMORY, "no memory for the facts of device %d", index);
}

void device_cuda_uuid(char uuid[48]) {
    struct cudaDeviceProp p;
    int index = 0;
    uuid[0] = '\0';
    if (cudaGetDevice(&index) == cudaSuccess && cudaGetDeviceProperties(&p, index) == cudaSuccess) format_uuid(&p.uuid, uuid);
}

#endif
