#!/bin/bash
# pipeprobe attach puts the hooks into a running Python 3.14 and takes them out again; where that cannot be it says why, and leaves the process alone.
# `make test-python314` has the jobs of PyTorch.
bash "$(dirname "$0")/../python314.sh" --slice
