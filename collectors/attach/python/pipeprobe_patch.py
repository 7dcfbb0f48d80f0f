"""What `pipeprobe patch` runs, as `python3 -I`: other arguments for the call that makes a DataLoader, as a unified diff on standard output.

Nothing is written, and nothing of the job's is imported or run: its file is read, parsed and compared. Asked for in one JSON object on standard input:
file (to read), name (for the diff), line, end_line, column, end_column (bytes from 0; both 0: not known), sha256 (of the file when it was recorded; "": not
known), set (the arguments), made (the loader's arguments as they were).

The answer: the diff, and on standard error notes, one a line. Refused: exit code 4 and on standard error "code: sentence"."""

import ast
import difflib
import hashlib
import json
import re
import sys

_POSITIONAL = (
    "dataset batch_size shuffle sampler batch_sampler num_workers collate_fn pin_memory drop_last timeout worker_init_fn multiprocessing_context generator"
).split()
_NEED_WORKERS = ("prefetch_factor", "persistent_workers", "multiprocessing_context", "timeout", "in_order")
_NAMES = re.compile(r"(\w*DataLoader|WebLoader)$")
_TRAINER = re.compile(r"\w*TrainingArguments$")  # of transformers: the loader's arguments under other names
_TRAINERS = ("num_workers", "prefetch_factor", "pin_memory", "persistent_workers")
_LINES_MAX = 100000


class Refused(Exception):
    pass


def refuse(code, sentence):
    raise Refused("%s: %s" % (code, sentence))


# ---- text ----


class Text:
    """The file: lines with their ends, positions in bytes as ast has them."""

    def __init__(self, data):
        self.lines = [line.encode("utf-8") for line in data.split("\n")]
        self.edits = []  # (line, column, end_line, end_column, its number, replacement)

    def between(self, line, column, end_line, end_column):
        if line == end_line:
            return self.lines[line - 1][column:end_column]
        inner = self.lines[line : end_line - 1]
        return b"\n".join([self.lines[line - 1][column:]] + inner + [self.lines[end_line - 1][:end_column]])

    def of(self, node):
        return self.between(node.lineno, node.col_offset, node.end_lineno, node.end_col_offset).decode("utf-8")

    def replace(self, at, text):
        self.edits.append(at + (len(self.edits), text))

    def changed(self):
        lines = list(self.lines)
        for line, column, end_line, end_column, _, text in sorted(self.edits, reverse=True):
            new = lines[line - 1][:column] + text.encode("utf-8") + lines[end_line - 1][end_column:]
            lines[line - 1 : end_line] = new.split(b"\n")
        return b"\n".join(lines).decode("utf-8")


def span(node):
    return node.lineno, node.col_offset, node.end_lineno, node.end_col_offset


def name_of(func):
    return func.attr if isinstance(func, ast.Attribute) else func.id if isinstance(func, ast.Name) else ""


# ---- which call ----


def is_loader(call, tree):
    """It makes a DataLoader by its name, its name as imported, or a class of this file that hands its keywords on."""
    name = name_of(call.func)
    if _NAMES.match(name):
        return True
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and any(a.asname == name and _NAMES.match(a.name) for a in node.names):
            return True
        if isinstance(node, ast.Assign) and _NAMES.match(name_of(node.value)):
            if any(isinstance(t, ast.Name) and t.id == name for t in node.targets):
                return True
        if isinstance(node, ast.ClassDef) and node.name == name and any(_NAMES.match(name_of(b)) for b in node.bases):
            makers = [f for f in node.body if isinstance(f, ast.FunctionDef) and f.name == "__init__"]
            return not makers or makers[0].args.kwarg is not None
    return False


def find_call(tree, asked):
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    if asked["end_column"]:
        exact = [c for c in calls if span(c) == (asked["line"], asked["column"], asked["end_line"], asked["end_column"])]
        calls = exact or calls
    here = [c for c in calls if c.lineno <= asked["line"] <= c.end_lineno and is_loader(c, tree)]
    here = [c for c in here if c.lineno == asked["line"]] or here
    if len(here) > 1:
        refuse("two-calls", "%d DataLoaders are made at line %d, and which of them is slow was not recorded (Python 3.11 records it)" % (len(here), asked["line"]))
    return here[0] if here else None


def trainers_call(tree):
    """The call that holds the arguments which transformers gives its DataLoader."""
    calls = [n for n in ast.walk(tree) if isinstance(n, ast.Call) and _TRAINER.match(name_of(n.func))]
    return calls[0] if len(calls) == 1 else None


# ---- which argument ----


def option_of(value, tree):
    """The command-line option behind args.workers, where this file declares it."""
    name = value.attr if isinstance(value, ast.Attribute) else value.id if isinstance(value, ast.Name) else None
    for node in ast.walk(tree):
        if not (isinstance(node, ast.Call) and name_of(node.func) == "add_argument" and name):
            continue
        words = [a.value for a in node.args if isinstance(a, ast.Constant) and isinstance(a.value, str)]
        dest = [k.value.value for k in node.keywords if k.arg == "dest" and isinstance(k.value, ast.Constant)]
        long = [w for w in words if w.startswith("--")] or words
        if dest[:1] == [name] or (not dest and long and long[0].lstrip("-").replace("-", "_") == name):
            return long[0]
    return None


def literal_dict(splat, tree):
    """(keys with their values, the node) of the one dict that **name stands for; refused where it may have other keys."""
    value = splat.value
    if isinstance(value, ast.Name):
        makers = [n for n in ast.walk(tree) if isinstance(n, ast.Assign) and any(isinstance(t, ast.Name) and t.id == value.id for t in n.targets)]
        later = [n for n in ast.walk(tree) if isinstance(n, ast.Subscript) and isinstance(n.ctx, ast.Store) and name_of(n.value) == value.id]
        later += [n for n in ast.walk(tree) if isinstance(n, ast.Attribute) and name_of(n.value) == value.id and n.attr in ("update", "setdefault", "pop")]
        value = makers[0].value if len(makers) == 1 and not later else None
    if isinstance(value, ast.Dict) and all(isinstance(k, ast.Constant) for k in value.keys):
        return {k.value: v for k, v in zip(value.keys, value.values)}, value
    if isinstance(value, ast.Call) and name_of(value.func) == "dict" and not value.args and all(k.arg for k in value.keywords):
        return {k.arg: k.value for k in value.keywords}, value
    refuse("made-elsewhere", "the call takes **%s, and which arguments that holds is not to be seen in this file" % ast.dump(splat.value)[:40])


class Call:
    """The arguments of a call, wherever they stand."""

    def __init__(self, call, tree, text):
        self.call, self.tree, self.text, self.notes = call, tree, text, []
        if any(isinstance(a, ast.Starred) for a in call.args):
            refuse("made-elsewhere", "the call takes *arguments that are made elsewhere")
        self.positional = dict(zip(_POSITIONAL, call.args)) if not _TRAINER.match(name_of(call.func)) else {}
        self.keywords = {k.arg: k for k in call.keywords if k.arg}
        self.splats = [literal_dict(k, tree) for k in call.keywords if not k.arg]

    def find(self, name):
        """Its value's node; None: it is not given."""
        if name in self.keywords:
            return self.keywords[name].value
        return self.positional.get(name) or next((d[name] for d, _ in self.splats if name in d), None)

    def set(self, name, value):
        node = self.find(name)
        if node is None:
            self.append("%s=%r" % (name, value))
            return
        if not isinstance(node, ast.Constant):
            option = option_of(node, self.tree)
            self.notes.append("%s was %s%s" % (name, self.text.of(node), ": or leave it and start the job with %s %s" % (option, value) if option else ""))
        self.text.replace(span(node), repr(value))

    def drop(self, name):
        """A keyword, with the comma before or behind it."""
        if name not in self.keywords:
            if self.find(name) is not None and not _is_none(self.find(name)):
                refuse("needs-workers", "%s needs workers, and is given where it can't be taken out" % name)
            return
        node = self.keywords[name]
        items = sorted(self.call.args + [k.value for k in self.call.keywords], key=span)
        n = items.index(node.value)
        if n > 0:
            self.text.replace((items[n - 1].end_lineno, items[n - 1].end_col_offset) + span(node.value)[2:], "")
        elif n + 1 < len(items):
            follower = next(k for k in self.call.keywords if k.value is items[n + 1])
            self.text.replace((node.lineno, node.col_offset, follower.lineno, follower.col_offset), "")

    def append(self, argument):
        items = sorted(self.call.args + [k.value for k in self.call.keywords], key=span)
        if not items:
            close = self.call.end_lineno, self.call.end_col_offset - 1
            return self.text.replace(close + close, argument)
        end = items[-1].end_lineno, items[-1].end_col_offset
        rest = self.text.between(*end, self.call.end_lineno, self.call.end_col_offset - 1).decode("utf-8")
        code = re.sub(r"#[^\n]*", lambda m: " " * len(m.group()), rest)
        comma, broken = code.strip(") \t\r\n").startswith(","), "\n" in code
        first = self.text.lines[items[-1].lineno - 1]
        indent = re.match(rb"[ \t]*", first).group().decode()
        keyword = next((k for k in self.call.keywords if k.value is items[-1]), None)
        begin = (keyword.lineno, keyword.col_offset) if keyword else (items[-1].lineno, items[-1].col_offset)
        alone = first[: begin[1]].strip() == b"" and begin[0] == items[-1].lineno
        if ")" in code.strip(", \t\r\n"):  # the last argument is in parentheses of its own
            close = self.call.end_lineno, self.call.end_col_offset - 1
            self.text.replace(close + close, (" " if comma else ", ") + argument)
        elif broken and alone:  # an argument a line: one line more
            line_end = end[0], len(self.text.lines[end[0] - 1].rstrip(b"\r"))
            if not comma:
                self.text.replace(end + end, ",")
            self.text.replace(line_end + line_end, "%s\n%s%s," % (carriage(self.text, end[0]), indent, argument))
        else:
            self.text.replace(end + end, ", " + argument)


def carriage(text, line):
    return "\r" if text.lines[line - 1].endswith(b"\r") else ""


def _is_none(node):
    return isinstance(node, ast.Constant) and node.value is None


# ---- the change ----


def set_all(call, asked, prefix):
    wanted, made = dict(asked["set"]), asked["made"]
    workers = wanted.get("num_workers", made.get("num_workers", 0))
    if not workers and any(name in wanted for name in _NEED_WORKERS):
        refuse("needs-workers", "%s needs num_workers above 0" % next(name for name in _NEED_WORKERS if name in wanted))
    if wanted.get("num_workers") == 0:
        for name in _NEED_WORKERS:
            call.drop(prefix + name)
    for name, value in wanted.items():
        call.set(prefix + name, value)


def stripped(text, starts, names):
    """The tree without the arguments of these names in the calls and dicts that begin there."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if (getattr(node, "lineno", 0), getattr(node, "col_offset", 0)) not in starts:
            continue
        if isinstance(node, ast.Call):
            node.keywords = [k for k in node.keywords if k.arg not in names]
            node.args = [a for i, a in enumerate(node.args) if i >= len(_POSITIONAL) or _POSITIONAL[i] not in names]
        if isinstance(node, ast.Dict):
            pairs = [(k, v) for k, v in zip(node.keys, node.values) if getattr(k, "value", None) not in names]
            node.keys, node.values = [k for k, _ in pairs], [v for _, v in pairs]
    return ast.dump(tree)


def check(before, after, edited, asked, prefix):
    """The new text has what was asked for, and is the old one in all else."""
    starts = {span(node)[:2] for node in [edited.call] + [d for _, d in edited.splats]}
    names = {prefix + n for n in asked["set"]} | {prefix + n for n in _NEED_WORKERS if asked["set"].get("num_workers") == 0}
    try:
        tree = ast.parse(after)
        same = stripped(before, starts, names) == stripped(after, starts, names)
    except SyntaxError:
        refuse("form", "the call is written in a way that can't be changed: the result would not parse")
    calls = [n for n in ast.walk(tree) if type(n) is ast.Call and span(n)[:2] == span(edited.call)[:2] and name_of(n.func) == name_of(edited.call.func)]
    found = Call(calls[0], tree, Text(after)) if calls else None
    given = found and all(getattr(found.find(prefix + n), "value", None) == v for n, v in asked["set"].items())
    if not same or not given:
        refuse("form", "the call is written in a way that can't be changed safely")


def patch(asked):
    with open(asked["file"], "rb") as f:
        raw = f.read()
    try:
        data = raw.decode("utf-8")
        tree = ast.parse(data)
    except (UnicodeDecodeError, SyntaxError, ValueError) as e:
        refuse("form", "%s can't be parsed by this Python: %s" % (asked["name"], e))
    if data.startswith("\ufeff") or len(data.split("\n")) > _LINES_MAX:
        refuse("form", "%s begins with a byte order mark, or is too long" % asked["name"])
    same = not asked["sha256"] or hashlib.sha256(raw).hexdigest() == asked["sha256"]
    if asked["line"] > data.count("\n") + 1:
        refuse("stale", "%s has changed since it was recorded: it has no line %d" % (asked["name"], asked["line"]))
    call, prefix = find_call(tree, asked), ""
    if not same and (call is None or call.lineno != asked["line"]):
        refuse("stale", "%s has changed since it was recorded, and line %d makes no DataLoader now" % (asked["name"], asked["line"]))
    if call is None:
        call, prefix = trainers_call(tree), "dataloader_"
        if call is None or any(n not in _TRAINERS for n in asked["set"]):
            refuse("wrapped", "line %d of %s makes no DataLoader by itself: what it calls does" % (asked["line"], asked["name"]))
    text = Text(data)
    edited = Call(call, tree, text)
    set_all(edited, asked, prefix)
    after = text.changed()
    check(data, after, edited, asked, prefix)
    if not same:
        edited.notes.insert(0, "%s has changed since it was recorded; the call at line %d is still there" % (asked["name"], asked["line"]))
    old, new = (t.split("\n") for t in (data, after))
    diff = difflib.unified_diff(_ended(old), _ended(new), "a/" + asked["name"], "b/" + asked["name"])
    for line in diff:
        sys.stdout.write(line if line.endswith("\n") else line + "\n\\ No newline at end of file\n")
    for note in edited.notes:
        sys.stderr.write(note + "\n")


def _ended(lines):
    return [line + "\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])


def main():
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(encoding="utf-8", newline="\n")
        sys.stderr.reconfigure(encoding="utf-8", errors="backslashreplace")
    try:
        if sys.version_info < (3, 9):  # before it, ast has no place of keywords
            refuse("form", "Python 3.9 or later is needed, and this is %d.%d: name another one with --python" % sys.version_info[:2])
        patch(json.load(sys.stdin))
    except Refused as e:
        sys.stderr.write("%s\n" % e)
        sys.exit(4)
    except OSError as e:
        sys.stderr.write("missing: %s\n" % e.strerror)
        sys.exit(4)


if __name__ == "__main__":
    main()
