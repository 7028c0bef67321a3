__global__ void look(cudaTextureObject_t image, float *x) {
    x[threadIdx.x] = tex1Dfetch<float>(image, threadIdx.x);
}

int main() {
    return 0;
}
