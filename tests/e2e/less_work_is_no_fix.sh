#!/bin/bash
# `pipeprobe verify`: a change that gains by doing less is not comparable, whatever it gains.
# asleep
. "$(dirname "$0")/../lib.sh"
need_pipeprobe
. tests/verify.sh

# Faster, and less work (each kind of less: test_verify_work).
verify batch 's/num_workers=1/num_workers=8/; s/batch_size=8/batch_size=2/'
is "a smaller batch" "$rc $(outcome) $(differs)" "1 not-comparable batch_size,batch_bytes"
verify transform 's/sleep(0.003)/sleep(0.0005)/'
is "a transform left out" "$rc $(outcome) $(differs)" "1 not-comparable sample_work"
verify cached 's/    def __getitem__(self, i):/    kept = None\n\n    def __getitem__(self, i):\n        if self.kept is not None:\n            return self.kept/; s/return torch.zeros(3)/self.kept = torch.zeros(3)\n        return self.kept/'
is "a sample that is kept" "$rc $(outcome) $(differs)" "1 not-comparable sample_work"

# With a command that runs it as it was, less work may be the change; it is never called fixed.
verify faster 's/sleep(0.003)/sleep(0.0005)/' --before "$PYTHON train.py"
is "a faster transform" "$rc $(outcome) $(differs)" "0 improved sample_work"
like "nothing is put back" "$(sql faster/02-before.sqlite "SELECT group_concat(key) FROM meta WHERE section = 'tune'")" "^(ended|signal|,)*$"
done_testing
