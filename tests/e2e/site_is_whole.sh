#!/bin/bash
# The documentation as a site: mkdocs makes it of the same Markdown, with search, and every link and anchor in it leads somewhere. mkdocs is Debian's, or
# comes from PyPI into build/venvs/docs; without it this is skipped by name.
. "$(dirname "$0")/../lib.sh"
venv=${VENVS:-$PWD/build/venvs}/docs
python=python3
if ! python3 -c 'import mkdocs' 2>/dev/null; then
    python=$venv/bin/python
    [ -e "$venv/complete" ] || { rm -rf "$venv"; { python3 -m venv "$venv" && timeout 180 "$python" -m pip install -q --retries 0 'mkdocs<2' && touch "$venv/complete"; } >"$T/pip" 2>&1; }
    [ -e "$venv/complete" ] || skip_all "mkdocs is not installed (apt-get install mkdocs), and pip cannot have it: $(tail -n 1 "$T/pip" | cut -c1-100)"
fi
run timeout 200 "$python" mk/tools/site.py "$T/site"
is "the site is made, and every link leads somewhere" "$rc" 0
like "all pages are in it" "$(cat "$OUT")" "^1[0-9][0-9] pages, [0-9]{3,} links$"
check "the first page is the README" grep -q 'A GPU that waits for data' "$T/site/site/index.html"
check "and there is a search" test -s "$T/site/site/search/search_index.json"
check "each guide has its page" test "$(ls "$T/site/site/guide" | wc -l)" -eq "$(ls docs/guide/*.md | wc -l)"
is "each verdict has its page" "$(ls "$T/site/site/reference/verdicts" | wc -l)" "$(grep -cE '^### (.* / |.*no cause named|not measured)' docs/reference/verdicts.md)"
is "each command has its page" "$(ls "$T/site/site/reference/commands" | sed 's/.html$//' | sort | paste -sd' ')" "$(sed -n 's/^## pipeprobe //p' docs/reference/commands.md | sort | paste -sd' ')"
for page in index guide/reading-a-report guide/dashboard; do check "$page has its picture" grep -qE '<img [^>]*src="[^"]*pictures/' "$T/site/site/$page.html"; done
check "files that pages link to are there" test -s "$T/site/site/files/samples/container/Containerfile"

is "pages and samples name this version" "$(grep -rohE 'pipeprobe[-:][0-9]+\.[0-9]+\.[0-9]+' README.md docs samples --include=*.md --include=*.yaml | sed 's/.*[-:]//' | sort -u)" "$(sed -n 's/^VERSION := //p' Makefile)"

# ---- the pictures are of this program ----
need_built all "$PP"
run python3 mk/tools/pictures.py "$PP" tests/recordings/train.sqlite "$T/pictures" --text
for picture in report dashboard; do check "docs/pictures/$picture.svg is what make golden makes" cmp "$T/pictures/$picture.svg" docs/pictures/$picture.svg; done

# ---- the support matrix is what a run printed, beside what it did not have ----
cp docs/results/support.md "$T/support.md"
printf '%s\n' '# 9.9: Python 3.99, PyTorch 9.9.0' 'ok 1 - 9.9 plain: exit status' 'ok 2 - 9.9 plain: phases' 'ok 3 - 9.9 hdf5 # SKIP no h5py' \
    '# grain: grain 77.1.2' 'ok 4 - grain transform: it runs without' 'ok 5 - grain bound: the step' >"$T/tap"
run python3 mk/tools/support_matrix.py "$T/tap" --page "$T/support.md"
is "a run's results are in the table" "$rc $(sed -n '/^| job/{s/ | its.*//; s/.*| //; p}; /^| plain /p; /^| hdf5 /p' "$T/support.md" | sed 's/ | [^|]*|$//; s/.*| //' | paste -sd,)" "0 Python 3.99, PyTorch 9.9.0,yes,-"
is "a loader's, too" "$(grep '^| grain |' "$T/support.md" | head -n 1 | cut -d'|' -f 2,3,4,6)" " grain | grain 77.1.2 | yes | yes "
is "and what it did not have stays" "$(grep -cF "$(sed -n '/^| two_loaders/s/ | [^|]*|$//p' docs/results/support.md)" "$T/support.md")" 1
sed -i 's/^ok 2/not ok 2/' "$T/tap"
run python3 mk/tools/support_matrix.py "$T/tap" --page "$T/support.md"
like "a failure is one, and the table says it" "$rc $(grep '^| plain ' "$T/support.md")" "^1 .*\| NO \|"

# ---- samples that the pages name ----
run sh -n samples/slurm/verdict_to_comment.sh
is "the script for SLURM is one" "$rc" 0
check "Kubernetes' manifest is YAML, and wraps the command" "$python" -c 'import sys, yaml
job = yaml.safe_load(open("samples/kubernetes/job.yaml"))
container = job["spec"]["template"]["spec"]["containers"][0]
sys.exit(container["command"][:2] != ["/pipeprobe/bin/pipeprobe", "exec"] or container["command"][-1] != "--" or container["args"][0] != "python")'
"$PP" run --synthetic n=4000,size=32x32 --duration 2s --workers 2 --quiet -o "$T/run.sqlite" >/dev/null 2>&1
mkdir "$T/bin"
printf '#!/bin/sh\nprintf "%%s\\n" "$@"\n' >"$T/bin/scontrol"
printf '#!/bin/sh\nexec "%s" "$@"\n' "$PP" >"$T/bin/pipeprobe"
chmod +x "$T/bin/"*
PATH=$T/bin:$PATH SLURM_JOB_ID=17 run sh samples/slurm/verdict_to_comment.sh "$T/run.sqlite"
like "the verdict goes into the job's comment" "$(paste -sd' ' "$OUT")" "^update JobId=17 Comment=pipeprobe: (input-bound|not input-bound|cpu-starved|inconclusive).*: $T/run.sqlite$"
PATH=$T/bin:$PATH SLURM_JOB_ID=17 run sh samples/slurm/verdict_to_comment.sh "$T/none.sqlite"
is "and a missing recording fails no job" "$rc $(cat "$OUT")" "0 "
done_testing
