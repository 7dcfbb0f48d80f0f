#!/bin/bash
# What produced a recording is in the file: date, command, directory, commit, versions of Python and torch, where the data lies and on which file system;
# report --full and JSON say it, and what only pipeprobe needs is on no page for people.
. "$(dirname "$0")/../lib.sh"
need_pipeprobe
PYTHON=${PYTHON:-/usr/bin/python3} R=$T/run.sqlite
[ -e "$BUILD/python/attach/_pipeprobe.abi3.so" ] || skip_all "the extension is not built: no Python.h"
imports "$PYTHON" 'torch, torchvision' || skip_all "$PYTHON has no torch and torchvision"
"$MAKE_DATASET" "$T/images" --n 60 --classes 3 --size 160x120 >/dev/null
ln -s images "$T/link"

run timeout 120 "$PP" exec -q -o "$R" -- "$PYTHON" tests/jobs/images.py "$T/link"
is "the job's exit status" "$rc" 0
versions=$("$PYTHON" -c 'import platform, torch; print("Python %s, torch %s" % (platform.python_version(), torch.__version__))')
is "the versions are stored" "$(sql "$R" "SELECT value FROM meta WHERE key = 'made_of'")" "$versions"
is "where the data lies, behind links" "$(sql "$R" "SELECT value FROM meta WHERE key = 'data_path'")" "$(realpath "$T/images")"
is "its mount" "$(sql "$R" "SELECT value FROM meta WHERE key = 'data_mount'")" "$(findmnt -no TARGET -T "$T/images" 2>/dev/null || df --output=target "$T/images" | tail -1)"
run "$PP" report "$R" --format json
made=$(json "$OUT" '$.made')
like "JSON says all of it" "$made" "^20[0-9-]+ [0-9:]+ UTC by pipeprobe exec .* in $PWD.*; $versions; data in $(realpath "$T/images") on /.* \\([a-z0-9.]+\\)$"
run "$PP" report "$R" --full
is "so does the text" "$(sed -n '/^Made/,$p' "$OUT" | tr -s ' \n' ' ' | grep -cF "$versions; data in")" 1
run "$PP" report "$R" -o "$T/page.html"
for key in dataloader ring_spans map_rows other_tool compiler; do is "the page has no row $key" "$(grep -c "<th scope=\"row\">$key<" "$T/page.html")" 0; done

# A data set that shows no path, and one that is elsewhere, have no place; a recording without these rows says the rest.
for data in '[1] * 400' '["https://example.com/a/b.tar"] * 400'; do
    run "$PP" exec -q -f -o "$R" -- "$PYTHON" -c "
import torch.utils.data as d
for b in d.DataLoader($data, batch_size=8): pass"
    is "data $data: no place" "$rc $(sql "$R" "SELECT count(*) FROM meta WHERE key = 'data_path'")" "0 0"
done
is "the versions are there all the same" "$(sql "$R" "SELECT value FROM meta WHERE key = 'made_of'")" "$versions"
done_testing
