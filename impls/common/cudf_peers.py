"""What the peers of cuDF share: pylibcudf, the memory that it allocates from, and columns of numbers. Nothing here is timed.

pylibcudf calls libcudf as its C++ examples do: a function takes columns, allocates a new one and returns it. It works on the legacy
default stream."""

import numpy
from peer import import_cudf

SIZE_MAX = (1 << 31) - 1  # of cudf::size_type, which counts elements


def supports_size(n):
    return None if n <= SIZE_MAX else f"{n} elements: cuDF counts them in int32"


def opened(tunables):
    """pylibcudf and rmm, with the resource that the tunable `memory` names (pool without it) as the current one."""
    pylibcudf, rmm = import_cudf()
    resource = rmm.mr.CudaMemoryResource()
    if (tunables or {}).get("memory", "pool") == "pool":
        free, _ = rmm.mr.available_device_memory()
        resource = rmm.mr.PoolMemoryResource(resource, initial_pool_size=free // 2 // 256 * 256)
    rmm.mr.set_current_device_resource(resource)
    return {"cudf": pylibcudf, "rmm": rmm, "resource": resource}


def column_of(state, values):
    """A column of the host's numbers."""
    return state["cudf"].Column.from_array_interface(numpy.ascontiguousarray(values))


def values_of(column):
    """The host's numbers of a column of them; NaN where it is null."""
    return column.to_arrow().to_numpy(zero_copy_only=False)
