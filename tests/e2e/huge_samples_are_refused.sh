#!/bin/bash
# A file of a few megabytes, or of none on the disk, cannot take a worker's memory: a sample that needs more than --max-sample-memory is an error row, and the rest is read.
. "$(dirname "$0")/../lib.sh"
need_pipeprobe
command -v python3 >/dev/null || skip_all "python3 is not installed"

"$MAKE_DATASET" "$T/images" --n 16 --size 60x40 --classes 1 >/dev/null
d=$T/images/class_000
# 16384 x 16384, 16 bit, RGBA, interlaced: 2 GiB of zeros in 2 MB. A deflate block of zeros, as often as needed.
python3 - "$d/bomb.png" <<'EOF'
import struct, sys, zlib
side = 16384
passes = [(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)]
size = sum(((side - x + dx - 1) // dx * 8 + 1) * ((side - y + dy - 1) // dy) for x, y, dx, dy in passes)
block = 1 << 20
c = zlib.compressobj(9, zlib.DEFLATED, -15)
one = c.compress(bytes(block)) + c.flush(zlib.Z_FULL_FLUSH)
c = zlib.compressobj(9, zlib.DEFLATED, -15)
data = b"\x78\xda" + one * (size // block) + c.compress(bytes(size % block)) + c.flush() + struct.pack(">I", (size % 65521) << 16 | 1)
def chunk(kind, body): return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
open(sys.argv[1], "wb").write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", side, side, 16, 6, 0, 0, 1)) + chunk(b"IDAT", data) + chunk(b"IEND", b""))
EOF
holds "(the bomb is small)" "$(stat -c %s "$d/bomb.png") < 3000000"
first=$(find "$d" -name '*.jpg' | head -n 1)
cp "$first" "$d/sparse.jpg" && truncate -s 3G "$d/sparse.jpg"
FILES=$(find "$T/images" -type f | wc -l)

# Peak of its resident memory in MiB, by the kernel.
peak() { python3 -c 'import resource, subprocess, sys; r = subprocess.run(sys.argv[2:], stdout=open(sys.argv[1] + "/stdout", "w"), stderr=open(sys.argv[1] + "/stderr", "w"), stdin=subprocess.DEVNULL).returncode; print(r, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024)' "$T" "$@"; }
once="--epochs 1 --batch-size 4 --workers 1 --sampler sequential --force -o $T/run.sqlite"

read -r rc mib < <(peak timeout 250 "$PP" run "$T/images" $once --transform 'resize:32,center:32,normalize=imagenet' --list-delivered "$T/delivered")
echo "run of a PNG bomb and a sparse file" >"$T/command"
check "the run goes on" test "$rc" -eq 0 -o "$rc" -eq 3
is "and delivers all others" "$(wc -l <"$T/delivered")" $((FILES - 2))
errors=$(sql "$T/run.sqlite" "SELECT path || '|' || kind || '|' || reason FROM error")
like "the PNG is an error row" "$errors" "bomb\.png\|unsupported\|decompression bomb: needs [0-9]+ MiB, limit 512 MiB; raise it with --max-sample-memory"
like "the sparse file is one" "$errors" "sparse\.jpg\|unsupported\|cannot read .*sparse\.jpg: needs 307[0-9] MiB, limit 512 MiB"
is "and nothing else" "$(wc -l <<<"$errors")" 2
case $BUILD in */release) holds "within memory ($mib MiB)" "$mib < 300" ;; esac

run timeout 60 "$PP" run "$T/images" $once --max-sample-memory 1MiB --list-delivered "$T/delivered"
is "a lower limit: small images are still read" "$(wc -l <"$T/delivered")" $((FILES - 2))
like "and names itself" "$(sql "$T/run.sqlite" "SELECT reason FROM error")" "limit 1 MiB"
refuses "a limit of nothing" 2 "max-sample-memory" "$PP" run "$T/images" $once --max-sample-memory 10

# Members of shards, by index and streamed: the ones behind it are read.
mkdir "$T/t" && for i in 0 2 3; do cp "$first" "$T/t/000$i.jpg"; done
cp "$first" "$T/t/0001.jpg" && truncate -s 8M "$T/t/0001.jpg"
tar -C "$T/t" --format=ustar -cf "$T/s.tar" 0000.jpg 0001.jpg 0002.jpg 0003.jpg
for stream in "" --stream; do
    run timeout 60 "$PP" run "$T/s.tar" --epochs 1 --batch-size 4 --workers 1 --force -o "$T/run.sqlite" --max-sample-memory 4MiB $stream --list-delivered "$T/delivered"
    is "shard${stream:+, $stream}: the others are delivered" "$(wc -l <"$T/delivered")" 3
    like "shard${stream:+, $stream}: the member is an error row" "$(sql "$T/run.sqlite" "SELECT reason FROM error")" "0001.* in .*s\.tar: needs 8 MiB, limit 4 MiB"
done

# PAX headers that claim sparse maps, sizes and offsets of 2^62: refused or left out, in no time.
python3 - "$T" "$first" <<'EOF'
import sys
big = str(2 ** 62)
def pax(fields):
    out = b""
    for k, v in fields.items():
        rec = f" {k}={v}\n".encode()
        n = len(rec)
        while len(str(n)) + len(rec) != n: n = len(str(n)) + len(rec)
        out += str(n).encode() + rec
    return out
def member(name, data, kind=b"0"):
    h = bytearray(512)
    h[0:len(name)] = name.encode()
    h[100:136] = b"0000644\0" + b"0000000\0" + b"0000000\0" + b"%011o\0" % len(data)
    h[136:148], h[148:156], h[156:157], h[257:265] = b"00000000000\0", b" " * 8, kind, b"ustar\x0000"
    h[148:156] = b"%06o\0 " % sum(h)
    return bytes(h) + data + bytes(-len(data) % 512)
jpg = open(sys.argv[2], "rb").read()
table = f"2\n0\n512\n{big}\n512\n".encode()
cases = {"old": {"GNU.sparse.size": big, "GNU.sparse.numblocks": "1", "GNU.sparse.offset": big, "GNU.sparse.numbytes": big},
         "map": {"GNU.sparse.size": big, "GNU.sparse.map": f"0,512,{big},512", "GNU.sparse.name": "a.jpg"},
         "table": {"GNU.sparse.major": "1", "GNU.sparse.minor": "0", "GNU.sparse.name": "a.jpg", "GNU.sparse.realsize": big},
         "realsize": {"GNU.sparse.realsize": big, "GNU.sparse.map": f"0,{big}"}, "size": {"size": big}, "negative": {"GNU.sparse.size": "-1", "GNU.sparse.map": "-5,-7"}}
for name, fields in cases.items():
    body = table + bytes(-len(table) % 512) + jpg if name == "table" else jpg
    open(f"{sys.argv[1]}/pax-{name}.tar", "wb").write(member("0.jpg", jpg) + member("PaxHeaders/x", pax(fields), b"x") + member("1.jpg", body) + member("2.jpg", jpg) + bytes(1024))
EOF
for tar in "$T"/pax-*.tar; do
    for stream in "" --stream; do
        name="$(basename "$tar" .tar)${stream:+, $stream}"
        run timeout 20 "$PP" run "$tar" --epochs 1 --batch-size 4 --workers 1 --force -o "$T/run.sqlite" $stream --list-delivered "$T/delivered"
        check "$name: the run ends" test "$rc" -eq 0 -o "$rc" -eq 3
        holds "$name: the sound members before it are read" "$(wc -l <"$T/delivered") >= 1"
        holds "$name: what is wrong is an error row" "$(sql "$T/run.sqlite" "SELECT count(*) FROM error") >= 1"
    done
done

# Files beside the data set.
truncate -s 3G "$T/state"
refuses "a state of 3 GiB" 4 "state.*at most" "$PP" run "$T/images" $once --resume "$T/state"
done_testing
