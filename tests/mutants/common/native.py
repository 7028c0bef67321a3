"""What peers with a thread that runs no Python share: pthread_create() of the C library, and an address as memory in compiled code."""

import ctypes

from numba import types
from numba.extending import intrinsic

c = ctypes.CDLL(None)
c.pthread_create.argtypes = [ctypes.c_void_p] * 4


@intrinsic
def memory(context, address):
    def code(context, builder, signature, given):
        return builder.inttoptr(given[0], context.get_value_type(types.voidptr))

    return types.voidptr(address), code


def start_thread(work, job):
    """work: numba.cfunc, called with the address of the array `job`."""
    c.pthread_create(ctypes.addressof(ctypes.c_uint64()), None, work.address, job.ctypes.data)
