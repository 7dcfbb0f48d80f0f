#!/bin/bash
# Everything a user can get wrong ends with one clear sentence naming the thing, the documented exit code, and nothing lost.
. "$(dirname "$0")/../lib.sh"
need_pipeprobe
chmod 755 "$T"

"$MAKE_DATASET" "$T/images" --n 32 --size 120x90 --classes 2 >/dev/null
"$MAKE_DATASET" "$T/shards" --n 32 --size 120x90 --tar 4 >/dev/null
short="--steps 2 --batch-size 4 --workers 1"

# -- paths
refuses "no such path" 2 "$T/nowhere.*(no such|does not exist|not found)" "$PP" run "$T/nowhere" --force -o "$T/out.sqlite"
mkdir "$T/empty" && refuses "empty directory" 4 "$T/empty.*empty|empty.*$T/empty" "$PP" run "$T/empty" --force -o "$T/out.sqlite"
mkdir -p "$T/texts/a" && echo hello >"$T/texts/a/notes.txt"
refuses "directory without images" 4 "$T/texts.*image|image.*$T/texts" "$PP" run "$T/texts" --force -o "$T/out.sqlite"
check "no file is left for a run that never began" test ! -e "$T/out.sqlite"
refuses "no data set given" 2 "dataset" "$PP" run
refuses "two data sets given" 2 "." "$PP" run "$T/images" "$T/shards"

# -- no permission: as another user when we are root, who may read everything
cp "$PP" "$T/pipeprobe" && cp -r "$T/images" "$T/locked" && chmod 000 "$T/locked"
as_user=()
[ "$(id -u)" -ne 0 ] || as_user=(setpriv --reuid 65534 --regid 65534 --clear-groups)
mkdir "$T/open" && chmod 777 "$T/open"
if "${as_user[@]}" test -x "$T/pipeprobe" 2>/dev/null; then
    refuses "unreadable directory" 4 "$T/locked.*(permission|denied)" "${as_user[@]}" "$T/pipeprobe" run "$T/locked" --force -o "$T/open/out.sqlite"
    cp -r "$T/images" "$T/partly" && chmod 000 "$T/partly/class_000/img_000000.jpg"
    run timeout 60 "${as_user[@]}" "$T/pipeprobe" run "$T/partly" --epochs 1 --batch-size 8 --workers 1 --force -o "$T/open/out.sqlite"
    check "an unreadable file does not stop the run" test "$rc" -eq 0 -o "$rc" -eq 3
    like "and is named" "$(cat "$OUT" "$ERR")" "img_000000.jpg|permission|access"
    "$MAKE_DATASET" --tokens "$T/locked.bin" --n 10000 && chmod 000 "$T/locked.bin"
    refuses "unreadable token file" 4 "locked.bin.*(permission|denied)" "${as_user[@]}" "$T/pipeprobe" run "$T/locked.bin" --force -o "$T/open/out.sqlite"
    refuses "output where nothing may be written" 4 "/.*(permission|denied)" "${as_user[@]}" "$T/pipeprobe" run "$T/images" --steps 2 -o "$T/images/out.sqlite"
else
    skip "unreadable files" "cannot become another user here"
fi
chmod 755 "$T/locked"

# -- what is written at the end is looked at before the beginning
for option in save-state list-delivered; do
    refuses "--$option where nothing can be" 2 "--$option: $T/nowhere/x" "$PP" run "$T/images" --$option "$T/nowhere/x" --force -o "$T/out.sqlite"
    refuses "--$option into a directory" 2 "--$option: $T/images is a directory" "$PP" run "$T/images" --$option "$T/images" --force -o "$T/out.sqlite"
done
refuses "--duration 0" 2 "duration 0" "$PP" run "$T/images" --duration 0 --force -o "$T/out.sqlite"
refuses "a file-size limit below a ring" 4 "file-size limit" bash -c 'ulimit -f 100; exec "$0" "$@"' "$PP" run "$T/images" --force -o "$T/out.sqlite"
check "and nothing of it is left" test ! -e "$T/out.sqlite" -a ! -e "$T/out.sqlite.rings"

# -- shards
head -c 20000 "$T/shards/shard-000003.tar" >"$T/cut.tar"
run timeout 60 "$PP" run "$T/cut.tar" $short --force -o "$T/out.sqlite"
check "a tar that is truncated runs on what is there" test "$rc" -eq 0 -o "$rc" -eq 3
like "and says so" "$(cat "$OUT" "$ERR")" "cut\.tar.*(ends|truncated|middle)"
like "and the file does" "$(sql "$T/out.sqlite" "SELECT action, reason FROM error WHERE kind = 'warning'")" "noted.*cut\.tar is truncated"
rm "$T/shards/shard-000001.tar"
refuses "a missing shard of a range" 2 "shard-000001\.tar" "$PP" run "$T/shards/shard-{000000..000003}.tar" --force -o "$T/out.sqlite"
refuses "more ranks than shards" 2 "rank 4 gets none" "$PP" run "$T/shards" --stream --rank 4 --world-size 5 --force -o "$T/never.sqlite"
refuses "a shuffle buffer beyond the largest" 2 "shuffle buffer" "$PP" run "$T/shards" --stream --shuffle-buffer 5000000 --force -o "$T/never.sqlite"
check "and nothing was begun" test ! -e "$T/never.sqlite"
head -c 5000 /dev/urandom >"$T/noise.tar"
refuses "a tar that is none" 4 "noise\.tar" "$PP" run "$T/noise.tar" --force -o "$T/out.sqlite"
: >"$T/nothing.tar"
refuses "an empty tar" 4 "nothing\.tar" "$PP" run "$T/nothing.tar" --force -o "$T/out.sqlite"

# -- token files
: >"$T/zero.npy"
refuses "a 0-byte .npy" 4 "zero\.npy" "$PP" run "$T/zero.npy" --force -o "$T/out.sqlite"
printf "\x93NUMPY\x01\x00\x76\x00%-117s\n" "{'descr': '<u2', 'fortran_order': False, 'shape': (5000000000,), }" >"$T/liar.npy"
refuses "a .npy that claims 10 GB" 4 "liar\.npy" "$PP" run "$T/liar.npy" --force -o "$T/out.sqlite"
printf "\x93NUMPY\x01\x00\x76\x00%-117s\n" "{'descr': '<f8', 'fortran_order': False, 'shape': (10,), }" >"$T/floats.npy"
head -c 80 /dev/zero >>"$T/floats.npy"
refuses "a .npy of floats" 4 "floats\.npy" "$PP" run "$T/floats.npy" --force -o "$T/out.sqlite"
: >"$T/zero.bin"
refuses "a 0-byte .bin" 4 "zero\.bin" "$PP" run "$T/zero.bin" --force -o "$T/out.sqlite"

# -- numbers and names
for n in 0 -1 100000 many; do
    refuses "--workers $n" 2 "workers.*$n|$n.*workers" "$PP" run "$T/images" --workers=$n --force -o "$T/out.sqlite"
done
refuses "a fault's time without a unit" 2 "20 needs a unit: 20ms" "$PP" run "$T/images" --inject read-latency=20 --force -o "$T/out.sqlite"
refuses "--batch-size 0" 2 "batch-size" "$PP" run "$T/images" --batch-size 0 --force -o "$T/out.sqlite"
refuses "a rank outside the world" 2 "rank" "$PP" run "$T/images" --rank 3 --world-size 2 --force -o "$T/out.sqlite"
refuses "a typo gets the nearest option" 2 "--workers" "$PP" run "$T/images" --worker 2 --force -o "$T/out.sqlite"
refuses "a value where its option belongs" 2 "unknown option --html; did you mean --format html" "$PP" report --html
refuses "an unknown transform" 2 "blur" "$PP" run "$T/images" --transform blur:3 --force -o "$T/out.sqlite"
refuses "an unknown synthetic key" 2 "colour" "$PP" run --synthetic colour=3 --force -o "$T/out.sqlite"
refuses "one dash for two" 2 "unknown option -batch-size; did you mean --batch-size" "$PP" run "$T/images" -batch-size 4 --force -o "$T/out.sqlite"
refuses "a wrong value under PyTorch's name" 2 "--prefetch: 'x' is not a whole number" "$PP" run "$T/images" --prefetch-factor x --force -o "$T/out.sqlite"
refuses "and under its other name" 2 "--workers: 'x' is not a whole number" "$PP" run "$T/images" --num-workers x --force -o "$T/out.sqlite"
refuses "a transform without its size" 2 "rrc is written rrc:224" "$PP" run "$T/images" --transform rrc --force -o "$T/out.sqlite"
head -c 4000 /dev/zero >"$T/fine.bin"
while IFS='|' read -r words regex; do
    # shellcheck disable=SC2086
    refuses "nothing to act on: $words" 2 "$regex" "$PP" run "$T/images" $words --force -o "$T/never.sqlite"
done <<'ROWS'
--shuffle-buffer 10|--shuffle-buffer goes with --stream
--no-shuffle-shards|--shuffle-shards goes with --stream
--prove-rounds 3|--prove-rounds goes with --prove
--keep-proof|--keep-proof goes with --prove
--window 16|--window is for token files, and .*images is of kind image-folder
--token-bytes 4|--token-bytes is for token files
--index-dir /tmp|--index-dir is for tar shards
ROWS
for words in "--dtype f16" --exif-rotate "--transform rrc:8"; do
    # shellcheck disable=SC2086
    refuses "nothing to act on in tokens: $words" 2 "${words%% *} is for images, and .*fine\.bin is of kind tokens" "$PP" run "$T/fine.bin" $words --window 16 --force -o "$T/never.sqlite"
done
run env PIPEPROBE_WINDOW=16 PIPEPROBE_SHUFFLE_BUFFER=9 timeout 60 "$PP" run "$T/images" $short --quiet --force -o "$T/out.sqlite"
check "settings that are not typed may be for other runs" test "$rc" -eq 0 -o "$rc" -eq 3
refuses "an unknown command" 2 "report" "$PP" reprot
run timeout 60 "$PP" run "$T/images" --batch-size 1000 --steps 2 --workers 1 --force -o "$T/out.sqlite"
check "a batch larger than the data set: exit code" test "$rc" -eq 0 -o "$rc" -eq 2 -o "$rc" -eq 3
like "a batch larger than the data set is said, with both numbers" "$(cat "$OUT" "$ERR")" "1,?000.*32|32.*1,?000"
refuses "a batch larger than the data set with --drop-last" 2 "batch" "$PP" run "$T/images" --batch-size 1000 --drop-last --steps 2 --force -o "$T/out.sqlite"

# -- the output
echo precious >"$T/mine.sqlite"
refuses "output exists" 2 "mine\.sqlite.*--force" "$PP" run "$T/images" $short -o "$T/mine.sqlite"
is "and is untouched" "$(cat "$T/mine.sqlite")" precious
run timeout 60 "$PP" run "$T/images" $short -o "$T/mine.sqlite" --force
is "--force replaces it" "$(sql "$T/mine.sqlite" 'PRAGMA integrity_check')" ok
refuses "output to standard output" 2 "cannot be written to standard output" "$PP" run "$T/images" $short -o -
refuses "output in a directory that is none" 2 "absent" "$PP" run "$T/images" $short -o "$T/absent/out.sqlite"
refuses "output that is a directory" 2 "$T/images" "$PP" run "$T/images" $short -o "$T/images" --force
check "and the directory is still there" test -d "$T/images/class_000"
refuses "a report on nothing" 2 "absent\.sqlite" "$PP" report "$T/absent.sqlite"
refuses "a report on no database" 4 "cut\.tar" "$PP" report "$T/cut.tar"
head -c 60000 "$T/mine.sqlite" >"$T/half.sqlite"
for command in report whatif top answer; do
    refuses "$command of half a recording" 4 "half.sqlite is truncated: it has 60000 of [0-9]* bytes; copy it again, or record again" "$PP" $command "$T/half.sqlite"
done
refuses "a script that may not be executed" 126 "half.sqlite cannot be executed: .*; a script has its interpreter in front: bash" "$PP" exec "$T/half.sqlite"
sqlite3 "$T/foreign.sqlite" 'CREATE TABLE t(x)'
refuses "a report on another program's database" 4 "foreign\.sqlite" "$PP" report "$T/foreign.sqlite"

# -- many at once, without a name: each finds one of its own
mkdir "$T/many"
(cd "$T/many" && for _ in 1 2 3 4; do timeout 60 "$PP" run "$T/images" $short --quiet >/dev/null & done; wait)
is "runs of the same second write files of their own" "$(ls "$T/many" | wc -l)" 4
(cd "$T/many" && for _ in 1 2 3 4 5 6; do timeout 60 "$PP" exec --quiet -- true & done; wait)
is "and programs that record nothing leave none" "$(ls "$T/many" | wc -l)" 4

# -- settings: a typo is said, wherever it stands
mkdir -p "$XDG_CONFIG_HOME/pipeprobe"
setting() { # NAME REGEX, the file on stdin
    cat >"$XDG_CONFIG_HOME/pipeprobe/config"
    refuses "$1" 2 "$2" "$PP" plan --n 3
}
setting "a heading that is no command" "config:1: \[paln\].*did you mean \[plan\]" <<<$'[paln]\nn = 3'
setting "a setting that is none" "config:2: seeed: .*did you mean seed" <<<$'[plan]\nseeed = 3'
setting "a setting without sense" "config:2: seed: 'three'" <<<$'[plan]\nseed = three'
printf '\357\273\277[plan]\r\nseed = 1\r\n' >"$XDG_CONFIG_HOME/pipeprobe/config"
run "$PP" plan --n 3
is "a byte-order mark and line ends of another system are no setting" "$rc" 0
rm "$XDG_CONFIG_HOME/pipeprobe/config"
run env PIPEPROBE_SEEED=1 "$PP" plan --n 3
is "a variable that nothing reads ends no run" "$rc" 0
is "but is said" "$(cat "$ERR")" "pipeprobe: PIPEPROBE_SEEED is set, but no option has this name; did you mean PIPEPROBE_SEED?"

# -- help
for command in $("$PP" help | sed -n '/^Record:/,/^Guides/s/^  \([a-z-]*\) .*/\1/p'); do
    run "$PP" help "$command"
    is "help $command: exit code, and lines beyond 80 columns" "$rc $(awk 'length > 80' "$OUT")" "0 "
done

# -- a damaged chunk of HDF5: the library's own words are not the user's
if "$PP" doctor | grep -q "libhdf5 [0-9]"; then
    gzip -dc tests/recordings/hdf5/chunks.h5.gz >"$T/chunks.h5"
    for at in $(grep -obUaP '\x78\x5e' "$T/chunks.h5" | cut -d: -f1); do printf '\377' | dd of="$T/chunks.h5" bs=1 seek=$((at + 4)) conv=notrunc status=none; done
    refuses "a damaged chunk of HDF5" 4 "cannot read row [0-9]+ of /images in .*chunks\.h5: it is truncated, damaged" "$PP" run "$T/chunks.h5" --feature images --step none --workers 1 --duration 1s --no-record
else
    skip "a damaged chunk of HDF5" "no libhdf5"
fi

# -- standard streams
for words in --help "run --help" doctor; do
    refuses "$words to a full disk" 4 "standard output" bash -c "'$PP' $words >/dev/full"
done
refuses "standard output is closed" 4 "printing the report failed" bash -c "'$PP' run '$T/images' $short --quiet --force -o '$T/out.sqlite' >&-"
is "and nothing was written over the recording" "$(sql "$T/out.sqlite" 'PRAGMA integrity_check')" ok
if [ ${#as_user[@]} -gt 0 ] && "${as_user[@]}" test -x "$T/pipeprobe" 2>/dev/null; then
    mkdir "$T/home" && chmod 700 "$T/home"
    run env HOME="$T/home" XDG_CONFIG_HOME= "${as_user[@]}" "$T/pipeprobe" plan --n 3
    is "the HOME of another user is not read" "$rc" 0
fi

# -- disk full: before the rings (1 MiB a thread), and while writing
mkdir "$T/small"
if [ "$(id -u)" -eq 0 ] && mount -t tmpfs -o size=3m tmpfs "$T/small" 2>/dev/null; then
    cleanup() { umount "$T/small" 2>/dev/null; rm -rf "$T"; }
    refuses "no room to begin with" 4 "needs [0-9.]+ MiB.*free in $T/small" "$PP" run "$T/images" --workers 1 -o "$T/small/run.sqlite"
    is "and nothing of it is left" "$(ls -A "$T/small")" ""
    mount -o remount,size=5300k "$T/small"
    run timeout 120 "$PP" run "$T/images" --duration 10 --workers 1 --batch-size 1 --transform rrc:16,hflip --quiet -o "$T/small/run.sqlite"
    is "disk full: exit code" "$rc" 4
    like "disk full: the message" "$(cat "$ERR")" "small/run\.sqlite.*(space|full)|(space|full).*small/run\.sqlite"
    check "disk full: no crash" bash -c "! grep -qiE 'sanitizer|segmentation|core dumped|abort' '$ERR'"
    mkdir "$T/rescued" && cp "$T"/small/run.sqlite* "$T/rescued/" 2>/dev/null
    is "disk full: what was committed is whole" "$(sql "$T/rescued/run.sqlite" 'PRAGMA integrity_check')" ok
    umount "$T/small"
else
    skip "disk full while writing" "needs root to mount a small tmpfs"
fi
done_testing
