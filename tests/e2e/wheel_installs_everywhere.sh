#!/bin/bash
# make wheel: the same bytes each time, named by what its files need; pip installs it, the program and the hooks run from there, and pip takes all
# of it away. For the oldest and the newest Python of this machine, and a job of PYTHON's torch; PYTHONS="..." names others, PYTHONS=all takes every one.
. "$(dirname "$0")/../lib.sh"
need_pipeprobe
PYTHON=${PYTHON:-/usr/bin/python3}

if [ ! -e "$BUILD/python/attach/_pipeprobe.abi3.so" ]; then skip "make wheel" "the extension is not built: no Python.h"; done_testing; fi
if ! bash tests/deps.sh portable >/dev/null 2>&1; then skip "make wheel" "the static libraries cannot be installed here"; done_testing; fi
if ! "$PYTHON" -c 'import ensurepip, venv' 2>/dev/null; then skip "make wheel" "$PYTHON has no venv"; done_testing; fi

quiet_make() { env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make -s DIST="$T/dist" "$@"; }
export SOURCE_DATE_EPOCH=1767225600
run quiet_make SAN= wheel-built
is "make wheel" "$rc" 0
wheel=$(tail -n 1 "$OUT") told=$(cat "$ERR")
check "the wheel is there" test -s "$wheel"
cp "$wheel" "$T/first.whl"
run quiet_make SAN= wheel-built
check "the same sources give the same bytes" cmp "$T/first.whl" "$wheel"

# ---- what is in it ----
mkdir "$T/x"
"$PYTHON" -m zipfile -e "$wheel" "$T/x"
cat >"$T/record.py" <<'P'
import base64, csv, hashlib, pathlib, sys
root = pathlib.Path(sys.argv[1])
files = {str(p.relative_to(root)): p.read_bytes() for p in root.rglob("*") if p.is_file()}
record = next(n for n in files if n.endswith(".dist-info/RECORD"))
rows = list(csv.reader(files[record].decode().splitlines()))
wrong = [n for n, digest, size in rows if n != record and (n not in files or int(size) != len(files[n]) or
         digest != "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(files[n]).digest()).rstrip(b"=").decode())]
print(len(rows) > 20, len(rows) == len(files), wrong)
P
is "RECORD has every file once, with its hash and size" "$("$PYTHON" "$T/record.py" "$T/x")" "True True []"
find "$T/x" -type f | while read -r f; do [ "$(head -c 4 "$f" | tail -c 3)" = ELF ] && echo "$f"; done >"$T/elf"
is "the program and four libraries" "$(sed 's|.*/||' "$T/elf" | sort | paste -sd' ')" "_pipeprobe.abi3.so libpipeprobe.so.0 libpipeprobe_inject.so libpipeprobe_reads.so pipeprobe"
xargs objdump -T <"$T/elf" >"$T/symbols"
newest=$(grep -oE 'GLIBC_2\.[0-9]+' "$T/symbols" | grep -oE '[0-9]+$' | sort -n | tail -n 1)
like "its name says what its files need of glibc" "$wheel" "pipeprobe-[0-9.]+-py3-none-manylinux_2_$((newest > 28 ? newest : 28))_$(uname -m)\\.whl$"
like "and make wheel says which file decides it" "$told" "tag +manylinux_2_[0-9]+_$(uname -m): [^ ]+ needs glibc 2\\.$newest"
case $(uname -m) in
x86_64 | aarch64)
    is "nothing needs a glibc after 2.28" "$(grep -oE 'GLIBC_2\.[0-9]+' "$T/symbols" | sort -u | sed 's/.*\.//' | awk '$1 > 28')" ""
    is "no library is needed but those of glibc" "$(xargs -n 1 readelf -d <"$T/elf" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' | sort -u | grep -vE '^(lib(c|m|dl|rt|pthread)\.so\.[0-9]|ld-linux-.*)$' | paste -sd' ')" ""
    is "no symbol of libc is asked for without its version" "$(awk '/\*UND\*/ && !/ w / && !/GLIBC_|Py/ { print $NF }' "$T/symbols" | sort -u | paste -sd' ')" ""
    ;;
*) skip "glibc 2.28" "make wheel links for older machines on x86-64 and aarch64" ;;
esac
is "and so does WHEEL" "$(sed -n 's/^Tag: //p' "$T/x"/*.dist-info/WHEEL)" "$(basename "$wheel" .whl | sed 's/^pipeprobe-[^-]*-//')"
is "its guides have their pictures, which are small" "$(find "$T/x" -name "*.svg" -o -name "*.png" | sed "s|.*/||" | sort | paste -sd" ")" "dashboard.svg report.svg"
holds "it has 4 MB at most" "$(stat -c %s "$wheel") <= 4000000"
is "its description links to no file that a stranger lacks" "$(sed -n '/^$/,$p' "$T/x"/*.dist-info/METADATA | grep -oE '\]\([^)h#][^)]*\)' | head -3)" ""
is "and builds nothing" "$(grep -nE '^ +make |make (wheel|install|portable|deb)|Building' "$T/x"/*.dist-info/METADATA)" ""
is "each page that it names is one of pipeprobe help" "$(grep -ohE 'pipeprobe help [a-z][a-z/-]+' "$T/x"/*.dist-info/METADATA | sort -u | while read -r _ _ topic; do "$PP" help "$topic" | grep -q '^Usage' && echo "$topic: a command"; "$PP" help "$topic" >"$T/help" 2>&1 || echo "$topic"; done)" ""
holds "and they are many" "$(grep -ohE 'pipeprobe help [a-z][a-z/-]+' "$T/x"/*.dist-info/METADATA | sort -u | wc -l) >= 20"
is "no word stands where a link was" "$(grep -nE '\((guide|measured)\)|\(guide \(' "$T/x"/*.dist-info/METADATA)" ""
is "it asks for no other package" "$(grep -c '^Requires-Dist' "$T/x"/*.dist-info/METADATA)" 0

# ---- the program by itself says what it lacks; with its folder it has the hooks ----
hooks() { # PROGRAM: doctor's row
    "$1" doctor --json >"$T/doctor.json"
    sqlite3 :memory: "SELECT json_extract(value, '\$.ok'), json_extract(value, '\$.value') FROM json_each(CAST(readfile('$T/doctor.json') AS TEXT), '\$.checks') WHERE json_extract(value, '\$.name') = 'PyTorch hooks'"
}
cp "$BUILD/pipeprobe-portable" "$T/alone"
like "the program alone has no hooks, and says what to do" "$(hooks "$T/alone")" "^0\|.* is not beside the program; use make install"
cp -r "$BUILD"/portable/pipeprobe-* "$T/folder"
like "the folder of make portable has them" "$(hooks "$T/folder/bin/pipeprobe")" "^(1\|a DataLoader|\|not tried).* \(in $T/folder/lib/pipeprobe/python/attach\)"

printf '#!/lib/ld-of-another-libc\n' >"$T/musl" && chmod +x "$T/musl"
run env PYTHONPATH=collectors/attach/package "$PYTHON" -c 'import sys; from pipeprobe._program import become; become(sys.argv[1], ["x"])' "$T/musl"
like "where its loader is missing, a sentence" "$(cat "$ERR")" "does not start here: it needs the GNU C library"

# ---- where it cannot be installed, pip says so in a sentence ----
export PIP_NO_INDEX=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1 PYTHONDONTWRITEBYTECODE=1
for platform in musllinux_1_2 manylinux_2_27; do
    run "$PYTHON" -m pip install -q --only-binary :all: --no-deps --platform "${platform}_$(uname -m)" --target "$T/elsewhere" "$wheel"
    like "$platform" "$rc $(cat "$ERR")" "^1 .*is not a supported wheel on this platform"
    check "$platform: nothing is installed" test ! -e "$T/elsewhere/pipeprobe"
done
"$PYTHON" -m venv --without-pip "$T/no-pip"
run "$T/no-pip/bin/python" -m pip install "$wheel"
like "a Python without pip" "$rc $(cat "$ERR")" "^1 .*No module named pip"
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
    chmod 755 "$T" && cp "$wheel" "$T/x" && chmod 644 "$T/x"/*.whl
    run setpriv --reuid 65534 --regid 65534 --clear-groups env HOME=/nonexistent "$PYTHON" -m pip --python "$T/no-pip/bin/python" install -q "$T/x/$(basename "$wheel")"
    like "without write permission" "$rc $(cat "$ERR" "$OUT")" "^1 .*Permission denied"
fi
for words in 'is not a supported wheel' 'No module named pip' 'Permission denied'; do check "the guide says what to do: $words" grep -q "$words" docs/guide/containers.md; done

# ---- pip, with every Python ----
export PIP_NO_INDEX=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1 PYTHONDONTWRITEBYTECODE=1
cat >"$T/job.py" <<'P'
import sys
print("job", sys.argv[1:], sys.version_info[:2] >= (3, 8))
sys.exit(5)
P
files_of() { (cd "$1" && find . -type f -o -type l | sort); }
# What must hold in a venv, whatever its Python.
works() { # NAME VENV
    run "$2/bin/pipeprobe" --version
    is "$1: the console script is the program" "$rc $(cat "$OUT")" "0 $("$PP" --version)"
    run "$2/bin/pipeprobe" help many-ranks
    is "$1: the guides are there" "$rc $(sed -n 2p "$OUT")" "0 A job of many ranks"
    check "$1: and man pages where the environment's man looks" test -s "$2/share/man/man1/pipeprobe-exec.1"
    for shell in bash-completion/completions/pipeprobe zsh/site-functions/_pipeprobe fish/vendor_completions.d/pipeprobe.fish; do check "$1: completion: ${shell%%/*}" test -s "$2/share/$shell"; done
    run "$2/bin/python" -m pipeprobe --version
    is "$1: python -m pipeprobe" "$rc $(cat "$OUT")" "0 $("$PP" --version)"
    run "$2/bin/python" -W error -c 'import sys, pipeprobe; sys.exit(len({"numpy", "torch", "IPython"} & set(sys.modules)))'
    is "$1: the import is silent and needs nothing" "$rc $(cat "$OUT" "$ERR")" "0 "
    rm -f "$T/job.sqlite"
    run "$2/bin/pipeprobe" exec -q -o "$T/job.sqlite" -- "$2/bin/python" "$T/job.py" a b
    is "$1: exec: the job's own output and status" "$rc $(cat "$OUT")" "5 job ['a', 'b'] True"
    run "$2/bin/pipeprobe" exec -o "$T/job.sqlite" -- "$2/bin/python" -c pass
    like "$1: exec: the hooks were in the job" "$(cat "$ERR")" "did not import torch.utils.data"
    rm -f "$T"/rank*.sqlite
    run env RANK=1 WORLD_SIZE=2 "$2/bin/python" -m pipeprobe.exec -q -o "$T/rank.sqlite" -- "$T/job.py" c
    is "$1: python -m pipeprobe.exec: output and status" "$rc $(cat "$OUT")" "5 job ['c'] True"
    is "$1: python -m pipeprobe.exec: a file of the rank" "$(sql "$T/rank-rank0001.sqlite" "SELECT count(*) FROM meta WHERE section = 'process'")" 1
}

# "VERSION PATH", the oldest first, one of each version from 3.8 on.
pythons() {
    local python
    for python; do
        "$python" -c 'import sys; v = sys.version_info; v >= (3, 8) and print("%d.%d" % v[:2], sys.executable)' 2>/dev/null
    done | sort -V -u -k1,1
}
case ${PYTHONS:-} in
"" | all) pythons "$PYTHON" "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3.*/bin/python python3.{8..14} >"$T/pythons" ;;
*) pythons $PYTHONS >"$T/pythons" ;;
esac
[ -n "${PYTHONS:-}" ] || sed -i -n '1p; 1!{$p}' "$T/pythons"
tried=0
while read -r version python; do
    if ! "$python" -c 'import pip, venv' 2>/dev/null; then
        skip "Python $version" "it has no pip or no venv"
        continue
    fi
    tried=$((tried + 1))
    venv=$T/venv-$version
    "$python" -m venv --without-pip "$venv" >/dev/null 2>&1
    files_of "$venv" >"$T/before"
    run "$python" -m pip --python "$venv/bin/python" install -q "$wheel"
    is "Python $version: pip install" "$rc $(cat "$ERR" "$OUT")" "0 "
    works "Python $version" "$venv"
    run "$python" -m pip --python "$venv/bin/python" uninstall -q -y pipeprobe
    is "Python $version: pip uninstall" "$rc" 0
    is "Python $version: nothing is left" "$(files_of "$venv" | diff "$T/before" - | grep '^[<>]')" ""
    rm -rf "$venv"
done <"$T/pythons"
check "a Python was tried" test "$tried" -gt 0

# ---- a PyTorch job, from the venv ----
if ! imports "$PYTHON" 'torch, torchvision'; then skip "a PyTorch job" "$PYTHON has no torch and torchvision"; done_testing; fi
"$PYTHON" -m venv --without-pip --system-site-packages "$T/venv" && "$PYTHON" -m pip --python "$T/venv/bin/python" install -q "$wheel" || fail "a venv" </dev/null
"$MAKE_DATASET" "$T/images" --n 60 --classes 3 --size 160x120 >/dev/null
R=$T/train.sqlite
PATH=$T/venv/bin:$PATH run pipeprobe exec -o "$R" -- python tests/jobs/images.py "$T/images"
is "a PyTorch job: status" "$rc" 0
is "a PyTorch job: samples of its workers" "$(sql "$R" "SELECT count(*), count(DISTINCT sample) FROM v_span WHERE phase = 'transform' AND lane = 'worker'")" "120|60"
check "a PyTorch job: its reads are told apart" test "$(sql "$R" "SELECT count(*) FROM v_span WHERE phase = 'read' AND bytes > 0")" -ge 100
is "a PyTorch job: what is missing" "$(sql "$R" "SELECT value FROM meta WHERE section = 'process_note'")" ""
run "$T/venv/bin/python" -c "import pipeprobe; r = pipeprobe.report('$R'); print(r); print(r.json['schema'])"
is "a PyTorch job: its report from Python" "$rc $(tail -n 1 "$OUT")" "0 pipeprobe.report/1"
is "a PyTorch job: the same text as the program's" "$(head -n -1 "$OUT")" "$("$T/venv/bin/pipeprobe" report "$R")"
done_testing
