#!/bin/bash
# live_changes_keep_every_batch.sh under the newest PyTorch of PyPI (tests/newest_torch.sh).
for python in build/venvs/newest/bin/python build/venvs/torch/bin/python; do
    [ -e "${python%/bin/python}/complete" ] && break
done
CASES=${CASES:-map persistent-break persistent-stream unordered} PYTHON=$PWD/$python bash "$(dirname "$0")/live_changes_keep_every_batch.sh"
