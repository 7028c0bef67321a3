/* Stand-in for CUB in the emulator: the parts that the variants use. */
#ifndef RUNGS_EMULATOR_CUB_CUH
#define RUNGS_EMULATOR_CUB_CUH

#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>
#include <cub/device/device_reduce.cuh>
#include <cub/device/device_scan.cuh>
#include <cub/warp/warp_reduce.cuh>

#endif
