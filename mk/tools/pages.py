#!/usr/bin/env python3
"""make pages OLD=PROGRAM: docs/internals/pages.md and its pictures, of the same recordings by an old program and by this one.

The recordings are those of tests/recordings. Needs chromium and Pillow. A picture shows the page at 1280 px before and after, at 390 px before, and after in dark; a palette keeps it small.
"""
import argparse
import gzip
import os
import shutil
import subprocess
import tempfile

from PIL import Image

SUBJECTS = [
    ("train", "one worker, the recording of README"),
    ("small_files_on_a_mount", "small files on a slow mount"),
    ("http_per_sample", "a request per sample"),
    ("collate_pads_in_python", "a job that lacks CPUs"),
    ("targets_of_small_tensors", "workers that cost more than they save"),
    ("weighted_sampler", "a slow sampler between epochs"),
    ("accumulated_gradients", "not input-bound"),
    ("large_jpegs", "too few batches for a verdict"),
]
DESK, PHONE = (1280, 2300), (390, 1700)
DESK_SCALE, PHONE_SCALE, HEIGHT = 0.27, 0.36, 612
# The page's own colours (report/render/html/page.c), of light and dark, and greys between ink and paper.
COLOURS = ["#ffffff", "#eef0f2", "#b9bec5", "#d68896", "#5b6470", "#1c2024", "#3f78b5", "#a9c7e4", "#d9730d", "#f3b173", "#b3314b", "#efc4cc", "#8c6d1f", "#56b4e9",
           "#14171a", "#2c3238"]


INTRO = """# First pages, before and after

Eight recordings as they were reported on 27 November 2026 (commit bfc6c41d) and as they are now: the text of `pipeprobe report FILE` at 80 columns, and the
top of the page (`-o page.html`): at 1280 px before and after, at 390 px before, and after in dark. The recordings are in the repository (tests/recordings, made
beside other load). `make pages OLD=PROGRAM` makes this page again, and a test holds the texts after to the program.
What the parts of the page show: [report formats](../reference/report-formats.md).
"""


def page(program, recording, out):
    subprocess.run([program, "report", recording, "-o", out], check=False, stdout=subprocess.DEVNULL)


def screenshot(html, size, dark, out, profile):
    scheme = ["--force-dark-mode", "--blink-settings=preferredColorScheme=0"] if dark else []
    subprocess.run(["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", f"--user-data-dir={profile}",
                    f"--window-size={size[0]},{size[1]}", f"--screenshot={out}", *scheme, "file://" + html],
                   check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return Image.open(out).convert("RGB")


def picture(before, after, out, tmp):
    """The desk before and after, the phone before, and after in dark."""
    shots = [(before, DESK, False, DESK_SCALE), (after, DESK, False, DESK_SCALE), (before, PHONE, False, PHONE_SCALE), (after, PHONE, True, PHONE_SCALE)]
    widths = [int(size[0] * scale) for _, size, _, scale in shots]
    all_ = Image.new("RGB", (sum(widths) + 8 * (len(shots) - 1), HEIGHT), "#b9bec5")
    for i, (html, size, dark, scale) in enumerate(shots):
        shot = screenshot(html, size, dark, os.path.join(tmp, f"{i}.png"), os.path.join(tmp, "profile"))
        shot = shot.resize((widths[i], int(shot.height * scale)), Image.LANCZOS)
        all_.paste(shot.crop((0, 0, widths[i], HEIGHT)), (sum(widths[:i]) + 8 * i, 0))
    palette = Image.new("P", (1, 1))
    palette.putpalette([int(c[k:k + 2], 16) for c in COLOURS for k in (1, 3, 5)])
    all_.quantize(palette=palette, dither=Image.Dither.NONE).save(out, optimize=True, bits=4)


def text(program, recording):
    return subprocess.run([program, "report", recording], check=False, capture_output=True, text=True).stdout.rstrip()


def unpack(root, recording):
    if os.path.exists(kept := os.path.join(root, "tests/recordings", recording)):
        shutil.copy(kept, recording)
    else:
        with gzip.open(os.path.join(root, "tests/recordings", recording + ".gz")) as packed, open(recording, "wb") as out:
            shutil.copyfileobj(packed, out)


def main():
    ap = argparse.ArgumentParser(description=__doc__)
    ap.add_argument("--old", required=True)
    ap.add_argument("--new", required=True)
    ap.add_argument("--docs", required=True, help="docs/internals")
    a = ap.parse_args()
    old, new, docs = os.path.abspath(a.old), os.path.abspath(a.new), os.path.abspath(a.docs)
    os.makedirs(os.path.join(docs, "pages"), exist_ok=True)
    root = os.path.dirname(os.path.dirname(docs))
    recordings = tempfile.TemporaryDirectory()
    os.chdir(recordings.name)  # names of files without directories
    parts = [INTRO]
    for name, what in SUBJECTS:
        recording = name + ".sqlite"
        unpack(root, recording)
        with tempfile.TemporaryDirectory() as tmp:
            pages = [os.path.join(tmp, which + ".html") for which in ("before", "after")]
            page(old, recording, pages[0])
            page(new, recording, pages[1])
            picture(*pages, os.path.join(docs, "pages", name + ".png"), tmp)
        parts.append(f"\n## {name}: {what}\n\nBefore:\n")
        for which, program in ("before", old), ("after", new):
            parts.append("\n" + "\n".join(("    " + line).rstrip() for line in text(program, recording).splitlines()) + "\n")
            if which == "before":
                parts.append("\nAfter:\n")
        parts.append(f"\n![{name}: at 1280 px before and after, at 390 px before, and after in dark](pages/{name}.png)\n")
    kib = sum(os.path.getsize(os.path.join(docs, "pages", n + ".png")) for n, _ in SUBJECTS) // 1024
    print(f"{len(SUBJECTS)} pictures, {kib} KiB")
    with open(os.path.join(docs, "pages.md"), "w") as out:
        out.write("".join(parts))


if __name__ == "__main__":
    main()
