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
refuses "a check that is none" 2 "no check is called 'hooks'" "$PP" doctor --only hooks
done_testing
