/* moves_cuda.cuh - ways to move bytes on a GPU: what its peaks and limits are measured with. */
#ifndef RUNGS_MEASURE_MOVES_CUDA_CUH
#define RUNGS_MEASURE_MOVES_CUDA_CUH

#include "kernel.h"

/* Two arrays that begin at multiples of 16 bytes. As much as both have is copied, the rest of the larger read or written. */
struct MoveArena {
    char *from, *to;
    size_t read, written; /* bytes */
    int sms;
    cudaStream_t stream;
};

struct MoveGpu {
    const char *name;
    Status (*run)(void *context); /* a MoveArena */
    bool by_driver; /* copies, where as much is read as written, or fills, where nothing is read; else it does something else */
};

enum { MOVE_GPU_COUNT = 9 };
extern const MoveGpu MOVES_GPU[MOVE_GPU_COUNT];

bool move_gpu_can(const MoveGpu *move, const MoveArena *arena);

/* An empty kernel. */
Status move_gpu_nothing(void *context);

#endif
