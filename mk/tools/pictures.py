#!/usr/bin/env python3
"""pictures.py PROGRAM RECORDING OUT [--text]: the report and the dashboard as SVG, the page as PNG (chromium and Pillow; --text does without), all of one
recording: the pictures of README and guides. The SVGs are the program's own text with its colours, so the same program gives the same bytes."""
import os
import re
import subprocess
import sys
import tempfile
from xml.sax.saxutils import escape

WIDTH, LINE, EDGE = 8.4, 18, 14  # of a character, a row, the frame
PAPER, INK, DIM = "#14171a", "#e6e8ea", "#3a4148"
BASE = ["#5b6470", "#e06c75", "#98c379", "#e5c07b", "#61afef", "#c678dd", "#56b6c2", "#e6e8ea"]
SGR = re.compile(r"\x1b\[([0-9;]*)m")


def colour(n):
    """One of the 256 of a terminal."""
    if n < 16:
        return BASE[n % 8]
    if n > 231:
        return "#%02x%02x%02x" % ((8 + 10 * (n - 232),) * 3)
    return "#%02x%02x%02x" % tuple(0 if v == 0 else 55 + 40 * v for v in ((n - 16) // 36, (n - 16) // 6 % 6, (n - 16) % 6))


def styled(state, codes):
    codes = [int(c or 0) for c in codes.split(";")]
    while codes:
        code = codes.pop(0)
        if code == 0:
            state.clear()
        elif code == 38 and codes[:1] == [5]:
            state["ink"] = colour(codes[1])
            del codes[:2]
        elif 30 <= code <= 37:
            state["ink"] = BASE[code - 30]
        elif code in (1, 7):
            state[code] = True


def svg(text, title):
    rows = text.rstrip("\n").split("\n")
    columns = max(len(SGR.sub("", row)) for row in rows)
    out = ['<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" role="img"><title>%s</title>' %
           (columns * WIDTH + 2 * EDGE, len(rows) * LINE + 2 * EDGE, escape(title)), '<rect width="100%%" height="100%%" rx="6" fill="%s"/>' % PAPER,
           '<g font-family="DejaVu Sans Mono,Menlo,Consolas,monospace" font-size="14" fill="%s">' % INK]
    state = {}
    for y, row in enumerate(rows):
        at = 0
        for i, part in enumerate(SGR.split(row)):
            if i % 2:
                styled(state, part)
                continue
            x, top, ink = EDGE + at * WIDTH, EDGE + y * LINE, state.get("ink")
            at += len(part)
            if state.get(7):
                out.append('<rect x="%.1f" y="%d" width="%.1f" height="%d" fill="%s"/>' % (x, top, len(part) * WIDTH, LINE, DIM))
            words = part.strip(" ")
            if words:
                left = len(part) - len(part.lstrip(" "))
                out.append('<text x="%.1f" y="%d" textLength="%.1f" xml:space="preserve"%s%s>%s</text>' %
                           (x + left * WIDTH, top + 14, len(words) * WIDTH, ' fill="%s"' % ink if ink else "", ' font-weight="bold"' if state.get(1) else "", escape(words)))
    return "\n".join(out + ["</g></svg>", ""])


def told(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env={**os.environ, "LC_ALL": "C.UTF-8", "TERM": "xterm-256color"}).stdout


def page(program, recording, out):
    from PIL import Image

    with tempfile.TemporaryDirectory() as tmp:
        html, shot = os.path.join(tmp, "page.html"), os.path.join(tmp, "page.png")
        told(program, "report", recording, "-o", html)
        subprocess.run(["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--user-data-dir=" + os.path.join(tmp, "profile"),
                        "--window-size=1280,1500", "--screenshot=" + shot, "file://" + html], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        Image.open(shot).convert("RGB").resize((960, 1125), Image.LANCZOS).quantize(64, dither=Image.Dither.NONE).save(out, optimize=True)


def main():
    program, recording, out = (os.path.abspath(path) for path in sys.argv[1:4])
    os.makedirs(out, exist_ok=True)
    os.chdir(os.path.dirname(recording))
    recording = os.path.basename(recording)
    texts = {"report": ["report", recording, "--color=always"], "dashboard": ["top", recording, "--once", "--size", "100x24", "--color=always", "--glyphs", "block", "--at", "4"]}
    for name, command in texts.items():
        with open(os.path.join(out, name + ".svg"), "w") as f:
            f.write(svg(told(program, *command), "pipeprobe " + " ".join(w for w in command if w != "--color=always")))
    if "--text" not in sys.argv:
        page(program, recording, os.path.join(out, "page.png"))


main()
