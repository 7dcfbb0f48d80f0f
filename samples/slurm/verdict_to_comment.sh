#!/bin/sh
# verdict_to_comment.sh FILE: the verdict of a recording as the comment of the SLURM job, which squeue and sacct show:
#   squeue -j 4711 -o '%i %k'         sacct -j 4711 -o jobid,comment%80
# At the end of a batch script, which runs with the rights of the job's owner:
#   srun pipeprobe exec -o "$SLURM_SUBMIT_DIR/run-$SLURM_JOB_ID.sqlite" -- python train.py; status=$?
#   sh verdict_to_comment.sh "$SLURM_SUBMIT_DIR/run-$SLURM_JOB_ID.sqlite"; exit $status
# or from TaskEpilog with FILE by the site's rule. It never fails the job: what cannot be read leaves no comment, and says why.
file=$1
[ -n "$file" ] && [ -n "$SLURM_JOB_ID" ] || { echo "usage: verdict_to_comment.sh FILE, in a SLURM job" >&2; exit 0; }
answer=$(pipeprobe answer "$file") || [ -n "$answer" ] || exit 0
value() { printf '%s' "$answer" | sed -n "s/[^{]*{.*\"$1\":\"\{0,1\}\([^\",}]*\).*/\1/p" | sed 's/^null$//' | head -n 1; }
cause=$(value cause) stall=$(value stall_share)
comment="pipeprobe: $(value state)${cause:+, $(value class): $cause}${stall:+, waits $(awk "BEGIN { printf \"%.0f\", 100 * $stall }") % of the time}: $file"
scontrol update JobId="$SLURM_JOB_ID" Comment="$comment" || echo "verdict_to_comment.sh: SLURM did not take the comment: $comment" >&2
exit 0
