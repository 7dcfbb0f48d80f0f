#!/bin/bash
# live_changes_keep_every_batch.sh under the newest PyTorch of PyPI (tests/newest_torch.sh). Plan 3 leaves one of six workers with one batch each: torch
# shares these among all six, and an unordered epoch ended after 196 of 240 samples.
for python in build/venvs/newest/bin/python build/venvs/torch/bin/python; do
    [ -e "${python%/bin/python}/complete" ] && break
done
SEED=${SEED:-3} CASES=${CASES:-map persistent-break persistent-stream unordered} PYTHON=$PWD/$python bash "$(dirname "$0")/live_changes_keep_every_batch.sh"
