"""What the peers of cuDF share: pylibcudf and the memory that it allocates from. Nothing here is timed.

pylibcudf calls libcudf as its C++ examples do: a function takes columns, allocates a new one and returns it. It works on the legacy
default stream."""

from peer import import_cudf

SIZE_MAX = (1 << 31) - 1  # of cudf::size_type, which counts elements


def supports_size(n):
    return None if 0 < n <= SIZE_MAX else f"{n} elements: cuDF counts them in int32, and of none it makes no column"


def opened(tunables):
    """pylibcudf and rmm, with the resource that the tunable `memory` names (pool without it) as the current one."""
    pylibcudf, rmm = import_cudf()
    resource = rmm.mr.CudaMemoryResource()
    if (tunables or {}).get("memory", "pool") == "pool":
        free, _ = rmm.mr.available_device_memory()
        resource = rmm.mr.PoolMemoryResource(resource, initial_pool_size=free // 2 // 256 * 256)
    rmm.mr.set_current_device_resource(resource)
    return {"cudf": pylibcudf, "resource": resource}
