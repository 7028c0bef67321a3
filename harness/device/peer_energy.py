"""peer_energy.py - what energy the calls of a peer take, as harness/worker/calls.c measures that of our own variants: from one tick of the device's counter
to another, NVML's of a GPU or RAPL's of the CPU's packages."""

import ctypes
import os
import pathlib
import statistics
import time

import peer_protocol as wire
from peer import Skip

WINDOWS, WINDOW_SECONDS, IDLE_SECONDS, STILL_SECONDS = 3, 2, 1, 5
BATCH_SECONDS, BATCH_MOST = 5e-3, 1024
SM_CLOCK = 1  # of nvml.h


class Rapl:
    def __init__(self):
        self.folder = pathlib.Path(os.environ.get("RUNGS_RAPL", "/sys/class/powercap"))

    def joules(self):
        try:
            packages = [*self.folder.glob("intel-rapl:[0-9]")]
            if packages:
                return 1e-6 * sum(int((package / "energy_uj").read_text()) for package in packages)
        except (OSError, ValueError):
            pass
        raise Skip(f"not measurable: RAPL ({self.folder}/intel-rapl:*) cannot be read here")

    def mhz(self):
        return None


class Nvml:
    """Of the first GPU that this process sees; libcuda knows which that is."""

    def __init__(self):
        identity, self.device = (ctypes.c_ubyte * 16)(), ctypes.c_void_p()
        try:
            self.c = ctypes.CDLL(os.environ.get("RUNGS_NVML", "libnvidia-ml.so.1"))
            known = ctypes.CDLL("libcuda.so.1").cuDeviceGetUuid_v2(identity, 0) == 0
            digits = bytes(identity).hex()
            parts = (digits[at:end] for at, end in ((0, 8), (8, 12), (12, 16), (16, 20), (20, 32)))
            name = f"GPU-{'-'.join(parts)}".encode()
            found = self.c.nvmlInit_v2() == 0 and self.c.nvmlDeviceGetHandleByUUID(name, ctypes.byref(self.device)) == 0
            self.read = self.c.nvmlDeviceGetTotalEnergyConsumption
        except (OSError, AttributeError):
            known = found = False
        self.there = known and found

    def joules(self):
        millijoules = ctypes.c_ulonglong()
        if not self.there or self.read(self.device, ctypes.byref(millijoules)) != 0:
            raise Skip("not measurable: NVML has no energy counter of this device")
        return 1e-3 * millijoules.value

    def mhz(self):
        clock = ctypes.c_uint()
        return clock.value if self.c.nvmlDeviceGetClockInfo(self.device, SM_CLOCK, ctypes.byref(clock)) == 0 else None


class Meter:
    def __init__(self, counter, calls):
        """calls(count): so many, back to back, and the wait for the last."""
        self.counter, self.calls = counter, calls
        self.called, self.clocks = 0, []

    def look(self):
        joules, mhz = self.counter.joules(), self.counter.mhz()
        if mhz:
            self.clocks.append(mhz)
        return joules, time.perf_counter()

    def to_tick(self, batch, since, seconds):
        """Until the counter has gone on, `seconds` after `since` at the earliest. batch: of calls between two looks, 0 while the device is idle."""
        before, begin = self.look()
        joules, now = before, begin
        while joules == before or now < since + seconds:
            if joules == before and now > begin + seconds + STILL_SECONDS:
                raise Skip("not measurable: the energy counter stands still")
            if now < since + seconds:
                before = joules
            if batch:
                self.calls(batch)
                self.called += batch
            else:
                time.sleep(5e-3)
            joules, now = self.look()
        return joules, now

    def window(self, batch, seconds):
        """(joules, seconds) from one tick to another."""
        joules, begin = self.to_tick(batch, 0, 0)
        self.called = 0
        end = self.to_tick(batch, begin, seconds)
        if end[0] < joules:
            raise Skip("not measurable: the energy counter went back")
        return end[0] - joules, end[1] - begin

    def take(self, call_seconds):
        """What the reply says."""
        batch = int(min(max(BATCH_SECONDS / max(call_seconds, 1e-9), 1), BATCH_MOST))
        joules, seconds = self.window(0, IDLE_SECONDS)
        idle, each, watts, times, calls = joules / seconds, [], [], 0, 0
        self.clocks = []
        for _ in range(WINDOWS):
            joules, seconds = self.window(batch, WINDOW_SECONDS)
            each.append((joules - idle * seconds) / self.called)
            watts.append(joules / seconds)
            times, calls = times + seconds, calls + self.called
        return {  # of the fields of Energy (record/row.h)
            "joules": statistics.median(each),
            "low": min(each),
            "high": max(each),
            "watts": statistics.mean(watts),
            "idle_watts": idle,
            wire.KEY_SM_MHZ: statistics.mean(self.clocks) if self.clocks else None,
            wire.KEY_CALLS: calls,
            wire.KEY_SECONDS: times,
        }
