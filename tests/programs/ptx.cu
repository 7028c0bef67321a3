__global__ void lane(int *x) {
    int id;
    asm volatile("mov.u32 %0, %%laneid;" : "=r"(id));
    x[threadIdx.x] = id;
}

int main() {
    return 0;
}
