"""What own_loops.py asks of joblib, in joblib's form: results that are there when all tasks are done come from another generator than those before."""
from .parallel import Parallel


def delayed(function):
    return lambda *args: (function, args)
