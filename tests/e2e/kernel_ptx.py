"""kernel_ptx.py kernel.ptx: the checked-in PTX of the kernels that normalise, resize and work, interpreted instruction by instruction over small grids, against
what the table and the weights say. No GPU is needed; an instruction or a form that is not known here fails the test."""
import random
import re
import struct
import sys

text = open(sys.argv[1]).read()
kernels = {name: (re.findall(r"\.param \.(\w+) (\w+)", head), body.strip().split("\n"))
           for name, head, body in re.findall(r"\.visible \.entry (\w+)\((.*?)\)\n\{\n(.*?)\n\}", text, re.S)}
BITS = {"u8": 8, "u16": 16, "b16": 16, "u32": 32, "s32": 32, "b32": 32, "f32": 32, "u64": 64, "s64": 64, "b64": 64}
SIZE = {t: b // 8 for t, b in BITS.items()}


def signed(v, bits):
    v &= (1 << bits) - 1
    return v - (1 << bits) if v >> bits - 1 else v


class Memory:
    """Addresses of buffers, apart from each other: what lies between belongs to none."""

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


def mask_of(bits):
    return (1 << bits) - 1


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
        bits = BITS.get(kind, 64)
        mask = (1 << bits) - 1
        if op == "ret":
            return
        if name == "bra":
            at = labels[o[0]]
        elif op.startswith("ld.param."):
            reg[o[0]] = value[o[1].strip("[]")] & mask
        elif op == "ld.global.nc.v2.u32":
            a, b, at_ = o[0].strip("{"), o[1].strip("}"), address(o[2])
            assert at_ % 8 == 0, f"load of a pair at {at_:#x} is not aligned"
            reg[a], reg[b] = memory.load(at_, 4), memory.load(at_ + 4, 4)
        elif op.startswith("ld.global."):
            reg[o[0]] = memory.load(address(o[1]), SIZE[kind])
        elif op.startswith("st.global."):
            memory.store(address(o[0]), SIZE[kind], get(o[1]) & mask)
        elif name in ("mov", "cvta"):
            reg[o[0]] = get(o[1]) & mask
        elif op == "cvt.s64.s32":
            reg[o[0]] = signed(get(o[1]), 32) & mask_of(64)
        elif name == "cvt":
            reg[o[0]] = get(o[1]) & mask & mask_of(BITS[op.split(".")[1]])  # unsigned
        elif op.startswith("setp."):
            a, b = (signed(get(x), bits) if kind[0] == "s" else get(x) & mask for x in o[1:])
            reg[o[0]] = {"ge": a >= b, "lt": a < b, "eq": a == b, "ne": a != b}[op.split(".")[1]]
        elif op == "selp.b32":
            reg[o[0]] = get(o[1]) & mask if reg[o[3]] else get(o[2]) & mask
        elif op == "or.pred":
            reg[o[0]] = reg[o[1]] or reg[o[2]]
        elif op == "mul.wide.u32":
            reg[o[0]] = (get(o[1]) & 0xffffffff) * (get(o[2]) & 0xffffffff)
        elif op == "mul.wide.s32":
            reg[o[0]] = signed(get(o[1]), 32) * signed(get(o[2]), 32) & mask_of(64)
        elif op == "div.u32":
            reg[o[0]] = (get(o[1]) & mask) // (get(o[2]) & mask)
        elif op == "shr.u32":
            reg[o[0]] = (get(o[1]) & mask) >> get(o[2])
        elif name == "xor":
            reg[o[0]] = (get(o[1]) ^ get(o[2])) & mask
        elif op == "shr.s32":
            reg[o[0]] = signed(get(o[1]), 32) >> get(o[2]) & mask
        elif op == "min.s32":
            reg[o[0]] = min(signed(get(o[1]), 32), signed(get(o[2]), 32)) & mask
        elif name == "neg":
            reg[o[0]] = -get(o[1]) & mask
        elif name == "not":
            reg[o[0]] = ~get(o[1]) & mask
        elif name == "or":
            reg[o[0]] = (get(o[1]) | get(o[2])) & mask
        elif name == "sub":
            reg[o[0]] = get(o[1]) - get(o[2]) & mask
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

def axis(r, source, count):
    """count outputs of source pixels: a random start, and weights that add up to one. Taps as many as the smallest source has room for."""
    taps = min(source, r.randrange(1, 5))
    weights, starts = [], []
    for _ in range(count):
        cuts = sorted(r.randrange((1 << 22) + 1) for _ in range(taps - 1))
        weights += [b - a for a, b in zip([0] + cuts, cuts + [1 << 22])]
        starts.append(r.randrange(source - taps + 1))
    return taps, weights, starts


def byte(v):
    return max(0, min(255, v >> 22))


def check_resize(kernel, width, size, images, grid, block):
    JOBS, OUT, TABLE, DATA = 0x10000, 0x20000000, 0x30000000, 0x40000000
    out_w, out_h = size
    r = random.Random(out_w * 100 + out_h)
    plane, half = out_w * out_h, 1 << 21
    table = [r.randrange(1 << 8 * width) for _ in range(768)]
    memory, wanted, at = Memory(), [], DATA
    memory.put(OUT, bytes(3 * plane * images * width))
    memory.put(TABLE, b"".join(v.to_bytes(width, "little") for v in table))
    for image in range(images):
        w, h, flip = r.randrange(1, 9), r.randrange(1, 9), image % 2
        left, top = (1, 1) if image == 2 and out_w > 2 and out_h > 2 else (0, 0)  # padding all around
        x_count, y_count = out_w - 2 * left, out_h - 2 * top
        pitch = 3 * w + 5
        pixels = bytes(r.randrange(256) for _ in range(pitch * h))
        x_taps, x_weights, x_starts = axis(r, w, x_count)
        y_taps, y_weights, y_starts = axis(r, h, y_count)
        tables = x_weights + x_starts + y_weights + y_starts
        memory.put(at, struct.pack(f"<{len(tables)}i", *tables))
        memory.put(at + 0x10001, pixels)
        memory.put(JOBS + 56 * image, struct.pack("<QQQI7i", at + 0x10001, OUT + 3 * plane * image * width, at, pitch, x_count, x_taps, y_count, y_taps, left, top, flip))
        at += 0x20000
        for y in range(out_h):
            for x in range(out_w):
                cx, cy = (out_w - 1 - x if flip else x) - left, y - top
                rgb = [0, 0, 0]
                if 0 <= cx < x_count and 0 <= cy < y_count:
                    for c in range(3):
                        rows = [byte(half + sum(x_weights[cx * x_taps + n] * pixels[(y_starts[cy] + k) * pitch + 3 * (x_starts[cx] + n) + c] for n in range(x_taps))) for k in range(y_taps)]
                        rgb[c] = byte(half + sum(y_weights[cy * y_taps + k] * rows[k] for k in range(y_taps)))
                wanted += [(image, x, y, c, rgb[c]) for c in range(3)]
    for y in range(grid[1]):
        for x in range(grid[0]):
            for t in range(block):
                run_thread(kernel, (JOBS, TABLE, out_w, out_h, images), {"%ctaid.x": x, "%ctaid.y": y, "%tid.x": t, "%ntid.x": block, "%nctaid.x": grid[0], "%nctaid.y": grid[1]}, memory)
    for image, x, y, c, v in wanted:
        i = y * out_w + x
        place, want = (3 * i + c, v) if width == 1 else (c * plane + i, table[c * 256 + v])
        got = memory.load(OUT + (3 * plane * image + place) * width, width)
        assert got == want, f"{kernel}, {out_w}x{out_h}: image {image}, ({x}, {y}), channel {c}: {got:#x} instead of {want:#x}"


for kernel, width in (("pp_resize_u8", 1), ("pp_resize_f32", 4), ("pp_resize_f16", 2)):
    for size, images, grid, block in (((1, 1), 1, (1, 1), 4), ((3, 2), 3, (2, 3), 4), ((5, 4), 4, (1, 2), 8)):
        check_resize(kernel, width, size, images, grid, block)


def check_work(rounds, first):
    """Of all values 0 alone stays 0, and is written; the thread before the first one begins with it."""
    memory, OUT = Memory(), 0x1000
    memory.put(OUT, struct.pack("<I", 7))
    run_thread("pp_work", (rounds, OUT), {"%ctaid.x": first, "%ntid.x": 1, "%tid.x": 0}, memory)
    return memory.load(OUT, 4)


for rounds in (0, 1, 5, 64):
    assert check_work(rounds, 0xffffffff) == 0, f"pp_work, {rounds} rounds: 0 did not stay 0"
    for first in (0, 1, 0x12345678, 0xfffffffe):
        assert check_work(rounds, first) == 7, f"pp_work, {rounds} rounds: the value {first + 1:#x} became 0"
print("every value as the table and the weights say")
