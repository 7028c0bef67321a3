"""peer_into.py - outputs that the harness owns, of variants whose run(state, inputs, outputs) writes into them (triton_*.py, torch_*.py): tensors between
guards, poisoned before each call. The variant gets views of its own, so that what it does to a tensor object changes nothing that is read."""

import numpy
from peer_forms import address_of
from peer_protocol import Failure

GUARD = 4096  # bytes on either side; keeps the alignment of the allocation


class Into:
    def __init__(self, form):
        """form: peer_forms.Torch."""
        self.form = form
        pattern = (numpy.arange(2 * GUARD) * 151 + 89) % 251  # by position: a shifted copy of guards is none
        self.guards = numpy.split(pattern.astype("u1"), 2)
        self.forget()

    def forget(self):
        self.blocks, self.views, self.given = {}, {}, {}

    def hold(self, rooms):
        """rooms: the outputs of a case by name, as NumPy's arrays."""
        self.forget()
        for name, room in rooms.items():
            held = self.form.give(
                numpy.concatenate([self.guards[0], numpy.zeros(room.nbytes, "u1"), self.guards[1]]), None
            )
            self.blocks[name] = held, self.form.address(held), room.nbytes
            self.views[name], self.given[name] = (
                held[GUARD : GUARD + room.nbytes].view(self.form.named(room.dtype)).reshape(room.shape)
                for _ in range(2)
            )

    def poison(self, byte):
        for _, address, size in self.blocks.values():
            self.form.memory_of.fill(address + GUARD, byte, size)

    def expect_guards(self):
        for name, (_, address, size) in self.blocks.items():
            for side, guard, at in zip(("before", "behind"), self.guards, (address, address + GUARD + size)):
                found = numpy.empty_like(guard)
                self.form.memory_of.move(address_of(found), at, GUARD)
                others = numpy.flatnonzero(guard != found)
                if others.size:
                    away = others[0] if side == "behind" else GUARD - 1 - others[-1]
                    raise Failure("check", f"output {name}: written {side} it, {away} bytes away")
