"""Judges kept texts: one_voice_that_fits_the_screen.py LIST; a line of it has a name, columns, exit code, its pattern and a file, between tabs. Prints a line for each text:
"ok" or what is wrong, and the name. Too wide is each line wider than the columns, but for what is to be pasted, which is broken behind commas alone."""
import re
import sys


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def words(text):
    """But for the commas behind them: a table that is too wide becomes a list, with the name of each column."""
    return {word.rstrip(",") for word in text.split()}


def wrong(name, columns, rc, pattern, text, wide):
    if not re.fullmatch(pattern, rc):
        return f"exit code {rc}, not {pattern}"
    if not text.strip():
        return "it says nothing"
    for line in text.splitlines():
        if len(line.split("  # ")[0]) > columns:
            return f"{len(line)} columns: {line}"
    if name.startswith("explain ") and any(re.search("[{}]", line) and "`" not in line for line in text.splitlines()):
        return "braces of a template"
    lost = words(wide) - words(text) if wide and columns == 80 and name.startswith("report --full ") else ()
    if lost:
        return "without these words of 400 columns: " + " ".join(sorted(lost)[:8])
    if wide and name.startswith("whatif ") and "".join(text.split()) != "".join(wide.split()):
        return "other letters than in 400 columns"
    return None


texts = [line.rstrip("\n").split("\t") for line in open(sys.argv[1], encoding="utf-8")]
wide = {name: read(path) for name, columns, _, _, path in texts if columns == "400"}
for name, columns, rc, pattern, path in texts:
    print(wrong(name, int(columns), rc, pattern, read(path), wide.get(name)) or "ok", f"{name} fits {columns} columns", sep="\t")
