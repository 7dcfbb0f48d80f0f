#!/bin/bash
# The jobs of frameworks_are_recorded.sh that want a newer PyTorch than Debian's, under the newest of PyPI (tests/newest_torch.sh).
ONLY='^newest ' bash "$(dirname "$0")/../frameworks.sh" --slice
