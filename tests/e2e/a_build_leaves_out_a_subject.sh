#!/bin/bash
# make WITHOUT=SUBJECT: the program links without it, says in one sentence that it has none where somebody asks for it, and records and reports as ever.
. "$(dirname "$0")/../lib.sh"
need_pipeprobe
need_built all "$MAKE_DATASET"

# The objects are those of this build: each program costs one stub and two links.
SAN=$(sed -nE 's|^build/||; s/^(address|undefined|thread|address-undefined)$/\1/p' <<<"$BUILD" | tr - ,)
cp -al "$BUILD" "$T/build"
X=$T/build/pipeprobe
without() { # SUBJECTS
    rm -f "$X"
    run env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make SAN="$SAN" B="$T/build" WITHOUT="$1" "$X"
    is "WITHOUT=\"$1\": it builds" "$rc $(grep -vE '^  (CC     mk/without.c|AR|LINK)' "$OUT" | head -3)" "0 "
    local name
    for name in $1; do is "$name: its sources are not in it" "$(nm "$X" | grep -cE " ${own[$name]}$")" 0; done
}
refuses() { # SUBJECT WORDS COMMAND...: one sentence and an exit code of ours
    local subject=$1 words=$2
    shift 2
    run "$@"
    is "$subject: exit code and lines of standard error" "$((rc > 0 && rc < 128)) $(grep -c . "$ERR")" "1 1"
    like "$subject: it says so" "$(cat "$ERR")" "$words"
}
# A function of each, which stands in the whole program and not in one without it.
declare -A own=([cache]=pp_cache_ring_open [columns]=pp_parquet_open [gpu-decode]=pp_nvjpeg_load [leases]=pp_lease_dir_join [mds]=pp_mds_index_parse
    [samplers]=by_due [tokens]=pp_npy_parse)

"$MAKE_DATASET" "$T/images" --n 24 --size 48x32 --classes 3 >/dev/null
"$MAKE_DATASET" "$T/shards" --n 24 --size 48x32 --tar 3 >/dev/null
"$MAKE_DATASET" --tokens "$T/tokens.npy" --n 20000
"$PP" pack "$T/images" -o "$T/mds" --format mds --quiet >/dev/null
seq 4 >"$T/weights"
is "the whole program has them all" "$(nm "$PP" | grep -cE " [tT] ($(IFS='|'; echo "${own[*]}"))$")" 7

without cache
refuses cache "built without its cache: leave --cache away" "$X" run "$T/images" --cache "$T/kept" --quiet
without columns
is "columns: doctor says so" "$("$X" doctor --only HDF5 | grep -c 'not in this build')" 1
without gpu-decode
is "gpu-decode: doctor says so" "$("$X" doctor --only nvJPEG | grep -c 'built without GPU decode')" 1
without leases
refuses leases "built without leases: leave --lease away" "$X" run "$T/shards" --stream --lease "$T/leases" --quiet
without mds
refuses mds "$T/mds" "$X" run "$T/mds" --quiet
without samplers
refuses samplers "built without the sampler weighted" "$X" plan --n 4 --sampler weighted --weights "$T/weights"
refuses samplers "built without the sampler stratified" "$X" plan --n 4 --sampler stratified --classes "$T/weights"
without tokens
refuses tokens "tokens.npy" "$X" run "$T/tokens.npy" --quiet
without "cache columns gpu-decode leases mds samplers tokens"
rm -f "$T/run.pprobe"
run "$X" run --synthetic n=256,size=8x8 --epochs 1 --quiet -o "$T/run.pprobe"
recorded=$rc
run "$X" report "$T/run.pprobe" --json
is "it records and reports; 4 batches have no verdict" "$recorded $rc $(json "$OUT" '$.samples')" "3 3 256"
run env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make B="$T/build" WITHOUT=caches "$X"
is "an unknown subject" "$rc $(grep -c 'WITHOUT=caches: there is cache columns ' "$ERR")" "2 1"
done_testing
