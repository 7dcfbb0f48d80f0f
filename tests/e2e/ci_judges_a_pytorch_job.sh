#!/bin/bash
# asleep
# The gate of samples/ci/github.yml on an unmodified PyTorch job: the same job passes, a slowed one fails; what has to be alike is found out early.
# The samples sleep, so that what else runs on the CPUs decides little. PYTHON names the interpreter.
. "$(dirname "$0")/../lib.sh"
need_pipeprobe
PYTHON=${PYTHON:-/usr/bin/python3}
[ -e "$BUILD/python/attach/_pipeprobe.abi3.so" ] || skip_all "the extension for Python is not built"
imports "$PYTHON" torch || skip_all "no PyTorch for $PYTHON"
gate=$(sed -n '/^ *pipeprobe ci run/,/^ *-- /p' samples/ci/github.yml | tr '\n' ' ' | sed 's/  */ /g')
cd "$T" || exit 1
mkdir bin base head
ln -s "$PP" bin/pipeprobe && ln -s "$PYTHON" bin/python
export PATH=$T/bin:$PATH
cat >base/train.py <<'PY'
import argparse, os, time
from torch.utils.data import DataLoader, Dataset

class Slow(Dataset):
    def __len__(self):
        return 100000
    def __getitem__(self, i):
        time.sleep(SAMPLE_S)
        return i

parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int)
workers = int(os.environ.get("WORKERS", 1))
for n, batch in enumerate(DataLoader(Slow(), batch_size=2, num_workers=workers), 1):
    time.sleep(0.002)
    if n == parser.parse_args().steps:
        break
PY
sed 's/SAMPLE_S/0.007/' base/train.py >head/train.py
sed -i 's/SAMPLE_S/0.004/' base/train.py

run sh -c "$gate"
is "a slowed job fails the gate" "$rc" 1
is "the gate's answers" "$(json gate.json '$.answer'), $(json gate.json '$.metrics[0].metric'), $(json gate.json '$.metrics[0].answer')" "regressed, samples_per_s, regressed"
check "both sides are whole" test "$(ls recordings/base-*.sqlite | wc -l)" -ge 7 -a "$(ls recordings/head-*.sqlite | wc -l)" -ge 7
check "JUnit says it" grep -q 'failure type="regressed"' gate.xml
is "which loader is judged differs from run to run" "$(for f in recordings/base-0[12].sqlite; do sql "$f" "SELECT value FROM meta WHERE key = 'dataloader'"; done | sort -u | wc -l)" 2
run "$PP" compare 'recordings/base-*' 'recordings/head-*' --paired --threshold 15%
is "compare says the same of the kept runs" "$rc" 1
check "and lists no option as changed" bash -c "! grep -q dataloader '$OUT'"
run "$PP" ci baseline save 'recordings/base-*'
is "a baseline of PyTorch runs" "$rc" 0
run "$PP" history add 'recordings/base-*' --db h.sqlite
is "a history of them" "$rc" 0

# The same job: what the neighbours of a test decide (CPU time, the longest waits, the start) is left out.
cp base/train.py head/train.py && rm -r recordings gate.*
run sh -c "${gate/--runs 7/--runs 5 --ungate first_batch_s --ungate cpu_s_per_sample --ungate data_wait_p99_s --ungate verdict}"
is "the same job passes the gate" "$rc $(json gate.json '$.metrics[0].answer')" "0 not-regressed"

# What has another configuration each time is refused after the second run.
echo 0 >count
printf '#!/bin/sh\nn=$(cat %s/count); echo $((n + 1)) >%s/count\nWORKERS=$((n + 1)) exec %s "$@"\n' "$T" "$T" "$PYTHON" >bin/changing && chmod +x bin/changing
refuses "a job that changes" 3 "differ in configuration: config.(num_)?workers is 1" "$PP" ci run -q --lenient -b none.json --runs 7 --warmup-runs 0 -- exec -- changing base/train.py --steps 150
is "is started twice" "$(cat count)" 2
done_testing
