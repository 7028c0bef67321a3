"""The hashes of a variant's machine code, device (SASS, of a CUDA variant) and host, from its object file. Two
builds whose hashes agree run the same instructions on the same constants, wherever and whenever they were compiled: names, paths, line
tables and PTX are left out. To the host's part belong the objects that the variant shares with others (impls/common, impls/<op>/_*.c);
what the harness itself does for every variant (rungs_base) and what the system's C, C++, OpenMP and CUDA runtimes do is no part of it.

A variant has no hash, but a reason, if what it runs is not all in these objects: it loads code when it runs, or calls a library.
"""

import contextlib
import ctypes
import struct

from elf_code import Code, Elf, digest

FATBIN, FATBIN_HEADER = struct.pack("<I", 0xBA55ED50), struct.Struct("<IHHQ")
ENTRY, KIND_ELF = struct.Struct("<HHIQ"), 2
ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
ELF_MAGIC, MACHINE_CUDA = b"\x7fELF\x02", 190
# of code, on the device and on the host
LOADERS = {
    True: ("cudaLibraryLoad", "cuLibraryLoad", "cuModuleLoad", "cuLinkCreate"),
    False: ("dlopen", "dlmopen", "usercode_open"),
}
OF_LINKER = ("_GLOBAL_OFFSET_TABLE_", "__dso_handle", "atexit")  # the last lies in libc_nonshared.a
CUDA_RUNTIME = ("cuda", "__cuda")  # linked statically, as a part of the compiler
RUNTIMES = ("libc.so.6", "libm.so.6", "libmvec.so.1", "libgcc_s.so.1", "libgomp.so.1", "libstdc++.so.6")
ARCHIVE, MEMBER = b"!<arch>\n", struct.Struct("16s12s6s6s8s10s2s")


def unpacked(data):
    """nvcc compresses large cubins. The system's libzstd, which Debian's own tools need, opens them; None without it."""
    if not data.startswith(ZSTD_MAGIC):
        return data
    try:
        zstd = ctypes.CDLL("libzstd.so.1")
    except OSError:
        return None
    size_t = ctypes.c_size_t
    zstd.ZSTD_findFrameCompressedSize.restype, zstd.ZSTD_decompress.restype = size_t, size_t
    zstd.ZSTD_getFrameContentSize.restype = ctypes.c_ulonglong
    size = zstd.ZSTD_getFrameContentSize(data, size_t(len(data)))
    if size > 1 << 30:  # unknown or broken
        return None
    room = ctypes.create_string_buffer(size)
    used = zstd.ZSTD_findFrameCompressedSize(data, size_t(len(data)))  # what follows is padding
    whole = used <= len(data) and zstd.ZSTD_decompress(room, size_t(size), data, size_t(used)) == size
    return room.raw if whole else None


def cubins(data):
    """The cubins of all fat binaries in an object; None for one that cannot be read."""
    at = data.find(FATBIN)
    while at >= 0:
        _, _, header, size = FATBIN_HEADER.unpack_from(data, at)
        entry, end = at + header, at + header + size
        while entry + ENTRY.size <= min(end, len(data)):
            kind, _, skip, length = ENTRY.unpack_from(data, entry)
            if kind == KIND_ELF:
                cubin = unpacked(data[entry + skip : entry + skip + length]) or b""
                whole = cubin.startswith(ELF_MAGIC) and struct.unpack_from("<H", cubin, 18)[0] == MACHINE_CUDA
                yield cubin if whole else None
            entry += skip + length
        at = data.find(FATBIN, max(end, at + 4))


def members(archive):
    """The ELF files of a static library."""
    at = len(ARCHIVE)
    while at + MEMBER.size <= len(archive):
        size = int(MEMBER.unpack_from(archive, at)[5])
        content = archive[at + MEMBER.size : at + MEMBER.size + size]
        if content.startswith(ELF_MAGIC):
            yield Elf(content)
        at += MEMBER.size + size + size % 2


def runtime_offers():
    """Is a function of the runtimes that every program of this compiler has?"""
    libraries = []
    for name in RUNTIMES:
        with contextlib.suppress(OSError):  # what only it has is then unknown
            libraries.append(ctypes.CDLL(name))
    known = OF_LINKER + CUDA_RUNTIME
    return lambda name: name.startswith(known) or any(hasattr(library, name) for library in libraries)


class Object:
    """An object file: `device` and `host` are the hashes of its code; device is None if there is no such code or it cannot be read, host if
    the compiler left the code to the linker (-flto). source: a folder that is cut off the paths of its files. own: the source file, whose
    name does not count."""

    def __init__(self, data, source="", own=""):
        kernels = [Code(Elf(cubin)) if cubin else None for cubin in cubins(data)]
        whole = kernels and all(kernels)
        self.device = digest(sorted(digest(code.everything()) for code in kernels)) if whole else None
        known = [code.of_names() for code in kernels if code]

        def of_string(text):
            """The host asks for kernels and variables by name; sources are known by their paths."""
            stands_for = [names[text] for names in known if text in names]
            return stands_for or (
                "this file" if own and text.endswith(own) else text.removeprefix(source + "/") if source else text
            )

        elf = Elf(data) if data.startswith(ELF_MAGIC) else None
        late = elf is None or any(name.startswith(".gnu.lto_") for name in elf.names)
        self.host = None if late else digest(Code(elf, of_string).everything())
        self.needs, self.offers = (elf.undefined(), elf.defined()) if elf else (set(), set())


def reached(needs, objects):
    """The objects that offer what is needed, and what these need."""
    found, more = [], list(objects)
    while chosen := [o for o in more if needs & o.offers]:
        found, more = found + chosen, [o for o in more if o not in chosen]
        needs = needs.union(*(o.needs for o in chosen))
    return found


def code_hashes(data, on_device, shared=(), known=lambda name: True, **source):
    """(device, host, None), 16 hexadecimal digits each, or (None, None, why there is none). on_device: a CUDA variant; for others device is
    None. shared: Objects that the variant may call. known: does the harness or a runtime have this function?"""
    own = Object(data, **source)
    others = reached(own.needs, shared)
    needs = own.needs.union(*(o.needs for o in others))
    foreign = sorted(needs.difference(*(o.offers for o in others)))
    reason = None
    if on_device and own.device is None or None in (own.host, *(o.host for o in others)):
        reason = "its object file holds no complete, readable machine code"
    elif loader := next((name for name in foreign if name.startswith(LOADERS[on_device])), None):
        reason = f"loads code when it runs ({loader})"
    elif outside := next((name for name in foreign if not known(name)), None):
        reason = f"calls {outside}, whose code is not among the project's variants"
    if reason:
        return None, None, reason
    return own.device[:16] if on_device else None, digest(own.host, sorted(o.host for o in others))[:16], None
