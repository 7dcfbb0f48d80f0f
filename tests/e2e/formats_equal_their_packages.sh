#!/bin/bash
# Samples, bytes, labels and order of MDS, TFRecord, compressed WebDataset and Megatron-LM data as the formats' own packages read them. The packages come
# from PyPI, kept in build/venvs/formats; without them each is skipped by name.
. "$(dirname "$0")/../lib.sh"
need_pipeprobe
need_built helpers "$BUILD/tests/tools/dataset_dump"
python=${PYTHON:-/usr/bin/python3}
imports "$python" 'numpy, torch' || skip_all "python3-numpy and python3-torch are not installed"

dir=${VENVS:-$PWD/build/venvs}/formats
PACKAGES='mosaicml-streaming==0.13.0 webdataset==0.2.111 braceexpand==0.1.7 tfrecord==1.14.6 crc32c==2.9.post0 protobuf==7.36.2 zstd==1.5.7.2
    python-snappy==0.7.3 cramjam zstandard==0.25.0 xxhash==4.1.0 Brotli==1.2.1 catalogue==2.0.10 filelock'
# shellcheck disable=SC2086
if [ ! -e "$dir/complete" ] && ! { timeout 120 python3 -m pip --python "$python" install -q --retries 0 --no-deps --target "$dir" $PACKAGES && touch "$dir/complete"; } >"$T/pip" 2>&1; then
    rm -rf "$dir"
    echo "# pip: $(tail -n 1 "$T/pip" | cut -c1-150)"
fi
mkdir "$T/data" "$T/packed"
export no_proxy=127.0.0.1,localhost
"$MAKE_DATASET" "$T/images" --n 40 --size 64x48 --classes 3 >/dev/null
for format in tar mds; do "$PP" pack "$T/images" -o "$T/packed/$format" --format $format --shard-size 20k >/dev/null; done
PYTHONPATH=$dir "$python" tests/e2e/formats_equal_their_packages.py "$BUILD/tests/tools/dataset_dump" "$T/data" "$T/packed"
