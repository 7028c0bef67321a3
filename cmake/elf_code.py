"""Hashes of the code in an ELF file: of its loaded sections, with each reference replaced by the hash of what it refers to. So names
and the order of functions do not count; which function is called, or which table is read, does.
Reads objects for x86-64 and cubins alike: 64 bits, little end first.
"""

import hashlib
import struct

RELA, NOTHING_STORED, REL, NOTE = 4, 8, 9, 7  # kinds of sections
LOADED, MERGED_STRINGS, MERGED = 2, 0x30, 0x10  # flags
# Tables for debuggers and unwinding follow from the code; the fat binary is read on its own; a module's descriptor has only names.
LEFT_OUT = (".eh_frame", ".nv_fatbin", ".nvFatBin", ".rungs_module")
PASSES = 4  # of hashing anew with the hashes of what is referred to
ADDRESS = (1, 10, 11)  # kinds of references on x86-64: an address itself, not how far it is
REGISTERS, STACK = 0x2F, (0x11, 0x12, 0x23)  # attributes in .nv.info: of a kernel, in a word beside its symbol


class Elf:
    def __init__(self, data):
        self.data = data
        (offset,) = struct.unpack_from("<Q", data, 40)
        size, count, names = struct.unpack_from("<HHH", data, 58)
        self.headers = [struct.unpack_from("<IIQQQQIIQQ", data, offset + k * size) for k in range(count)]
        names_at = self.headers[names][4]
        self.names = [self.text_at(names_at + header[0]) for header in self.headers]
        self.symbols = list(self.read_symbols())
        self.references = self.read_references()

    def text_at(self, at):
        return self.data[at : self.data.index(b"\0", at)].decode("ascii", "replace")

    def content(self, k):
        _, kind, _, _, start, length, *_ = self.headers[k]
        return b"" if kind == NOTHING_STORED else self.data[start : start + length]

    def read_symbols(self):
        """(name, section or 0 where it is defined elsewhere, value) of each."""
        if ".symtab" in self.names:
            k = self.names.index(".symtab")
            strings = self.headers[self.headers[k][6]][4]
            for name, _, _, section, value, _ in struct.iter_unpack("<IBBHQQ", self.content(k)):
                yield self.text_at(strings + name), section, value

    def read_references(self):
        """Section -> [(offset, type, symbol, addend)]"""
        found = {}
        for k, header in enumerate(self.headers):
            if header[1] in (RELA, REL):
                for entry in struct.iter_unpack("<QIIq" if header[1] == RELA else "<QII", self.content(k)):
                    offset, how, symbol, addend = (*entry, 0)[:4]
                    found.setdefault(header[7], []).append((offset, how, symbol, addend))
        return found

    def loaded(self):
        """Sections that are part of the program while it runs; strings count where they are referred to."""
        for k, (name, header) in enumerate(zip(self.names, self.headers)):
            strings = header[2] & MERGED_STRINGS == MERGED_STRINGS
            if header[2] & LOADED and header[1] != NOTE and header[5] and not strings and not name.startswith(LEFT_OUT):
                yield k

    def undefined(self):
        return {name for name, section, _ in self.symbols if name and section == 0}

    def defined(self):
        return {name for name, section, _ in self.symbols if name and 0 < section < len(self.headers)}


class Code:
    """sections: what the loaded sections come to, by their number."""

    def __init__(self, elf, of_string=lambda text: text):
        self.elf, self.of_string = elf, of_string
        self.sections = {k: self.plain(k) for k in elf.loaded()}
        for _ in range(PASSES):
            self.sections = {k: digest(plain, *self.referred(k)) for k, plain in self.sections.items()}

    def plain(self, k):
        _, _, flags, _, _, length, *_ = self.elf.headers[k]
        return digest(base_name(self.elf.names[k]), flags, length, self.elf.content(k).hex())

    def referred(self, k):
        for offset, how, symbol, addend in sorted(self.elf.references.get(k, ())):
            string = self.string_at(how, symbol, addend)
            yield offset, how, *((0, string) if string else (addend, self.target(symbol)))

    def string_at(self, how, symbol, addend):
        """An address in a table gives its string as a place in the section of all strings."""
        _, section, value = self.elf.symbols[symbol]
        if how in ADDRESS and self.is_strings(section):
            return "string", self.of_string(self.elf.text_at(self.elf.headers[section][4] + value + addend))
        return None

    def is_strings(self, section):
        return 0 < section < len(self.elf.headers) and self.elf.headers[section][2] & MERGED_STRINGS == MERGED_STRINGS

    def target(self, symbol):
        """What a symbol stands for, but for what it is called."""
        name, section, value = self.elf.symbols[symbol]
        if section in self.sections:
            return self.sections[section], value
        if section == 0 or section >= len(self.elf.headers):  # somewhere else; or a bare number
            return name, value
        if self.is_strings(section):
            if name.startswith(".L"):  # gcc has one of these for each of them
                return "string", self.of_string(self.elf.text_at(self.elf.headers[section][4] + value))
            return digest(self.elf.content(section).hex()), value
        return base_name(self.elf.names[section]), value

    def resources(self):
        """Registers and stack of the kernels of a cubin."""
        for name in [name for name in self.elf.names if name == ".nv.info"]:
            data, at = self.elf.content(self.elf.names.index(name)), 0
            while at + 4 <= len(data):
                form, what, length = struct.unpack_from("<BBH", data, at)
                if form == 4 and length == 8 and what in (REGISTERS, *STACK):
                    symbol, value = struct.unpack_from("<II", data, at + 4)
                    yield digest(what, value, self.target(symbol))
                at += 4 + (length if form == 4 else 0)

    def everything(self):
        return sorted([*self.sections.values(), *self.resources()])

    def of_names(self):
        """Name -> what it stands for, of all that is defined here."""
        named = (
            (k, name) for k, (name, section, _) in enumerate(self.elf.symbols) if name and section in self.sections
        )
        return {name: self.target(k) for k, name in named}


def base_name(name):
    """.text._Z6kernelv -> .text, .nv.constant0._Z6kernelv -> .nv.constant0: what follows are names."""
    return ".".join(name.split(".")[: 3 if name.startswith(".nv.") else 2])


def digest(*things):
    return hashlib.sha256(repr(things).encode()).hexdigest()
