#!/bin/bash
# tests/bench/formats.sh: samples per second of CPU time of every format beside its own package, in turns, with a control. ROUNDS (default 5) and IMAGES
# (default 2000). The packages come from PyPI, kept in build/venvs/columns and build/venvs/formats, as for the tests that compare their bytes.
set -u
cd "$(dirname "$0")/../.." || exit 1
B=${B:-build/release} ROUNDS=${ROUNDS:-5} IMAGES=${IMAGES:-2000}
python=${PYTHON:-/usr/bin/python3} venvs=${VENVS:-$PWD/build/venvs}
T=$(mktemp -d) || exit 1
trap 'rm -rf "$T"' EXIT
for name in columns formats; do
    [ -e "$venvs/$name/complete" ] || echo "# $venvs/$name is not there: bash tests/e2e/${name}_equal_their_packages.sh makes it"
done
"$B/samples/make_dataset" "$T/images" --n "$IMAGES" --size 320x240 --classes 10 >/dev/null || exit 1
mkdir "$T/data"
export XDG_CACHE_HOME=$T/cache HF_HOME=$T/hf HF_HUB_OFFLINE=1
of() { # VENV FORMAT...: their packages want NumPy in different versions
    PYTHONPATH=$venvs/$1 "$python" tests/bench/formats.py "$B/tests/tools/dataset_rate" "$T/images" "$T/data" "$ROUNDS" "${@:2}"
}
of columns Parquet Arrow HDF5 tokens
of formats MDS TFRecord WebDataset
