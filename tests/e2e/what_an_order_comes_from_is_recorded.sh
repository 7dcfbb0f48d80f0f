#!/bin/bash
# Which batches an unmodified PyTorch job trained on, why they came in that order, what it saved and restored, and with --content what its
# samples were: as the job itself says, also when it is killed; and none of it changes what the job does. PYTHON names the interpreter.
. "$(dirname "$0")/../lib.sh"
need_pipeprobe
PYTHON=${PYTHON:-/usr/bin/python3}

if [ ! -e "$PWD/$BUILD/python/attach/_pipeprobe.abi3.so" ]; then skip "where an order comes from" "the extension is not built: no Python.h"; done_testing; fi
if ! imports "$PYTHON" torch; then skip "where an order comes from" "$PYTHON has no torch"; done_testing; fi

# ---- a job with files, augmentation, a validation loader and checkpoints
for workers in 0 2; do
    mkdir -p "$T/d$workers/data"
    job=("$PYTHON" "$PWD/tests/jobs/stored.py" "$workers" "$T/d$workers/data")
    timeout 120 "${job[@]}" >"$T/plain"
    f=$T/w$workers.sqlite
    run timeout 120 "$PP" exec -q --content -o "$f" -- "${job[@]}"
    is "$workers workers: the job prints what it prints alone" "$rc $(cmp "$T/plain" "$OUT" 2>&1)" "0 "
    is "$workers workers: what was trained on" "$(sql "$f" "SELECT loader, epoch, sum(batches), trained, min(step) FROM batch_use GROUP BY loader, epoch, trained")" \
        "$(printf '%s\n' '0|0|10|1|0' '0|1|10|1|10' '1|0|3|0|10' '1|1|3|0|20')"
    is "$workers workers: the sampler's epoch" "$(sql "$f" "SELECT group_concat(value) FROM iteration_fact WHERE loader = 0 AND key = 'sampler.epoch'")" "0,1"
    is "$workers workers: its seed, and how many workers" "$(sql "$f" "SELECT group_concat(value) FROM iteration_fact WHERE loader = 0 AND epoch = 0 AND key IN ('sampler.seed', 'num_workers') ORDER BY key")" \
        "$(sql "$f" "SELECT group_concat(value) FROM (SELECT CASE key WHEN 'num_workers' THEN '$workers' ELSE '5' END AS value FROM iteration_fact WHERE loader = 0 AND epoch = 0 AND key IN ('sampler.seed', 'num_workers'))")"
    is "$workers workers: the line that iterates" "$(sql "$f" "SELECT value FROM iteration_fact WHERE loader = 0 AND epoch = 0 AND key = 'place'")" "tests/jobs/stored.py:$(grep -n '# the iteration' tests/jobs/stored.py | cut -d: -f1)"
    is "$workers workers: states of random generators" "$(sql "$f" "SELECT count(DISTINCT value) FROM iteration_fact WHERE key = 'rng.torch' AND length(value) = 16")" "4"
    is "$workers workers: epochs set, saves and their names" "$(sql "$f" "SELECT group_concat(action || iff, ' ') FROM (SELECT action, iterations || coalesce(value, '') AS iff FROM state_event WHERE action = 'set_epoch' ORDER BY t_ns)")" "set_epoch00 set_epoch21"
    is "$workers workers: a save has its path and its time" "$(sql "$f" "SELECT count(*), min(dur_ns > 0), min(path), min(place) FROM state_event WHERE action = 'save'")" \
        "2|1|$T/d$workers/data/ckpt.tmp|tests/jobs/stored.py:$(grep -n 'torch.save' tests/jobs/stored.py | cut -d: -f1)"
    is "$workers workers: and gets its name" "$(sql "$f" "SELECT path, value, step FROM state_event WHERE action = 'rename' ORDER BY t_ns LIMIT 1")" "$T/d$workers/data/ckpt.pt|$T/d$workers/data/ckpt.tmp|10"
    like "$workers workers: each batch that was made has hashes" "$(sql "$f" "SELECT count(*), min(samples), max(length(content)), max(length(files)), count(DISTINCT batch) FROM batch_content")" "^(26|2[6-9]|3[0-9]|40)\|4\|32\|32\|"
done
# the files of sample 0 of each trained batch are those of its number, whoever reads them: 40 of them, twice
files='SELECT count(DISTINCT substr(files, 1, 8)), min(substr(files, 1, 8) <> zeroblob(8)) FROM batch_content WHERE batch < 10'
is "files tell samples apart" "$(sql "$T/w0.sqlite" "$files") $(sql "$T/w2.sqlite" "$files")" "10|1 10|1"
same="ATTACH '$T/w2.sqlite' AS b; SELECT count(*), sum(a.files = b.files) FROM main.batch_content a JOIN b.batch_content b USING (batch) WHERE a.batch < 10"
is "and are the same for any worker and directory" "$(sql "$T/w0.sqlite" "$same")" "10|10"
run timeout 120 "$PP" exec -q --content -o "$T/again.sqlite" -- "$PYTHON" "$PWD/tests/jobs/stored.py" 2 "$T/d2/data"
is "augmentation that is seeded gives the same bytes" "$(sql "$T/w2.sqlite" "ATTACH '$T/again.sqlite' AS b; SELECT count(*) >= 26, sum(a.content <> b.content) FROM main.batch_content a JOIN b.batch_content b USING (batch)")" "1|0"

# ---- tensors that are permuted, as images are: hashed where they lie, of any size
cat >"$T/permuted.py" <<'P'
import sys, torch
class Images(torch.utils.data.Dataset):
    def __len__(self):
        return 3
    def __getitem__(self, i):
        x = torch.zeros(900, 900, 3)
        x[-1, -1, -1] = i // 2 * int(sys.argv[1])
        return x.permute(2, 0, 1)
for x in torch.utils.data.DataLoader(Images(), 1):
    pass
P
for k in 0 1; do run timeout 60 "$PP" exec -q --content -o "$T/p$k.sqlite" -- "$PYTHON" "$T/permuted.py" $k; done
is "a permuted tensor of 10 MB has a hash, of what it holds" "$(sql "$T/p1.sqlite" "ATTACH '$T/p0.sqlite' AS b; SELECT group_concat((a.content <> zeroblob(8)) || (a.content = b.content)) FROM main.batch_content a JOIN b.batch_content b USING (batch)")" "11,11,10"

# ---- a view whose elements overlap: of what it shows, not of what lies in between
sed 's/x = torch.zeros.*/x = torch.zeros(9)/; s/x\[-1.*/x[1] = int(sys.argv[1])/; s/return x.*/return x.as_strided((3, 3), (2, 2))/' "$T/permuted.py" >"$T/strided.py"
for k in 0 1; do run timeout 60 "$PP" exec -q --content -o "$T/v$k.sqlite" -- "$PYTHON" "$T/strided.py" $k; done
is "a view with gaps has the hash of what it shows" "$(sql "$T/v1.sqlite" "ATTACH '$T/v0.sqlite' AS b; SELECT group_concat((a.content <> zeroblob(8)) || (a.content = b.content)) FROM main.batch_content a JOIN b.batch_content b USING (batch)")" "11,11,11"

# ---- one that is killed, and goes on from its checkpoint
mkdir -p "$T/of"
for r in 0 1; do run timeout 120 "$PP" exec -q -o "$T/k$r.sqlite" -- "$PYTHON" "$PWD/tests/jobs/resumed.py" right 2 "$T/of"; done
is "killed: all that it trained on is there" "$(sql "$T/k0.sqlite" "SELECT sum(batches * trained), sum(batches * (NOT trained)) FROM batch_use")" "38|0"
is "killed: the last run ends where the job did" "$(sql "$T/k0.sqlite" "SELECT step + batches FROM batch_use ORDER BY id DESC LIMIT 1")" "38"
is "resumed: what it skips is not trained on" "$(sql "$T/k1.sqlite" "SELECT sum(batches * (NOT trained)), sum(batches * trained) FROM batch_use")" "10|$(grep -c '^1' "$T/of/used")"
is "resumed: it has read the checkpoint before it iterated" "$(sql "$T/k1.sqlite" "SELECT action, via, path, iterations, step FROM state_event ORDER BY t_ns LIMIT 1")" "restore|torch.load|$T/of/ckpt.pt|0|0"
is "without --content there is nothing of it" "$(sql "$T/k1.sqlite" "SELECT count(*) FROM batch_content")" "0"
# Lists that fill several windows of the file: each is whole, and each batch has its mark.
cat >"$T/long.py" <<'P'
import torch
data = torch.utils.data.TensorDataset(torch.arange(200000.0)[:, None])
model = torch.nn.Linear(1, 1)
for (x,) in torch.utils.data.DataLoader(data, 4096, shuffle=True):
    model(x).mean().backward()
P
run timeout 100 "$PP" exec -q --force -o "$T/long.sqlite" -- "${PYTHON:-/usr/bin/python3}" "$T/long.py"
is "several windows: batches that were trained on" "$(sql "$T/long.sqlite" "SELECT sum(batches), count(*) > 1 FROM batch_use WHERE trained")" "49|1"
run timeout 60 "$PP" ranks "$T/long.sqlite" --audit --json
is "several windows: each sample once" "$(json "$OUT" '$.epochs[0].distinct')" 200000
done_testing
