"""kernel_ptx.py kernel.ptx.h: the checked-in PTX of the kernels that normalise, interpreted instruction by instruction over small grids, against what the table
says. No GPU is needed; an instruction or a form that is not known here fails the test."""
import random
import re
import sys

text = "\n".join(m.encode().decode("unicode_escape").rstrip("\n") for m in re.findall(r'^\s*"(.*)"$', open(sys.argv[1]).read(), re.M))
kernels = {name: (re.findall(r"\.param \.(\w+) (\w+)", head), body.strip().split("\n"))
           for name, head, body in re.findall(r"\.visible \.entry (\w+)\((.*?)\)\n\{\n(.*?)\n\}", text, re.S)}
BITS = {"u8": 8, "u16": 16, "b16": 16, "u32": 32, "s32": 32, "b32": 32, "f32": 32, "u64": 64, "s64": 64, "b64": 64}
SIZE = {t: b // 8 for t, b in BITS.items()}


class Memory:
    """Addresses of three buffers, apart from each other: what lies between belongs to none."""

    def __init__(self):
        self.bytes = {}

    def put(self, at, data):
        for i, b in enumerate(data):
            self.bytes[at + i] = b

    def load(self, at, n):
        assert at % n == 0, f"load of {n} bytes at {at:#x} is not aligned"
        return int.from_bytes(bytes(self.bytes[at + i] for i in range(n)), "little")  # KeyError: beyond the buffers

    def store(self, at, n, value):
        assert at % n == 0
        for i in range(n):
            assert at + i in self.bytes, f"store beyond the output at {at + i:#x}"
            self.bytes[at + i] = value >> 8 * i & 255


def run_thread(kernel, args, special, memory):
    params, body = kernels[kernel]
    value = dict(zip((name for _, name in params), args))
    labels = {line[:-1]: i for i, line in enumerate(body) if line.endswith(":")}
    reg, at = {}, 0

    def get(operand):
        return reg[operand] if operand in reg else special[operand] if operand in special else int(operand)

    def address(operand):
        base, _, offset = operand.strip("[]").partition("+")
        return reg[base] + int(offset or 0)

    while True:
        line = body[at].strip().rstrip(";")
        at += 1
        if line.startswith(".reg") or line.endswith(":"):
            continue
        if line.startswith("@"):
            predicate, line = line[1:].split(" ", 1)
            if not reg[predicate]:
                continue
        op, _, rest = line.partition(" ")
        o = [x.strip() for x in rest.split(",")]
        name, kind = op.split(".")[0], op.split(".")[-1]
        mask = (1 << BITS.get(kind, 64)) - 1
        if op == "ret":
            return
        if name == "bra":
            at = labels[o[0]]
        elif op.startswith("ld.param."):
            reg[o[0]] = value[o[1].strip("[]")] & mask
        elif op.startswith("ld.global."):
            reg[o[0]] = memory.load(address(o[1]), SIZE[kind])
        elif op.startswith("st.global."):
            memory.store(address(o[0]), SIZE[kind], get(o[1]))
        elif name in ("mov", "cvta"):
            reg[o[0]] = get(o[1]) & mask
        elif name == "cvt":
            reg[o[0]] = get(o[1]) & mask  # from the narrower kind, unsigned
        elif op.startswith("setp."):
            a, b = get(o[1]), get(o[2])
            reg[o[0]] = {"ge": a >= b, "lt": a < b}[op.split(".")[1]]
        elif op == "mul.wide.u32":
            reg[o[0]] = (get(o[1]) & 0xffffffff) * (get(o[2]) & 0xffffffff)
        elif op.startswith("mul.lo."):
            reg[o[0]] = get(o[1]) * get(o[2]) & mask
        elif op.startswith("mad.lo."):
            reg[o[0]] = get(o[1]) * get(o[2]) + get(o[3]) & mask
        elif name == "add":
            reg[o[0]] = get(o[1]) + get(o[2]) & mask
        elif name == "and":
            reg[o[0]] = get(o[1]) & get(o[2]) & mask
        elif name == "shl":
            reg[o[0]] = get(o[1]) << get(o[2]) & mask
        else:
            raise SystemExit(f"not known here: {line}")


def check(kernel, width, plane, images, grid, block):
    IN, OUT, TABLE = 0x10000001, 0x20000000, 0x30000000
    r = random.Random(plane)
    pixels = bytes(r.randrange(256) for _ in range(3 * plane * images))
    table = [r.randrange(1 << 8 * width) for _ in range(768)]
    memory = Memory()
    memory.put(IN, pixels)
    memory.put(OUT, bytes(len(pixels) * width))
    memory.put(TABLE, b"".join(v.to_bytes(width, "little") for v in table))
    for y in range(grid[1]):
        for x in range(grid[0]):
            for t in range(block):
                run_thread(kernel, (IN, OUT, TABLE, plane, images), {"%ctaid.x": x, "%ctaid.y": y, "%tid.x": t, "%ntid.x": block, "%nctaid.x": grid[0], "%nctaid.y": grid[1]}, memory)
    for image in range(images):
        for channel in range(3):
            for i in range(plane):
                want = table[channel * 256 + pixels[(image * plane + i) * 3 + channel]]
                got = memory.load(OUT + ((image * 3 + channel) * plane + i) * width, width)
                assert got == want, f"{kernel}, plane {plane}: image {image}, channel {channel}, pixel {i}: {got:#x} instead of {want:#x}"


for kernel, width in (("pp_normalize_f32", 4), ("pp_normalize_f16", 2)):
    # more threads than pixels, fewer, a last block that is not full, fewer blocks than images
    for plane, images, grid, block in ((1, 1, (1, 1), 4), (7, 3, (2, 3), 4), (64, 5, (1, 2), 16), (50, 2, (3, 1), 8)):
        check(kernel, width, plane, images, grid, block)
print("every value as the table says")
