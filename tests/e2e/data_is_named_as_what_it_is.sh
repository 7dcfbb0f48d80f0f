#!/bin/bash
# quick
# Data that pipeprobe cannot read is named as what it is, with what to do; images it cannot decode are said before the run.
. "$(dirname "$0")/../lib.sh"
need_pipeprobe
short=(--steps 3 --batch-size 4 --workers 1 --force -o "$T/out.sqlite")

mkdir -p "$T/lmdb" "$T/parquet" "$T/hub/data" "$T/gz" "$T/bmp/a"
printf '................\336\300\357\276' >"$T/lmdb/data.mdb" && echo '{}' >"$T/lmdb/dataset_info.json"
printf 'PAR1.............' | tee "$T/parquet/train-0.parquet" >"$T/hub/data/train-0.parquet"
printf '\037\213\010' >"$T/gz/shard-000000.tar.gz"
printf 'BM..........' | tee "$T/bmp/a/1.bmp" "$T/bmp/a/2.bmp" >/dev/null
refuses "a directory of LMDB" 4 "lmdb holds LMDB files .*data.mdb.*pipeprobe exec -- python" "$PP" run "$T/lmdb" "${short[@]}"
check "and is not asked for images" bash -c "! grep -q 'no image' '$ERR'"
refuses "one LMDB file" 4 "data.mdb is a LMDB file.*pipeprobe exec" "$PP" run "$T/lmdb/data.mdb" "${short[@]}"
refuses "a Parquet file that is cut" 4 "train-0.parquet is truncated, or no Parquet file: it does not end in PAR1" "$PP" run "$T/parquet/train-0.parquet" "${short[@]}"
refuses "a directory of such" 4 "train-0.parquet is truncated" "$PP" run "$T/parquet" "${short[@]}"
printf '\377\377\377\377\20\0\0\0' >"$T/data-00000.arrow"
refuses "an Arrow stream that is cut" 4 "data-00000.arrow is truncated: it ends at byte 8" "$PP" run "$T/data-00000.arrow" "${short[@]}"
refuses "Parquet below the directory" 4 "no sample in its Parquet files .such as data/train-0.parquet.: name the files, or the directory" "$PP" run "$T/hub" "${short[@]}"
refuses "a directory of .tar.gz" 4 "compressed \(gzip\).*--stream.*unpack" "$PP" run "$T/gz" "${short[@]}"
refuses "nothing but BMP" 4 "2 of 2 files are BMP, which pipeprobe cannot decode.*pipeprobe exec" "$PP" run "$T/bmp" "${short[@]}"
check "and nothing was begun" test ! -e "$T/out.sqlite"

# Formats that are read: what is wrong with a file of theirs is one sentence.
mkdir "$T/mds" "$T/tf" "$T/mds1" "$T/mds2"
echo '{"version": 2, "shards": [{"format": "mds"' >"$T/mds/index.json"
refuses "an MDS index that is cut" 4 "index.json is not JSON: line 2" "$PP" run "$T/mds" "${short[@]}"
echo '{"version": 2, "shards": [{"format": "mds", "column_names": ["text"], "column_encodings": ["str"], "column_sizes": [null], "raw_data": {"basename": "s.mds", "bytes": 99}, "samples": 1}]}' >"$T/mds1/index.json"
refuses "MDS without an image" 4 "its columns are text .str.*pipeprobe exec" "$PP" run "$T/mds1" "${short[@]}"
echo '{"version": 2, "shards": [{"format": "mds", "column_names": ["i"], "column_encodings": ["png"], "column_sizes": [null], "raw_data": {"basename": "s.mds", "bytes": 99}, "samples": 1}]}' >"$T/mds2/index.json"
refuses "an MDS shard that is missing" 2 "s.mds is missing .number 1 of the 1" "$PP" run "$T/mds2" "${short[@]}"
head -c 5000 /dev/zero >"$T/tf/train.tfrecord"
refuses "a TFRecord that is none" 4 "no sample in .*is not a TFRecord file" "$PP" run "$T/tf/train.tfrecord" "${short[@]}"
head -c 5000 /dev/zero >"$T/text_document.bin" && printf 'MMIDIDX\0\0\1' >"$T/text_document.idx"
refuses "a Megatron index that is cut" 4 "text_document.idx is truncated at byte 10" "$PP" run "$T/text_document" "${short[@]}"
check "and nothing was begun" test ! -e "$T/out.sqlite"
printf 'MMIDIDX\0\0\1\0\0\0\0\0\0\0\4\1\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0\342\4\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0' >"$T/text_document.idx"
run timeout 60 "$PP" run "$T/text_document" --window 100 "${short[@]}"
check "a pair of Megatron's is read by its common name" test "$rc" -eq 0 -o "$rc" -eq 3
like "with the tokens of its index" "$(cat "$ERR")" "1,250 tokens of 4 bytes in 12 windows of 100, Megatron index of 1 sequence "
refuses "another size of tokens" 2 "token-bytes 2: .*says that its tokens have 4 bytes" "$PP" run "$T/text_document" --token-bytes 2 "${short[@]}"
rm -f "$T/out.sqlite"

"$MAKE_DATASET" "$T/half" --n 20 --size 64x64 --classes 2 >/dev/null
for i in $(seq 20); do cp "$T/bmp/a/1.bmp" "$T/half/class_000/w$i.bmp"; done
run timeout 60 "$PP" run "$T/half" "${short[@]}"
like "half BMP is said before the run" "$(sed -n '1,/^recording/p' "$ERR")" "warning +20 of 40 files are BMP"
like "in the report" "$(tr -s '\n ' ' ' <"$OUT")" "20 of 40 files are BMP, which pipeprobe cannot decode"
like "in its first sentence, by what it cost" "$(tr -s '\n ' ' ' <"$OUT")" "INCONCLUSIVE.* [0-9.]+ % of the samples could not be used"
is "and in the file" "$(sql "$T/out.sqlite" "SELECT count(*) FROM error WHERE kind = 'warning' AND reason LIKE '20 of 40 files are BMP%'")" 1
run "$PP" plan "$T/half" --limit 1
is "plan needs no decoder, and keeps torchvision's indexes" "$(cat "$ERR")" ""

mkdir "$T/my images" && cp -r "$T/half/class_001" "$T/my images/"
run timeout 60 "$PP" run "file://$T/my%20images" "${short[@]}"
check "a file:// URL is the path" test "$rc" -eq 0 -o "$rc" -eq 3
refuses "one of another machine" 2 "another machine" "$PP" run file://host/images "${short[@]}"
for words in "run ~/nowhere" "report ~/nowhere.sqlite" "compare ~/a.sqlite ~/b.sqlite"; do
    # shellcheck disable=SC2086
    refuses "a ~ that no shell replaced: $words" 2 'does not replace ~ .*\$HOME' "$PP" $words
done
done_testing
