#!/bin/bash
# Samples, bytes, labels and order of files of columns (Parquet, Arrow, HDF5) as the formats' own packages read them: pyarrow, datasets, h5py. The packages come from PyPI, kept in
# build/venvs/columns; without them each is skipped by name.
. "$(dirname "$0")/../lib.sh"
need_pipeprobe
need_built helpers "$BUILD/tests/tools/dataset_dump"
python=${PYTHON:-/usr/bin/python3}
[ -x "$python" ] || skip_all "python3 is not installed"

dir=${VENVS:-$PWD/build/venvs}/columns
PACKAGES='pyarrow==26.0.1 numpy datasets h5py'
# shellcheck disable=SC2086
if [ ! -e "$dir/complete" ] && ! { timeout 180 python3 -m pip --python "$python" install -q --retries 0 --target "$dir" $PACKAGES && touch "$dir/complete"; } >"$T/pip" 2>&1; then
    rm -rf "$dir"
    echo "# pip: $(tail -n 1 "$T/pip" | cut -c1-150)"
fi
mkdir "$T/data"
export HF_HOME=$T/hf HF_HUB_OFFLINE=1 # nothing is kept, nothing is asked
export no_proxy=127.0.0.1,localhost
"$MAKE_DATASET" "$T/images" --n 60 --size 64x48 --classes 3 >/dev/null
PYTHONPATH=$dir "$python" tests/e2e/columns_equal_their_packages.py "$BUILD/tests/tools/dataset_dump" "$T/data" "$PP" "$T/images"
