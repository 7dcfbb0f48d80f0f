#!/bin/bash
# COMMAND, DURATION and BEFORE (may be empty) from the environment: records the job, and writes a summary, a warning at the line that makes the
# DataLoader where a setting of it gains, and the paths of what it made into $GITHUB_OUTPUT.
set -u
out=$(mktemp -d) || exit 1
recording=$out/job.sqlite answer=$out/answer.json summary=$out/summary.md
pipeprobe exec -q --duration "$DURATION" -o "$recording" -- bash -c "$COMMAND" || exit
pipeprobe answer "$recording" >"$answer"
pipeprobe report "$recording" --format md >"$summary"
# Texts of a recording are a stranger's: what would end a workflow command is escaped.
python3 - "$answer" <<'PY'
import json, sys

answer = json.load(open(sys.argv[1]))
known, loader = answer["untrusted"], answer["loader"] or {}
place = known.get((loader.get("place") or "@")[1:], "")
change = next((c for c in answer["changes"] if c["advice"] == "do" and c["kind"] == "setting"), None)
if not answer["stop"] and change and place:
    escape = lambda text, also: "".join("%%%02X" % ord(c) if c in "%\r\n" + also else c for c in str(text))
    file, _, line = place.rpartition(":")
    sets = ", ".join("%s=%r" % item for item in change["set"].items())
    text = "%s/%s: %s is predicted to gain %+.0f %% (%+.0f to %+.0f %%)" % (
        answer["class"], answer["cause"], sets, *(100 * change[k] for k in ("gain", "low", "high")))
    print("::warning file=%s,line=%s,title=pipeprobe::%s" % (escape(file, ":,"), escape(line, ":,"), escape(text, "")))
PY
if [ -n "$BEFORE" ]; then
    pipeprobe verify "$BEFORE" --yes -q --md -d "$DURATION" -o "$out/verify" -- bash -c "$COMMAND" >"$out/verify.md"
    cat "$out/verify.md" "$summary" >"$out/both.md" && mv "$out/both.md" "$summary"
fi
cat "$summary" >>"${GITHUB_STEP_SUMMARY:-/dev/null}"
printf '%s=%s\n' answer "$answer" recording "$recording" summary "$summary" >>"${GITHUB_OUTPUT:-/dev/stdout}"
