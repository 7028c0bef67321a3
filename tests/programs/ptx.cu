__global__ void lane(int *x) {
    int id;
    asm volatile("vshr.u32.u32.u32.clamp.add %0, %0, %0, %0;" : "+r"(id));
    x[threadIdx.x] = id;
}

int main() {
    return 0;
}
