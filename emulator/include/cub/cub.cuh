/* Stand-in for CUB in the emulator: what there is of it. */
#ifndef RUNGS_EMULATOR_CUB_CUH
#define RUNGS_EMULATOR_CUB_CUH

#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>
#include <cub/device/device_scan.cuh>
#include <cub/warp/warp_reduce.cuh>

#endif
