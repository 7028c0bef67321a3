"""Inline PTX as C++, by a list: copies, loads and stores, the warp's matrices, numbers of lanes, fences, approximate functions.

What is written calls emulator/cuda_program_ptx.h. An instruction that is not in the list raises Unknown with its name.
"""

import re

STRING = re.compile(r'"((?:\\.|[^"\\])*)"')
WIDTH = {"8": "uint8_t", "16": "uint16_t", "32": "uint32_t", "64": "uint64_t"}
SPECIAL = {
    "%laneid": "emulator_lane()",
    "%warpid": "emulator_ptx_warp_id()",
    "%smid": "0u",
    "%nsmid": "1u",
    "%clock": "(unsigned)emulator_clock()",
    "%clock64": "emulator_clock()",
    "%globaltimer": "emulator_clock()",
    "%lanemask_eq": "(1u << emulator_lane())",
    "%lanemask_lt": "((1u << emulator_lane()) - 1u)",
    "%lanemask_le": "((2u << emulator_lane()) - 1u)",
    "%lanemask_ge": "(~0u << emulator_lane())",
    "%lanemask_gt": "(~1u << emulator_lane())",
}
SPECIAL |= {
    f"%{ptx}.{axis}": f"{name}.{axis}"
    for ptx, name in (("tid", "threadIdx"), ("ctaid", "blockIdx"), ("ntid", "blockDim"), ("nctaid", "gridDim"))
    for axis in "xyz"
}
APPROXIMATE = {
    "ex2": "exp2f(x)",
    "lg2": "log2f(x)",
    "rcp": "1.0f / x",
    "rsqrt": "1.0f / sqrtf(x)",
    "sqrt": "sqrtf(x)",
    "tanh": "tanhf(x)",
    "sin": "sinf(x)",
    "cos": "cosf(x)",
}
ARITHMETIC = {"add": "+", "sub": "-", "mul": "*", "mad": "*", "and": "&", "or": "|", "xor": "^"}
MMA = {"f16": "EmulatorPtxHalf", "bf16": "EmulatorPtxBfloat", "tf32": "EmulatorPtxTf32"}


class Unknown(Exception):
    """An instruction that is not in the list."""


def pieces(text):
    """What commas separate, outside brackets."""
    return [piece.strip() for piece in re.findall(r"(?:\{[^}]*\}|\[[^\]]*\]|[^,{\[])+", text)]


class Block:
    """The instructions of one asm statement."""

    def __init__(self, text, operands):
        self.operands, self.registers = operands, {}
        text = "".join(STRING.findall(text)).replace("\\n", "\n").replace("\\t", " ").replace("%%", "%")
        text = re.sub(r"//[^\n]*|/\*.*?\*/", " ", text, flags=re.DOTALL)
        self.lines = [self.line(one.strip()) for one in re.split(r"[;\n]", self.joined(text))]

    @staticmethod
    def joined(text):
        """Without the braces of blocks, and with lists on one line."""
        text = re.sub(r"\{\s*(?=\.reg|\}|@|[a-z]+[\w.]*\s)", " ", text)
        text = re.sub(r"(?<=;)\s*\}|^\s*\}", " ", text, flags=re.MULTILINE)
        return re.sub(r"([{\[,])\s*\n\s*|\n\s*(?=[\]},\[])", r"\1", text)

    def value(self, word):
        """An operand as a C++ expression."""
        if re.fullmatch(r"%\d+", word):
            if int(word[1:]) >= len(self.operands):
                raise Unknown(word)
            return f"({self.operands[int(word[1:])]})"
        if word in SPECIAL:
            return SPECIAL[word]
        if word in self.registers:
            return f"ptx_{word}"
        if re.fullmatch(r"-?(0x[0-9a-fA-F]+|\d+)", word):
            return word
        raise Unknown(word)

    def number(self, word, kind):
        value = self.value(word)
        return (
            f"emulator_ptx_get<{kind}>({value})"
            if word.startswith("%") and word not in SPECIAL or word in self.registers
            else f"({kind})({value})"
        )

    def address(self, word):
        found = re.fullmatch(r"\[\s*(%?\w+)\s*(?:\+\s*(\d+))?\s*\]", word)
        if not found:
            raise Unknown(word)
        return f"emulator_ptx_address({self.value(found[1])}) + {found[2] or 0}"

    def listed(self, word):
        return [self.value(one) for one in pieces(word[1:-1])] if word.startswith("{") else [self.value(word)]

    def line(self, text):
        if not text:
            return ""
        declared = re.fullmatch(r"\.reg\s+\.(\w+)\s+(.*)", text)
        if declared:
            kind = "bool" if declared[1] == "pred" else WIDTH.get(declared[1][1:])
            names = pieces(declared[2])
            if kind is None or not all(re.fullmatch(r"\w+", name) for name in names):
                raise Unknown(".reg")
            self.registers |= dict.fromkeys(names, kind)
            return " ".join(f"{kind} ptx_{name} = 0;" for name in names)
        predicate = re.match(r"@(!?)(\w+)\s+", text)
        if predicate:
            return f"if ({predicate[1]}ptx_{predicate[2]}) {{ {self.instruction(text[predicate.end() :])} }}"
        return self.instruction(text)

    def instruction(self, text):
        opcode, _, rest = text.partition(" ")
        words, parts = pieces(rest), opcode.split(".")
        names = {"cp": "copy", "ld": "load"} | dict.fromkeys(ARITHMETIC, "arithmetic")
        form = getattr(self, names.get(parts[0], parts[0]), None)
        if parts[0] in APPROXIMATE and re.fullmatch(r"\w+\.approx(\.ftz)?\.f32", opcode):
            return f"{{ const float x = {self.number(words[1], 'float')}; emulator_ptx_put({self.value(words[0])}, {APPROXIMATE[parts[0]]}); }}"
        written = form(opcode, parts, words) if form and parts[0] in FORMS else None
        if written is None:
            raise Unknown(opcode)
        return written

    def mov(self, opcode, parts, words):
        kind = WIDTH.get(parts[1][1:]) if re.fullmatch(r"mov\.[usbf](16|32|64)", opcode) else None
        return f"emulator_ptx_put({self.value(words[0])}, {self.number(words[1], kind)});" if kind else None

    def cvta(self, opcode, parts, words):
        if re.fullmatch(r"cvta(\.to)?\.(shared|global)\.u64", opcode):
            return f"emulator_ptx_put({self.value(words[0])}, {self.number(words[1], 'uint64_t')});"
        return None

    def cvt(self, opcode, parts, words):
        if opcode in ("cvt.u32.u64", "cvt.u64.u32"):
            return f"emulator_ptx_put({self.value(words[0])}, {self.number(words[1], 'uint64_t')});"
        return None

    def arithmetic(self, opcode, parts, words):
        kind = (
            WIDTH.get(parts[-1][1:])
            if re.fullmatch(r"(add|sub|mul\.lo|mad\.lo|and|or|xor)\.[usb](32|64)", opcode)
            else None
        )
        if kind is None:
            return None
        value = f" {ARITHMETIC[parts[0]]} ".join(self.number(word, kind) for word in words[1:3])
        value += f" + {self.number(words[3], kind)}" if parts[0] == "mad" else ""
        return f"emulator_ptx_put({self.value(words[0])}, ({kind})({value}));"

    def setp(self, opcode, parts, words):
        compare = {"ne": "!=", "eq": "=="}.get(parts[1])
        if compare is None or len(parts) != 3 or parts[2] not in ("b32", "u32", "s32"):
            return None
        return f"{self.value(words[0])} = {self.number(words[1], 'uint32_t')} {compare} {self.number(words[2], 'uint32_t')};"

    def load(self, opcode, parts, words, store=False):
        kind = WIDTH.get(parts[-1][1:]) if re.fullmatch(r"[usbf]\d+", parts[-1]) else None
        known = set("global shared volatile ca cg cs cv lu nc wb wt v2 v4 L1::no_allocate L1::evict_last".split())
        known |= {"L1::evict_first", "L2::64B", "L2::128B", "L2::256B"}
        if kind is None or not set(".".join(parts[1:-1]).split(".")) - {""} <= known or len(words) != 2:
            return None
        registers, memory = (words[1], words[0]) if store else (words[0], words[1])
        listed = self.listed(registers)
        width = f"emulator_check_alignment(from, sizeof(*from) * {len(listed)}); "
        qualifier = "volatile " if "volatile" in parts or "cv" in parts else ""
        access = [
            f"from[{i}] = emulator_ptx_get<{kind}>({value});"
            if store
            else f"emulator_ptx_put({value}, ({kind})from[{i}]);"
            for i, value in enumerate(listed)
        ]
        return (
            f"{{ {qualifier}{kind} *from = ({qualifier}{kind} *)({self.address(memory)}); {width}{' '.join(access)} }}"
        )

    def st(self, opcode, parts, words):
        return self.load(opcode, parts, words, store=True)

    def copy(self, opcode, parts, words):
        if opcode == "cp.async.commit_group":
            return "__pipeline_commit();"
        if opcode == "cp.async.wait_all":
            return "__pipeline_commit(); __pipeline_wait_prior(0);"
        if opcode == "cp.async.wait_group":
            return f"__pipeline_wait_prior({self.value(words[0])});"
        if not re.fullmatch(r"cp\.async\.(ca|cg)\.shared\.global(\.L2::(64|128|256)B)?", opcode):
            return None
        bytes_, used = self.value(words[2]), self.value(words[3] if len(words) > 3 else words[2])
        return f"emulator_ptx_copy({self.address(words[0])}, {self.address(words[1])}, {bytes_}, {used});"

    def ldmatrix(self, opcode, parts, words):
        found = re.fullmatch(
            r"ldmatrix\.sync\.aligned(?:\.m8n8)?\.x([124])(?:\.m8n8)?(\.trans)?(?:\.m8n8)?\.shared\.b16", opcode
        )
        if not found:
            return None
        transposed = "true" if found[2] else "false"
        put = [
            f"emulator_ptx_put({to}, emulator_ptx_matrix(row, {i}, {transposed}));"
            for i, to in enumerate(self.listed(words[0]))
        ]
        return f"{{ const char *row = {self.address(words[1])}; {' '.join(put)} }}"

    def mma(self, opcode, parts, words):
        found = re.fullmatch(
            r"mma\.sync\.aligned\.(?:m16n8k16\.row\.col\.(f32|f16)\.(f16|bf16)\.\2\.\1|m16n8k8\.row\.col\.(f32)\.(tf32)\.tf32\.f32)",
            opcode,
        )
        if not found:
            return None
        result, kind = found[1] or found[3], found[2] or found[4]
        out, left, right, before = (self.listed(word) for word in words)
        if result == "f16":
            start = [f"EmulatorPtxHalf::at(emulator_ptx_get<uint32_t>({before[i // 2]}), {i % 2})" for i in range(4)]
            end = [f"emulator_ptx_put({out[i]}, __floats2half2_rn(c[{2 * i}], c[{2 * i + 1}]));" for i in range(2)]
        else:
            start = [f"emulator_ptx_get<float>({one})" for one in before]
            end = [f"emulator_ptx_put({one}, c[{i}]);" for i, one in enumerate(out)]
        a, b = (", ".join(f"emulator_ptx_get<uint32_t>({one})" for one in side) for side in (left, right))
        return (
            f"{{ float c[4] = {{{', '.join(start)}}}; const uint32_t a[4] = {{{a}}}, b[2] = {{{b}}}; "
            f"emulator_ptx_mma<{MMA[kind]}>(c, a, b); {' '.join(end)} }}"
        )

    def bar(self, opcode, parts, words):
        return "__syncthreads();" if opcode in ("bar.sync", "barrier.sync") and words == ["0"] else None

    barrier = bar

    def membar(self, opcode, parts, words):
        return "__threadfence();"

    fence = membar

    def prefetch(self, opcode, parts, words):
        return ";"

    def trap(self, opcode, parts, words):
        return "__trap();"


FORMS = (
    "add sub mul mad and or xor mov cvta cvt setp ld st cp ldmatrix mma bar barrier membar fence prefetch trap".split()
)


def translated(text, operands):
    """C++ for the strings of an asm statement; operands: the expressions of its outputs and inputs."""
    return "do { " + " ".join(line for line in Block(text, operands).lines if line) + " } while (0)"
