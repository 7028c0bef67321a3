template <typename T> __global__ void increase(T *x, T by, int n) {
    const int i = blockIdx.x * blockDim.x * blockDim.y + threadIdx.y * blockDim.x + threadIdx.x;
    if (i < n) x[i] += by;
}
