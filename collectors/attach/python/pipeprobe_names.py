"""What a job calls things: the place in its code where a DataLoader is made and the variable that it gets, and the file that a sample is made of.

No code of the job's runs for it: what is looked at are frames, bytecode, and the contents of plain lists, tuples, dictionaries and arrays."""

import itertools
import os
import sys

_STANDARD = os.path.dirname(os.__file__) + os.sep
_FRAMES_MAX = 64
_TEXT_MAX = 400  # characters of a path


def attributes(thing):
    """Its dictionary, without a method of its own."""
    try:
        return object.__getattribute__(thing, "__dict__")
    except Exception:
        return {}


# ---- where a loader is made ----


def _is_ours(frame):
    return str(frame.f_globals.get("__name__", "")).startswith("pipeprobe_")


def _is_torchs(frame):
    return str(frame.f_globals.get("__name__", "")).startswith(("torch.utils.data.", "torchdata.")) or _is_ours(frame)


def _is_a_librarys(frame):
    file = frame.f_code.co_filename
    return "/site-packages/" in file or "/dist-packages/" in file or file.startswith((_STANDARD, "<frozen"))


def _makes_itself(frame, thing):
    """It is the __init__ of a subclass of the job's."""
    code = frame.f_code
    return code.co_name == "__init__" and code.co_argcount > 0 and frame.f_locals.get(code.co_varnames[0]) is thing


def _shown(file):
    """Below the working directory from there."""
    if file.startswith("<"):
        return file
    path, here = os.path.abspath(file), os.getcwd() + os.sep
    return path[len(here) :] if path.startswith(here) else path


def _text_of_stores(stack, name, value):
    if name == "STORE_ATTR" and stack:
        return "%s.%s" % (stack[-1], value)
    if name == "STORE_SUBSCR" and len(stack) > 1:
        return "%s[%s]" % (stack[-2], stack[-1])
    if name in ("STORE_NAME", "STORE_FAST", "STORE_GLOBAL", "STORE_DEREF") and not stack:
        return str(value)
    return ""


def _variable(frame):
    """What the result of the call that the frame is in is stored as, by the instructions behind it: "val_loader", "self.loader",
    "loaders['val']"; of a function that returns it the function's name."""
    dis, code = sys.modules.get("dis"), frame.f_code
    if dis is None or len(code.co_code) > 1 << 16:
        return ""
    stack = []
    for step in dis.get_instructions(code):
        name, value = step.opname, step.argval
        if step.offset <= frame.f_lasti or name in ("CACHE", "NOP", "EXTENDED_ARG", "PRECALL", "PUSH_NULL"):
            continue
        if name.startswith("STORE_FAST_"):  # two in one, of which the first is ours
            return str(value[0]) if type(value) is tuple and not stack else ""
        if name.startswith("STORE_"):
            return _text_of_stores(stack, name, value)
        if name.startswith("RETURN_VALUE") and not stack and code.co_name[0] != "<":
            return code.co_name + "()"
        if name.startswith("LOAD_ATTR") and stack:
            stack[-1] = "%s.%s" % (stack[-1], value)
        elif name.startswith("LOAD_CONST"):
            stack.append(repr(value))
        elif name.startswith(("LOAD_FAST", "LOAD_NAME", "LOAD_GLOBAL", "LOAD_DEREF")):
            stack.extend(str(v) for v in (value if type(value) is tuple else (value,)))
        elif not name.startswith("CALL") or stack:  # what wraps the loader may be what is stored
            return ""
    return ""


_SOURCE_MAX = 4 << 20  # bytes of a file that is hashed


def _source(frame):
    """What finds the call again in the file: "line end_line column end_column sha256"; columns are bytes, 0 0 before Python 3.11; "" where it is in no file."""
    try:
        with open(frame.f_code.co_filename, "rb") as f:
            text = f.read(_SOURCE_MAX + 1)
    except (OSError, ValueError):
        return ""
    hashlib, line, end, column, end_column = sys.modules.get("hashlib"), frame.f_lineno, frame.f_lineno, 0, 0
    if hashlib is None or len(text) > _SOURCE_MAX:
        return ""
    if hasattr(frame.f_code, "co_positions"):
        at = next(itertools.islice(frame.f_code.co_positions(), frame.f_lasti // 2, None), ())
        if at and None not in at:
            line, end, column, end_column = at
    return "%d %d %d %d %s" % (line, end, column, end_column, hashlib.sha256(text).hexdigest())


_places = {}  # by the loaders' ids: (weak reference to the loader, (file:line, variable, source))


def place_of(loader):
    """(file:line, variable, where in the file), "" for what is not known."""
    of, place = _places.get(id(loader), (None, None))
    return place if of is not None and of() is loader else ("", "", "")


def _place_of_data(data):
    for of, place in list(_places.values()):
        maker = of()
        if maker is not None and attributes(maker).get("dataset") is data:
            return place
    return None


def loader_made(loader):
    """Called while it is made, and when it is iterated: its place is that of the first frame which is the job's. A library that makes a loader of a loader
    (to spread it over ranks) has it at the place of that one."""
    import weakref

    frame, through, outside = sys._getframe(1), False, None
    while frame is not None and _is_ours(frame):
        frame = frame.f_back
    if frame is None or frame.f_code.co_name != "__init__":
        return
    for _ in range(_FRAMES_MAX):
        if frame is None or not (_is_torchs(frame) or _is_a_librarys(frame) or _makes_itself(frame, loader)):
            break
        if not _is_torchs(frame):
            through |= _is_a_librarys(frame)
            outside = outside or frame
        frame = frame.f_back
    frame = frame or outside
    place = _place_of_data(attributes(loader).get("dataset")) if through else None
    if place is None and frame is not None:
        place = "%s:%d" % (_shown(frame.f_code.co_filename), frame.f_lineno), _variable(frame), _source(frame)
    for key, (of, _) in list(_places.items()):  # no callback, which might run anywhere in the job
        if of() is None:
            _places.pop(key, None)
    if place is not None:
        _places[id(loader)] = weakref.ref(loader), place


# ---- what a sample is made of ----

_LISTS = (
    "samples imgs image_files image_paths img_paths img_files image_list files file_list file_names filenames filepaths file_paths "
    "paths path_list images urls url_list audio_files videos video_paths items entries records data members shards rows annotations"
).split()
_IDS = ("keys", "names", "ids", "uids")  # short words are names there as well
_KEYS = ("path", "file_path", "filepath", "file_name", "filename", "file", "image_path", "img_path", "image", "img", "audio", "video", "url", "__key__")


def module_of(kind):
    """Of a class: what stands for a function, as ours does, has another object under this name."""
    module = kind.__module__
    return module if type(module) is str else ""


def _is_path(text):
    """It has a directory or an ending; a sentence of a text is none."""
    if not 0 < len(text) <= _TEXT_MAX or "\n" in text or "  " in text:
        return False
    ending = os.path.splitext(text)[1][1:]
    return "/" in text or (len(ending) <= 5 and ending.isalnum() and not ending.isdigit())


def _name_in(value, short=False):
    """A path among what is known of a sample."""
    kind = type(value)
    if kind is str:
        return value if _is_path(value) or (short and 0 < len(value) <= 64 and " " not in value) else ""
    if kind.__module__ == "numpy" and kind.__name__ == "str_":
        return _name_in(str.__str__(value), short)
    if module_of(kind).partition(".")[0] == "pathlib" and kind.__name__ in ("PosixPath", "PurePosixPath"):
        return str(value)
    if module_of(kind) in ("tarfile", "zipfile") and kind.__name__ in ("TarInfo", "ZipInfo"):
        return object.__getattribute__(value, "name" if kind.__name__ == "TarInfo" else "filename")
    if kind in (list, tuple):
        return next((name for name in map(_name_in, value[:4]) if name), "")
    if kind is dict:
        if type(value.get("__url__")) is str and type(value.get("__key__")) is str:  # a member of a tar file
            return "%s/%s" % (value["__url__"], value["__key__"])
        return next((name for name in (_name_in(value[key]) for key in _KEYS if key in value) if name), "")
    return ""


def _at(rows, n):
    kind = type(rows)
    array = kind.__module__ == "numpy" and kind.__name__ == "ndarray" and rows.ndim == 1 and rows.dtype.kind in "OUS"
    return rows[n] if (kind in (list, tuple, range) or array) and 0 <= n < len(rows) else None


def _inside(data, n, held):
    """(data set, number) of what a data set of torch's has inside, or one that has nothing but another one; None: it has none."""
    module = sys.modules.get("torch.utils.data.dataset")
    kind = type(data)
    if kind is getattr(module, "Subset", None):
        at = _at(held.get("indices"), n)
        return (held.get("dataset"), at) if type(at) is int else None
    if kind is getattr(module, "ConcatDataset", None):
        begin = 0
        for inner, end in zip(held.get("datasets", ()), held.get("cumulative_sizes", ())):
            if n < end:
                return inner, n - begin
            begin = end
        return None
    base = getattr(module, "Dataset", ())
    sets = [value for value in held.values() if issubclass(type(value), base)]
    others = [value for value in held.values() if type(value) in (list, tuple, dict, range) or type(value).__module__ in ("numpy", "torch")]
    return (sets[0], n) if len(sets) == 1 and not others else None


_ROOTS = ("root", "root_dir", "data_dir", "data_root", "img_dir", "image_dir", "directory", "folder", "path", "data_path", "file", "filename", "file_path")


def data_of(data):
    """A file or directory that it reads, absolute; "": it shows none, or is elsewhere than in files."""
    for _ in range(4):
        held = attributes(data)
        found = next((name for name in (_name_in(held.get(root)) for root in _ROOTS) if name), "") or sample_name(data, 0, None)
        if found:
            return "" if "://" in found or "/" not in found else os.path.abspath(found)
        inner = _inside(data, 0, held)
        if inner is None:
            break
        data = inner[0]
    return ""


def sample_name(data, key, made):
    """Of the sample `key` of a data set, which came out as `made`; "": it shows none."""
    if type(key) is str:
        return key
    n = key if type(key) is int else -1
    for _ in range(4):
        held = attributes(data)
        for name in _LISTS:
            found = _name_in(_at(held.get(name), n))
            if found:
                return found
        for name, rows in list(held.items())[:64]:
            found = _name_in(_at(rows, n), name in _IDS)
            if found:
                return found
        inner = _inside(data, n, held)
        if inner is None:
            break
        data, n = inner
    return _name_in(made)
