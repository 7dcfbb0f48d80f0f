#!/bin/bash
# What users put in front of a DataLoader and behind it: samplers, streams, checkpoints, pinned memory, files of all kinds, ranks. The jobs give the same output,
# and the recording counts the samples they got. `make test-frameworks` runs them under more versions of PyTorch, and the frameworks built on it.
ONLY='^(debian|2.6|2.2|dali) ' bash "$(dirname "$0")/../frameworks.sh" --slice
