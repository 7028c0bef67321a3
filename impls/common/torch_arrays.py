"""NumPy's arrays and PyTorch's tensors. Nothing here is timed; a large array is copied once, between host and device."""

import warnings


def borrowed(torch, array):
    """A tensor over the array's memory. PyTorch warns where that must not be written: such a tensor is only read."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return torch.from_numpy(array)


def to_device(torch, array, device):
    """A tensor of its own, on the CPU too."""
    return borrowed(torch, array).to(device, copy=True)


def to_host(torch, tensor, array):
    borrowed(torch, array).copy_(tensor.detach())
