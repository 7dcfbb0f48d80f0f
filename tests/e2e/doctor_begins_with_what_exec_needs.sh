#!/bin/bash
# pipeprobe doctor begins with what exec needs, tried and not guessed: which Python, which torch, a DataLoader of it recorded, its reads timed, and whether
# attach can enter. What has one cause is one sentence. A Python that is missing or has no torch gets what to do.
. "$(dirname "$0")/../lib.sh"
need_pipeprobe
[ -e "$BUILD/python/attach/_pipeprobe.abi3.so" ] || skip_all "the extension is not built: no Python.h"
PYTHON=${PYTHON:-/usr/bin/python3}
export TMPDIR=$T/tmp
mkdir "$TMPDIR"

if imports "$PYTHON" torch; then
    run timeout 120 "$PP" doctor "$PYTHON"
    is "exit code" "$rc" 0
    is "the first rows" "$(sed -n 's/^\(yes\|no\|?\) *\([A-Za-z][A-Za-z -]*[a-z]\)   *.*/\2/p' "$OUT" | head -n 6 | paste -sd,)" "Python,PyTorch,PyTorch hooks,reads timed,attach,idle machine"
    flat=$(tr -s ' \n' ' ' <"$OUT")
    like "which Python" "$flat" "^yes Python $("$PYTHON" -c 'import platform; print(platform.python_version())'), /"
    like "which torch" "$flat" "yes PyTorch $("$PYTHON" -c 'import torch; print(torch.__version__)'), /"
    like "hooks fit" "$flat" "yes PyTorch hooks a DataLoader with a worker was recorded"
    like "reads are timed" "$flat" "yes reads timed a worker's reads were timed"
    run env LD_LIBRARY_PATH="$BUILD/none" "$PP" doctor --only 'CUDA driver,CUDA kernels,nvJPEG'
    is "one cause is one sentence" "$(grep -c '^no' "$OUT") $(grep -o 'nvJPEG: ' "$OUT")" "1 nvJPEG: "
else
    skip "a Python with torch" "$PYTHON has none"
fi
run "$PP" doctor --only Python,PyTorch "$T/python3"
like "no such Python" "$(tr -s ' \n' ' ' <"$OUT")" "no Python .*/python3 does not start: activate the job's environment, or name its Python: pipeprobe doctor PYTHON"
printf '#!/bin/sh\nexec "%s" -S "$@"\n' "$PYTHON" >"$T/bare"
chmod +x "$T/bare"
run "$PP" doctor --only PyTorch --json "$T/bare"
is "a Python without torch" "$(json "$OUT" '$.checks[0].ok')|$(json "$OUT" '$.checks[0].value')" "0|No module named 'torch'"
is "nothing is left" "$(ls "$TMPDIR")" ""
# libhdf5 has another name on each distribution: none is missed, and the one of RHEL, Fedora and conda alone is enough.
cat >"$T/only.c" <<'C'
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
void *dlopen(const char *name, int flags)
{
    void *(*next)(const char *, int) = dlsym(RTLD_NEXT, "dlopen");
    FILE *f = name ? fopen(getenv("TRIED"), "a") : NULL;
    if (f) fprintf(f, "%s\n", name), fclose(f);
    return name && strstr(name, "hdf5") && strcmp(name, getenv("ONLY")) != 0 ? NULL : next(name, flags);
}
C
real=$(ldconfig -p | sed -nE 's/^[[:space:]]*libhdf5(_serial)?\.so.* => //p' | head -n 1)
if [ -z "$real" ] || ! cc -w -D_GNU_SOURCE -shared -fPIC -o "$T/only.so" "$T/only.c" -ldl 2>"$T/cc"; then
    skip "libhdf5 by each of its names" "there is no libhdf5, or no C compiler"
else
    mkdir "$T/lib"
    for name in libhdf5_serial.so.103 libhdf5.so.103 libhdf5.so.200 libhdf5_serial.so.310 libhdf5.so.310; do
        ln -s "$real" "$T/lib/$name"
        LD_LIBRARY_PATH=$T/lib LD_PRELOAD=$T/only.so TRIED=$T/tried ONLY=$name run "$PP" doctor --only HDF5
        like "$name" "$(tr -s ' \n' ' ' <"$OUT")" "yes HDF5 .*libhdf5 1\.[0-9]+"
    done
    LD_PRELOAD=$T/only.so TRIED=$T/tried ONLY=none run "$PP" doctor --only HDF5
    is "what is tried are names of libhdf5" "$(grep -E 'h5|hdf' "$T/tried" | sed 's/\.so.*//' | sort -u | paste -sd' ')" "libhdf5 libhdf5_serial"
fi
refuses "a check that is none" 2 "no check is called 'hooks'" "$PP" doctor --only hooks
done_testing
