/* CUDA's name for a part of it. */
#include <cuda_pipeline.h>
