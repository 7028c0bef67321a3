"""peer_into.py - outputs that the harness owns, of variants whose run(state, inputs, outputs) writes into them (triton_*.py, torch_*.py): tensors between
guards, poisoned before each call. The variant gets views of its own, so that what it does to a tensor object changes nothing that is read."""

import numpy
from peer_protocol import Failure

GUARD = 4096  # bytes on either side; keeps the alignment of the allocation


class Into:
    def __init__(self, device):
        """device: of PyTorch's tensors."""
        import torch

        self.torch, self.device = torch, device
        self.empty, self.equal, self.fill = torch.empty, torch.equal, torch.Tensor.fill_
        pattern = (numpy.arange(2 * GUARD) * 151 + 89) % 251  # by position: a shifted copy of guards is none
        self.guards = torch.from_numpy(pattern.astype("u1")).to(device).split(GUARD)
        self.forget()

    def forget(self):
        self.blocks, self.views, self.given, self.byte = {}, {}, {}, None

    def hold(self, rooms):
        """rooms: the outputs of a case by name, as NumPy's arrays."""
        self.forget()
        for name, room in rooms.items():
            block = self.empty(room.nbytes + 2 * GUARD, dtype=self.torch.uint8, device=self.device)
            block[:GUARD], block[GUARD + room.nbytes :] = self.guards
            dtype = getattr(self.torch, room.dtype.name)
            self.blocks[name] = block
            self.views[name], self.given[name] = (
                block[GUARD : GUARD + room.nbytes].view(dtype).reshape(room.shape) for _ in range(2)
            )

    def poison(self, byte):
        for block in self.blocks.values():
            self.fill(block[GUARD:-GUARD], byte)

    def expect_guards(self):
        for name, block in self.blocks.items():
            for side, guard, found in zip(("before", "behind"), self.guards, (block[:GUARD], block[-GUARD:])):
                if not self.equal(guard, found):
                    at = int((guard != found).nonzero()[0 if side == "behind" else -1])
                    away = at if side == "behind" else GUARD - 1 - at
                    raise Failure("check", f"output {name}: written {side} it, {away} bytes away")
