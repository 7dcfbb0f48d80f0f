#!/bin/bash
# make WITHOUT=SUBJECT: the program links without it, says in one sentence that it has none where somebody asks for it, and records and reports as ever. Two
# subjects by themselves, and all of them together; WITHOUT_EACH=1 (make without-each): each by itself.
. "$(dirname "$0")/../lib.sh"
need_pipeprobe
need_built all "$MAKE_DATASET"

# The objects are hard links to those of this build. So each program costs one compile (mk/without.c) and two runs of the linker. Files that make
# writes in place are copies.
SAN=$(sed -nE 's|^build/||; s/^(address|undefined|thread|address-undefined)$/\1/p' <<<"$BUILD" | tr - ,)
W=$(mktemp -d build/without.XXXX) || exit 1
cleanup() { rm -rf "$W" "$T"; }
cp -al "$BUILD" "$W/build"
rm -f "$W"/build/mk/without.*
for file in commit version without; do [ ! -e "$BUILD/$file" ] || cp -p --remove-destination "$BUILD/$file" "$W/build/$file"; done
X=$W/build/pipeprobe
built() { run env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make COMMIT="$(cat "$BUILD/commit")" V= SAN="$SAN" B="$W/build" "$@"; }
# A function of each, which stands in the whole program and not in one without it.
declare -A own=([cache]=pp_cache_ring_open [columns]=pp_parquet_open [gpu-decode]=pp_nvjpeg_load [leases]=pp_lease_dir_join [mds]=pp_mds_index_parse
    [samplers]=by_due [tokens]=pp_npy_parse)
has() { # PROGRAM: the subjects that are in it, in order
    local name
    for name in $(printf '%s\n' "${!own[@]}" | sort); do nm "$1" | grep -qE " [tT] ${own[$name]}$" && echo "$name"; done | paste -sd ' '
}

"$MAKE_DATASET" "$T/images" --n 24 --size 48x32 --classes 3 >/dev/null
"$MAKE_DATASET" "$T/shards" --n 24 --size 48x32 --tar 3 >/dev/null
"$MAKE_DATASET" --tokens "$T/tokens.npy" --n 20000
"$PP" pack "$T/images" -o "$T/mds" --format mds --quiet >/dev/null
seq 4 >"$T/weights"

# refused SUBJECT WORDS ARGUMENT...: the whole program does it; this one says one sentence, with an exit code of ours.
refused() {
    local subject=$1 words=$2
    shift 2
    run timeout 60 "$PP" "$@"
    is "$subject: the whole program does it (3: too short for a verdict)" "$((rc == 0 || rc == 3)) $(grep -cE -- "$words" "$ERR")" "1 0"
    run timeout 60 "$X" "$@"
    is "$subject: exit code and lines of standard error" "$((rc > 0 && rc < 124 && rc != 3)) $(grep -c . "$ERR")" "1 1"
    like "$subject: it says so" "$(cat "$ERR")" "$words"
}
doctor_says() { # SUBJECT CHECK WORDS
    is "$1: doctor says so, and of the whole program not" "$("$X" doctor --only "$2" | grep -c "$3") $("$PP" doctor --only "$2" | grep -c "$3")" "1 0"
}
asked() { # SUBJECT
    local files=(--epochs 1 --no-record --quiet)
    case $1 in
    cache) refused cache "built without its cache: leave --cache away" run "$T/images" --cache "$T/kept" "${files[@]}" ;;
    columns) doctor_says columns HDF5 "not in this build" ;;
    gpu-decode) doctor_says gpu-decode nvJPEG "built without GPU decode" ;;
    leases) refused leases "built without leases: leave --lease away" run "$T/shards" --stream --lease "$T/leases.$tests" "${files[@]}" ;;
    mds) refused mds "built without the format mds" run "$T/mds" "${files[@]}" ;;
    samplers)
        refused samplers "built without the sampler weighted" plan --n 4 --sampler weighted --weights "$T/weights"
        refused samplers "built without the sampler stratified" plan --n 4 --sampler stratified --classes "$T/weights"
        ;;
    tokens) refused tokens "built without the format tokens" run "$T/tokens.npy" "${files[@]}" ;;
    esac
}
without() { # SUBJECT...
    local left name
    rm -f "$X"
    built WITHOUT="$*" "$X"
    is "WITHOUT=\"$*\": it builds" "$rc $(grep -vE '^  (CC     mk/without.c|AR|LINK)' "$OUT" | head -3)" "0 "
    left=$(printf '%s\n' "${!own[@]}" | grep -vxF "$(printf '%s\n' "$@")" | sort | paste -sd ' ')
    is "WITHOUT=\"$*\": its sources are not in it, those of others are" "$(has "$X")" "$left"
    for name; do asked "$name"; done
}

all=$(has "$PP")
is "the whole program has them all" "$all" "cache columns gpu-decode leases mds samplers tokens"
singles="cache samplers"
[ -z "${WITHOUT_EACH:-}" ] || singles=$all
for name in $singles; do without "$name"; done
without $all
run "$X" run --synthetic n=256,size=8x8 --epochs 1 --quiet -o "$T/run.pprobe"
recorded=$rc
run "$X" report "$T/run.pprobe" --json
is "it records and reports; 4 batches have no verdict" "$recorded $rc $(json "$OUT" '$.samples')" "3 3 256"
built WITHOUT=caches "$X"
is "an unknown subject" "$rc $(grep -c 'WITHOUT=caches: there is cache columns ' "$ERR")" "2 1"
done_testing
