/* cuda_program_cccl.h - for programs that include CCCL (cuda/std, cuda/atomic, Thrust): its real headers, as the host compiler
 * reads them. Their includes stand between this file and __CUDACC__ (cmake/program.py). Thrust's algorithms run on the CPU, so that
 * memory of the device is the host's too. */
#pragma once

#include "emulator/cuda_program.h"

#undef __CUDACC__
#undef __CUDA_ARCH__

#ifdef RUNGS_PROGRAM_THRUST
#define THRUST_DEVICE_SYSTEM THRUST_DEVICE_SYSTEM_CPP
#include <iostream> // as by nvcc: Thrust's other system includes it
#include <thrust/execution_policy.h>
#include <thrust/mr/new.h>

static const bool emulator_memory_shared = (emulator_share(), true);

THRUST_NAMESPACE_BEGIN
namespace mr {
class emulator_resource final : public memory_resource<> {
  public:
    void *do_allocate(std::size_t bytes, std::size_t) override {
        void *memory = nullptr;
        if (bytes > 0 && ::cudaMalloc(&memory, bytes) != cudaSuccess) throw std::bad_alloc();
        return memory;
    }
    void do_deallocate(void *memory, std::size_t, std::size_t) override { (void)::cudaFree(memory); }
};
} // namespace mr
namespace cuda {
struct emulator_par : thrust::system::cpp::detail::par_t {
    const emulator_par &on(cudaStream_t) const { return *this; }
};
static const emulator_par par, par_nosync;
} // namespace cuda
THRUST_NAMESPACE_END

#define new_delete_resource emulator_resource
#include <thrust/system/cpp/memory_resource.h>
#undef new_delete_resource
#endif
