"""Compares transform_dump with PIL and torchvision, bit for bit (within 1/255 of Pillow-SIMD, which rounds its own way). TAP on stdout.

The files are made here by PIL, so that what PIL writes and reads is the truth. The random choices (crop box, flip) are those that
transform_dump prints; their distribution is checked by the unit tests.
"""
import io
import os
import struct
import subprocess
import sys
import tempfile
import warnings
import zlib

import numpy as np
import torch
import PIL
from PIL import Image, ImageOps, features
from torchvision import transforms
from torchvision.transforms import functional as F

warnings.simplefilter("ignore")
TOOL = sys.argv[1]
EXACT = "post" not in PIL.__version__  # Pillow-SIMD calls itself 9.0.0.post1
WEBP = features.check("webp") and "webp" in sys.argv[2:]  # of both sides
IMAGENET = transforms.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))


def picture(rng, width, height, mode="RGB"):
    """Smooth fields, edges and noise, so that neither entropy coding nor resampling has an easy time."""
    y, x = np.mgrid[0:height, 0:width]
    planes = []
    for c in range(len(Image.new(mode, (1, 1)).getbands())):
        f = rng.uniform(0.01, 0.2, 4)
        field = np.sin(x * f[0] + c) + np.cos(y * f[1]) + np.sin((x + y) * f[2]) + ((x // 19 + y // 13) % 2)
        planes.append(np.clip(field * 45 + 110 + rng.normal(0, 12, field.shape), 0, 255).astype(np.uint8))
    array = planes[0] if len(planes) == 1 else np.stack(planes, -1)
    return Image.fromarray(array, mode)


def encode(image, **kw):
    f = io.BytesIO()
    image.save(f, **kw)
    return f.getvalue()


def png(width, height, depth, colour, rows, extra=b""):
    """PNG kinds that PIL does not write."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    raw = b"".join(b"\0" + bytes(r) for r in rows)
    header = struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + extra + chunk(b"IDAT", zlib.compress(raw)) + chunk(b"IEND", b"")


def palette_chunks(n, rng):
    data = bytes(rng.integers(0, 256, 3 * n, dtype=np.uint8))
    return struct.pack(">I", len(data)) + b"PLTE" + data + struct.pack(">I", zlib.crc32(b"PLTE" + data))


def make_files():
    rng = np.random.default_rng(7)
    sizes = [(500, 375), (333, 500), (64, 48), (17, 400), (231, 229), (1, 1), (5, 3), (640, 31)]
    files = {}
    for i, (w, h) in enumerate(sizes):
        for sub, name in ((0, "444"), (1, "422"), (2, "420")):
            files[f"jpeg {name} {w}x{h}"] = encode(picture(rng, w, h), format="JPEG", quality=60 + 5 * i, subsampling=sub)
        files[f"progressive {w}x{h}"] = encode(picture(rng, w, h), format="JPEG", progressive=True, quality=85)
        files[f"grey {w}x{h}"] = encode(picture(rng, w, h, "L"), format="JPEG", quality=85)
        files[f"cmyk {w}x{h}"] = encode(picture(rng, w, h, "CMYK"), format="JPEG", quality=85)
        files[f"cmyk subsampled {w}x{h}"] = encode(picture(rng, w, h, "CMYK"), format="JPEG", quality=85, subsampling=2)
        files[f"png rgb {w}x{h}"] = encode(picture(rng, w, h), format="PNG")
        if WEBP:
            files[f"webp {w}x{h}"] = encode(picture(rng, w, h), format="WEBP", quality=40 + 5 * i)
            files[f"webp lossless {w}x{h}"] = encode(picture(rng, w, h), format="WEBP", lossless=True)
            files[f"webp alpha {w}x{h}"] = encode(picture(rng, w, h, "RGBA"), format="WEBP", quality=80, lossless=bool(i % 2))
    for mode in ("L", "RGBA", "LA"):
        files[f"png {mode}"] = encode(picture(rng, 120, 90, mode), format="PNG")
    files["png 1"] = encode(picture(rng, 121, 90, "L").convert("1"), format="PNG")
    files["png palette"] = encode(picture(rng, 120, 90).quantize(37), format="PNG")
    files["png palette with transparency"] = encode(picture(rng, 120, 90).quantize(64), format="PNG", transparency=3)
    files["png palette too short"] = png(64, 2, 8, 3, [range(64), range(128, 192)], palette_chunks(9, rng))
    files["png 16-bit grey"] = png(64, 2, 16, 0, [struct.pack(">64H", *range(220, 284)), struct.pack(">64H", *range(0, 65536, 1024))])
    files["png 16-bit rgb"] = png(8, 8, 16, 2, [rng.integers(0, 256, 48, dtype=np.uint8).tobytes() for _ in range(8)])
    files["png 16-bit grey alpha"] = png(8, 8, 16, 4, [rng.integers(0, 256, 32, dtype=np.uint8).tobytes() for _ in range(8)])
    files["png 2-bit grey"] = png(33, 5, 2, 0, [rng.integers(0, 256, 9, dtype=np.uint8).tobytes() for _ in range(5)])
    for o in range(1, 9):
        exif = Image.Exif()
        exif[0x0112] = o
        files[f"exif {o}"] = encode(picture(rng, 161, 97), format="JPEG", quality=90, exif=exif.tobytes())
        if WEBP:
            files[f"webp exif {o}"] = encode(picture(rng, 61, 37), format="WEBP", exif=exif.tobytes())
        files[f"png exif {o}"] = encode(picture(rng, 61, 37), format="PNG", exif=exif.tobytes())
    whole = files["jpeg 420 500x375"]
    files["without its last bytes"] = whole[:-2] + b"\0\0\0\0"
    files["trailing bytes"] = whole + b"rubbish" * 9
    files["ended early, with end marker"] = whole[: len(whole) // 2] + b"\xff\xd9"
    bad = {f"cut {n}": whole[: len(whole) * n // 10] for n in (1, 4, 9)}
    if WEBP:
        bad["webp cut"] = files["webp 500x375"][:-200]
    bad["png cut"] = files["png rgb 500x375"][:-2000]
    bad["gif"] = encode(picture(rng, 20, 20), format="GIF")[:3]
    return files, bad


def dump(spec, dtype, rotate, seed, paths, out):
    run = subprocess.run([TOOL, spec, dtype, str(rotate), str(seed), out] + paths, capture_output=True, text=True, check=True)
    return run.stdout.splitlines(), open(out, "rb").read()


def as_torchvision(spec, image, box, flip):
    """The spec by torchvision's own functions, with the drawn box and flip put in place of the random ones."""
    for step in spec.split(",normalize")[0].split(","):
        name, _, arg = step.partition(":")
        arg = arg.split(":")[0]
        size = [int(v) for v in arg.split("x")] if arg and name != "hflip" else None
        if name == "rrc":
            x, y, w, h = box
            image = F.resized_crop(image, y, x, h, w, size * 2 if len(size) == 1 else size)
        elif name == "resize":
            image = F.resize(image, size if len(size) == 2 else size[0])
        elif name == "center":
            image = F.center_crop(image, size)
        elif flip:
            image = F.hflip(image)
    return image


def compare(spec, dtype, rotate, seed, names, paths, out):
    """Returns (worst difference in units of 1/255, images whose floats were all equal, list of complaints)."""
    lines, data = dump(spec, dtype, rotate, seed, paths, out)
    at, worst, equal, wrong = 0, 0.0, 0, []
    for name, path, line in zip(names, paths, lines):
        word = line.split()
        if word[0] != "ok":
            wrong.append(f"{name}: {line}")
            continue
        width, height, _, _, _, _, *box = [int(float(v)) for v in word[1:11]]
        flip = int(word[15])
        image = Image.open(path)
        image = (ImageOps.exif_transpose(image) if rotate else image).convert("RGB")
        mine = np.frombuffer(data, np.uint8, width * height * 3, at).reshape(height, width, 3)
        at += mine.size
        if mine.shape[:2] != (image.height, image.width) or not np.array_equal(mine, np.asarray(image)):
            wrong.append(f"{name}: decoded pixels differ")
        want = as_torchvision(spec, image, box, flip)
        if dtype == "u8":
            want = np.asarray(want)
            got = np.frombuffer(data, np.uint8, want.size, at).reshape(want.shape)
            at += want.size
            difference = np.abs(got.astype(int) - want.astype(int)).max()
        else:
            want = F.to_tensor(want)
            scale = torch.ones(3, 1, 1)
            if "imagenet" in spec:
                want = IMAGENET(want)
                scale = torch.tensor(IMAGENET.std).view(3, 1, 1)
            want = want.to(torch.float16) if dtype == "f16" else want
            kind = np.float16 if dtype == "f16" else np.float32
            got = np.frombuffer(data, kind, want.numel(), at).reshape(tuple(want.shape))
            at += got.nbytes
            difference = ((torch.tensor(got).float() - want.float()).abs() * scale * 255).max().item()
            want = want.numpy()
        same = np.array_equal(got, want)
        worst = max(worst, difference)
        equal += same
        if difference > 1 or (EXACT and not same):
            wrong.append(f"{name}: {difference:.5f}/255 from torchvision, box {box} flip {flip}")
    return worst, equal, wrong


CASES = [
    ("rrc:224,hflip,normalize=imagenet", "f32", 0),
    ("rrc:224,hflip,normalize=imagenet", "f16", 0),
    ("rrc:224,hflip,normalize=imagenet", "f32", 1),
    ("rrc:32x57:scale=0.5-1,hflip,normalize=none", "f32", 0),
    ("rrc:160,hflip,normalize=none", "u8", 0),
    ("rrc:224,center:161,hflip,normalize=none", "u8", 0),
    ("resize:256,center:224,normalize=imagenet", "f32", 0),
    ("resize:64,center:61,normalize=imagenet", "f32", 1),
    ("resize:64,hflip:1,center:61,normalize=none", "u8", 0),
    ("resize:48,center:97,hflip:1,normalize=imagenet", "f32", 0),
    ("resize:100x37,normalize=none", "f32", 0),
    ("center:224,normalize=imagenet", "f32", 0),
    ("hflip:1,center:123,normalize=none", "u8", 0),
]


def main():
    with tempfile.TemporaryDirectory() as folder:
        good, bad = make_files()
        paths = []
        for i, data in enumerate({**good, **bad}.values()):
            paths.append(os.path.join(folder, f"{i}.jpg"))  # the name lies on purpose for PNG
            with open(paths[-1], "wb") as f:
                f.write(data)
        names, out = list(good), os.path.join(folder, "out.bin")
        print(f"1..{len(CASES) + 1}")
        failed = 0
        for i, (spec, dtype, rotate) in enumerate(CASES, 1):
            worst, equal, wrong = compare(spec, dtype, rotate, i, names, paths[: len(names)], out)
            failed += bool(wrong)
            title = f"{spec} {dtype}{' exif-rotate' if rotate else ''}: {len(names)} files, {equal} bit-equal, worst {worst:.3f}/255"
            print(f"{'not ok' if wrong else 'ok'} {i} - {title}")
            for line in wrong[:10]:
                print("# " + line)
        lines, _ = dump("rrc:8", "f32", 0, 1, paths[len(names):], out)
        refused = all(line.split()[0] in ("corrupt", "unsupported") for line in lines) and len(lines) == len(bad)
        failed += not refused
        print(f"{'ok' if refused else 'not ok'} {len(CASES) + 1} - what PIL calls truncated or unknown is refused")
        for path, line in zip(paths[len(names):], lines):
            try:
                Image.open(path).convert("RGB")
                print(f"# PIL accepts what should be refused: {path}")
            except Exception:
                pass
            if not refused:
                print("# " + line)
    sys.exit(1 if failed else 0)


main()
