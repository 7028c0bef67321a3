// One kernel for each thing that a race detector may miss or make up; the word of the command line chooses it. Right ones end in
// _right.
#include <cstdio>
#include <cstring>
#include <cuda/atomic>
#include <cuda_pipeline.h>

__device__ int lock, flag, sum, unread[64];

__global__ void scope(int *x) {
    atomicAdd_block(x, 1);
}
__global__ void scope_right(int *x) {
    atomicAdd(x, 1);
}
__global__ void device_variable(int *) {
    sum += 1;
}
__global__ void unread_variable(int *) {
    unread[threadIdx.x] = blockIdx.x + 1;
}
__global__ void lock_right(int *x) {
    if (threadIdx.x) return;
    while (atomicCAS(&lock, 0, 1)) {}
    __threadfence();
    *x += 1;
    __threadfence();
    atomicExch(&lock, 0);
}
// The last block reads what all blocks wrote: the counter's release sequence goes on through every update.
__global__ void sequence_right(int *x) {
    if (threadIdx.x) return;
    x[1 + blockIdx.x] = 1;
    __threadfence();
    if (atomicAdd(x, 1) < (int)gridDim.x - 1) return;
    __threadfence();
    for (int i = 1; i <= (int)gridDim.x; i++) sum += x[i];
}
// The flag orders nothing for a reader without a fence: a race if volatile counts as plain.
__global__ void no_fence_after(volatile int *x) {
    if (threadIdx.x) return;
    if (blockIdx.x == 0) {
        *x = 1;
        __threadfence();
        atomicExch(&flag, 1);
    } else if (blockIdx.x == 1) {
        while (atomicAdd(&flag, 0) == 0) {}
        x[1] = *x;
    }
}
__global__ void fence_after_right(volatile int *x) {
    if (threadIdx.x) return;
    if (blockIdx.x == 0) {
        *x = 1;
        __threadfence();
        atomicExch(&flag, 1);
    } else if (blockIdx.x == 1) {
        while (atomicAdd(&flag, 0) == 0) {}
        __threadfence();
        x[1] = *x;
    }
}
__global__ void release_of_block(int *x) {
    cuda::atomic_ref<int, cuda::thread_scope_block> ready(flag);
    if (threadIdx.x) return;
    if (blockIdx.x == 0) {
        *x = 1;
        ready.store(1, cuda::memory_order_release);
    } else if (blockIdx.x == 1) {
        while (!ready.load(cuda::memory_order_acquire)) {}
        x[1] = *x;
    }
}
__global__ void release_right(int *x) {
    cuda::atomic_ref<int, cuda::thread_scope_device> ready(flag);
    if (threadIdx.x) return;
    if (blockIdx.x == 0) {
        *x = 1;
        ready.store(1, cuda::memory_order_release);
    } else if (blockIdx.x == 1) {
        while (!ready.load(cuda::memory_order_acquire)) {}
        x[1] = *x;
    }
}
__global__ void copy_read_early(int *x) {
    __shared__ int own[64];
    __pipeline_memcpy_async(&own[threadIdx.x], &x[threadIdx.x], sizeof(int));
    __pipeline_commit();
    x[64 * (1 + blockIdx.x) + threadIdx.x] = own[threadIdx.x];
    __pipeline_wait_prior(0);
}
__global__ void same_value(int *x) {
    *x = 1;
}
__global__ void unset(int *x) {
    x[64 * blockIdx.x + threadIdx.x] = x[2048 + threadIdx.x];
}
__global__ void exchange_right(int *x) {
    atomicExch(&x[2048], 1);
}

// Each on an array of its own, and with flags that nobody has set.
static int *fresh() {
    const int zero = 0;
    int *x;
    cudaMalloc(&x, 4096 * sizeof *x);
    cudaMemset(x, 0, 2048 * sizeof *x);
    cudaMemcpyToSymbol(flag, &zero, sizeof zero);
    return x;
}

int main(int argc, char **argv) {
#define KERNEL(name)                                                                                                               \
    for (int i = 1; i < argc; i++)                                                                                                 \
        if (!strcmp(argv[i], #name)) name<<<4, 64>>>(fresh())
    KERNEL(scope);
    KERNEL(scope_right);
    KERNEL(device_variable);
    KERNEL(unread_variable);
    KERNEL(lock_right);
    KERNEL(sequence_right);
    KERNEL(no_fence_after);
    KERNEL(fence_after_right);
    KERNEL(release_of_block);
    KERNEL(release_right);
    KERNEL(copy_read_early);
    KERNEL(same_value);
    KERNEL(unset);
    KERNEL(exchange_right);
    return cudaDeviceSynchronize();
}
