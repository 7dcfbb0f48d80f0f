#!/bin/sh
# Decode and transform compared with PIL and torchvision on the same files and the same crops (TAP). $BUILD: where the helpers were built.
cd "$(dirname "$0")/../.." || exit 2
build=${BUILD:-build/release}
python=${PYTHON:-/usr/bin/python3}

skip_all() {
    echo "1..1"
    echo "ok 1 - decode and transform against PIL and torchvision # SKIP $1"
    exit 0
}

imports "$python" 'PIL, numpy' || skip_all "python3-pil is not installed"
imports "$python" torchvision || skip_all "python3-torchvision is not installed"
if [ ! -x "$build/tests/tools/transform_dump" ]; then
    echo "1..1"
    echo "not ok 1 - $build/tests/tools/transform_dump is there (make helpers builds it)"
    exit 1
fi
webp=$("$build/pipeprobe" doctor --only 'WebP decoding' | grep -q 'with libwebp' && echo webp)
[ -n "$webp" ] || echo "# without WebP: the build has no libwebp"
# shellcheck disable=SC2086
exec "$python" tests/e2e/transforms_equal_pil.py "$build/tests/tools/transform_dump" $webp
