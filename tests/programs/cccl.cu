// CUDA's core libraries by their own headers: cuda::std, cuda::atomic_ref, Thrust on its own memory and on cudaMalloc's.
#include <cstdio>
#include <cuda/atomic>
#include <cuda/std/array>
#include <cuda/std/limits>
#include <thrust/device_vector.h>
#include <thrust/execution_policy.h>
#include <thrust/reduce.h>
#include <thrust/sort.h>
#include <thrust/transform.h>

__global__ void fill(int *out, cuda::std::array<int, 4> values, unsigned *count) {
    out[threadIdx.x] = values[threadIdx.x % 4];
    cuda::atomic_ref<unsigned, cuda::thread_scope_device> all(*count);
    if (out[threadIdx.x] < cuda::std::numeric_limits<int>::max()) all.fetch_add(1, cuda::memory_order_relaxed);
}

struct Twice {
    __host__ __device__ int operator()(int x) const { return 2 * x; }
};

int main() {
    thrust::device_vector<int> values(64);
    unsigned *count, counted;
    cudaMalloc(&count, sizeof *count);
    cudaMemset(count, 0, sizeof *count);
    fill<<<1, 64>>>(thrust::raw_pointer_cast(values.data()), cuda::std::array<int, 4>{4, 3, 2, 1}, count);
    thrust::sort(values.begin(), values.end());
    thrust::transform(thrust::cuda::par.on(0), values.begin(), values.end(), values.begin(), Twice());

    int *raw;
    cudaMalloc(&raw, 64 * sizeof *raw);
    thrust::copy(values.begin(), values.end(), thrust::device_pointer_cast(raw));
    const int sum = thrust::reduce(thrust::device, raw, raw + 64);
    cudaMemcpy(&counted, count, sizeof counted, cudaMemcpyDeviceToHost);
    printf("sum %d, first %d, last %d, counted %u\n", sum, (int)values[0], (int)values[63], counted);
    cudaFree(raw);
    cudaFree(count);
    return 0;
}
