"""Which object is which member of a job's transforms: a line "ADDRESS\\tPATH\\tCLASS\\tARGUMENTS" each in the file ops-PID of the session directory, for the
reader of stacks, who finds addresses in frames (collectors/stacks/members.h).

No code of the job's runs for it: what is looked at are the dictionaries of instances and the contents of plain lists, tuples and dictionaries. Of arguments
only numbers are noted, and strings of a few names that say how, not what."""

import os
import sys
import types
import weakref

_ATTRIBUTES = 64  # of an object that are looked through
_OBJECTS = 512
_ITEMS = 64  # of a list or dictionary
_DEPTH = 7
_BYTES = 200000
_WORDS = ("interpolation", "mode", "padding_mode", "border_mode", "layout")
_MEMBERS = ("_modules", "transforms", "transform", "target_transform", "augmentations", "pipeline", "ops", "dataset", "datasets", "datapipe", "_format_kwargs")
_known = []  # (weak reference to a data set, its lines): of a process that has several without workers


def _own(thing):
    try:
        return object.__getattribute__(thing, "__dict__")
    except Exception:
        return {}


def _class_name(kind):
    return type.__dict__["__qualname__"].__get__(kind)  # whatever its metaclass has


def _content(cell):
    try:
        return cell.cell_contents
    except ValueError:
        return None


def _value(v):
    if type(v) in (int, float, bool):
        return repr(v)[:24]
    if type(v) in (tuple, list) and 0 < len(v) <= 4 and all(type(x) in (int, float) for x in v):
        return repr(list(v))[:60]
    return ""


def _arguments(own):
    out = []
    for name, v in list(own.items())[:_ATTRIBUTES]:
        if type(name) is str and not name.startswith("_") and name != "training":
            text = v[:24] if name in _WORDS and type(v) is str else _value(v)
            if text:
                out.append("%s=%s" % (name, text))
    return ", ".join(out[:4])


def _inside(thing, own, path):
    """(object, path) of what it may call."""
    if type(thing) in (list, tuple):
        return [(member, "%s[%d]" % (path, k)) for k, member in enumerate(thing[:_ITEMS])]
    if type(thing) is dict:
        keys = [key for key in list(thing)[:_ITEMS] if type(key) in (str, int)]
        return [(thing[key], "%s[%s]" % (path, key if str(key).isdigit() else repr(key)[:40])) for key in keys]
    kind = getattr(sys.modules.get("functools"), "partial", None)
    if type(thing) is kind:
        return [(thing.func, path + ".func")]
    if type(thing) is types.MethodType:
        return [(thing.__self__, path + ".__self__")]
    if type(thing) is types.FunctionType:
        cells = zip(thing.__code__.co_freevars, thing.__closure__ or ())
        return [(_content(cell), "%s<%s>" % (path, name)) for name, cell in cells]
    found = []
    base = getattr(sys.modules.get("torch.utils.data.dataset"), "Dataset", ())
    for name, v in list(own.items())[:_ATTRIBUTES]:
        many = type(v) in (list, tuple) and any(callable(x) for x in v[:4]) or type(v) is dict and any(callable(x) for x in list(v.values())[:4])
        if type(name) is str and (callable(v) or many or name in _MEMBERS or issubclass(type(v), base)):
            found.append((v, path if name == "_modules" else "%s.%s" % (path, name)))
    return found


def members_of(roots):
    """{address: (path, class, arguments)} of what is called below these [(object, path)], which calls nothing itself."""
    found, queue, seen = {}, [(thing, path, 0) for thing, path in roots], set()
    while queue and len(seen) < _OBJECTS:
        thing, path, depth = queue.pop(0)
        if thing is None or id(thing) in seen or depth > _DEPTH or issubclass(type(thing), (type, types.ModuleType)):
            continue
        seen.add(id(thing))
        own = _own(thing)
        if type(thing) in (types.FunctionType, types.BuiltinFunctionType):
            found[id(thing)] = (path, thing.__qualname__, "")
        elif callable(thing) and type(thing) is not types.MethodType:
            found[id(thing)] = (path, _class_name(type(thing)), _arguments(own))
        queue += [(inner, where, depth + 1) for inner, where in _inside(thing, own, path)]
    return found


def _plain(text):
    return "".join(c if c.isprintable() and c != "\t" else "?" for c in text)[:250]


def note(session, dataset, collate):
    """Once for a data set, before its first batch. Where stacks are not read nothing is noted."""
    if not os.path.exists(os.path.join(session, "ops-on")):
        return
    global _known
    found = members_of([(dataset, "dataset"), (collate, "collate_fn")])
    lines = ["%x\t%s\n" % (at, "\t".join(_plain(str(text)) for text in texts)) for at, texts in found.items()]
    try:
        reference = weakref.ref(dataset)
    except TypeError:
        reference = lambda: None  # it goes with the next one
    others = [(known, text) for known, text in _known if known() is not None and known() is not dataset]
    text = "".join(lines + [line for known, lines in others for line in lines])
    _known = others[-7:] + [(reference, lines)]
    data = text[:_BYTES].encode("utf-8", "replace")[:_BYTES]
    path = os.path.join(session, "ops-%d" % os.getpid())
    fd = os.open(path + ".new", os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    try:
        os.write(fd, data)
    finally:
        os.close(fd)
    os.rename(path + ".new", path)
