/* One kernel in several shapes, because none is best everywhere, and the driver's own copy and fill. As a rule blocks that each do
 * a little and end (the hardware hands them out in order, and DRAM likes it) beat blocks that stay and stride. */
#include "measure/moves_cuda.cuh"

namespace {

enum { THREADS_MAX = 1024, RESIDENT_BLOCKS = 2, RESIDENT_THREADS = 512, RESIDENT_LOADS = 8 };
const unsigned IMPROBABLE = 0x9e3779b9u;

__device__ unsigned mix(uint4 word) {
    return word.x ^ word.y ^ word.z ^ word.w;
}

__device__ unsigned mix(uint2 word) {
    return word.x ^ word.y;
}

__device__ unsigned mix(unsigned word) {
    return word;
}

/* Word i is copied while both arrays last; then it is read or written alone. The sum keeps the loads of words that are only read;
 * its store never happens, which the compiler does not know. */
template <typename Word, int PER>
__global__ void __launch_bounds__(THREADS_MAX)
    move_kernel(const Word *from, size_t reads, Word *to, size_t writes, unsigned *sink) {
    const size_t first = (size_t)blockIdx.x * blockDim.x * PER + threadIdx.x;
    Word words[PER];
    unsigned sum = 0;
#pragma unroll
    for (int j = 0; j < PER; j++) {
        const size_t i = first + (size_t)j * blockDim.x;
        words[j] = i < reads ? from[i] : Word{};
    }
#pragma unroll
    for (int j = 0; j < PER; j++) {
        const size_t i = first + (size_t)j * blockDim.x;
        if (i < writes)
            to[i] = words[j];
        else
            sum ^= mix(words[j]);
    }
    if (sum == IMPROBABLE) *sink = sum;
}

/* The same by blocks that stay: what reads most is fastest this way on some devices. */
__global__ void __launch_bounds__(RESIDENT_THREADS)
    resident_kernel(const uint4 *from, size_t reads, uint4 *to, size_t writes, unsigned *sink) {
    const size_t words = reads > writes ? reads : writes, step = (size_t)blockDim.x * RESIDENT_LOADS;
    const size_t steps = (words + step - 1) / step, begin = steps * blockIdx.x / gridDim.x,
                 end = steps * (blockIdx.x + 1) / gridDim.x;
    unsigned sum = 0;
    for (size_t s = begin; s < end; s++) {
        uint4 loaded[RESIDENT_LOADS];
#pragma unroll
        for (int j = 0; j < RESIDENT_LOADS; j++) {
            const size_t i = s * step + (size_t)j * blockDim.x + threadIdx.x;
            loaded[j] = i < reads ? from[i] : uint4{};
        }
#pragma unroll
        for (int j = 0; j < RESIDENT_LOADS; j++) {
            const size_t i = s * step + (size_t)j * blockDim.x + threadIdx.x;
            if (i < writes)
                to[i] = loaded[j];
            else
                sum ^= mix(loaded[j]);
        }
    }
    if (sum == IMPROBABLE) *sink = sum;
}

__global__ void __launch_bounds__(1) empty_kernel() {}

template <typename Word, int PER, int THREADS> Status move(void *context) {
    const MoveArena *arena = static_cast<const MoveArena *>(context);
    const size_t reads = arena->read / sizeof(Word), writes = arena->written / sizeof(Word);
    const size_t words = reads > writes ? reads : writes, each = (size_t)PER * THREADS;
    const unsigned blocks = words > each ? static_cast<unsigned>((words + each - 1) / each) : 1;
    return launch(move_kernel<Word, PER>, {blocks, THREADS, 0, arena->stream}, reinterpret_cast<const Word *>(arena->from), reads,
                  reinterpret_cast<Word *>(arena->to), writes, reinterpret_cast<unsigned *>(arena->to));
}

Status move_resident(void *context) {
    const MoveArena *arena = static_cast<const MoveArena *>(context);
    return launch(resident_kernel, {static_cast<unsigned>(arena->sms * RESIDENT_BLOCKS), RESIDENT_THREADS, 0, arena->stream},
                  reinterpret_cast<const uint4 *>(arena->from), arena->read / sizeof(uint4), reinterpret_cast<uint4 *>(arena->to),
                  arena->written / sizeof(uint4), reinterpret_cast<unsigned *>(arena->to));
}

Status move_by_driver(void *context) {
    const MoveArena *arena = static_cast<const MoveArena *>(context);
    if (arena->read > 0)
        TRY_CUDA(cudaMemcpyAsync(arena->to, arena->from, arena->written, cudaMemcpyDeviceToDevice, arena->stream));
    else
        TRY_CUDA(cudaMemsetAsync(arena->to, 0x3c, arena->written, arena->stream));
    return STATUS_OK;
}

} // namespace

const MoveGpu MOVES_GPU[MOVE_GPU_COUNT] = {
    {"kernel, 1 x 16 bytes per thread, 128 threads", move<uint4, 1, 128>, false},
    {"kernel, 1 x 16 bytes per thread, 256 threads", move<uint4, 1, 256>, false},
    {"kernel, 1 x 16 bytes per thread, 512 threads", move<uint4, 1, 512>, false},
    {"kernel, 4 x 16 bytes per thread, 256 threads", move<uint4, 4, 256>, false},
    {"kernel, 8 x 16 bytes per thread, 256 threads", move<uint4, 8, 256>, false},
    {"kernel, 1 x 8 bytes per thread, 256 threads", move<uint2, 1, 256>, false},
    {"kernel, 1 x 4 bytes per thread, 256 threads", move<unsigned, 1, 256>, false},
    {"kernel, 2 resident blocks of 512 threads per SM", move_resident, false},
    {"cudaMemcpyAsync or cudaMemsetAsync", move_by_driver, true},
};

bool move_gpu_can(const MoveGpu *move, const MoveArena *arena) {
    return !move->by_driver || (arena->written > 0 && (arena->read == arena->written || arena->read == 0));
}

Status move_gpu_nothing(void *context) {
    return launch(empty_kernel, {1, 1, 0, static_cast<const MoveArena *>(context)->stream});
}
