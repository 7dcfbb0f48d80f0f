# tests/test.mk: what people and CI call: packages, tests, the demo, the numbers, installing. Included by the Makefile.
#
# pkg-config is asked when make reads the Makefile, so a target that may install packages first builds in a second make.

PREFIX ?= /usr/local
# Where pages, packages and archives are made.
DIST ?= build
DEMO := build/demo
TEST_LIMIT ?= 300
E2E := $(sort $(wildcard tests/e2e/*.sh))
# A script that takes a second or two says so on a line "# quick".
QUICK_E2E := $(shell grep -l '^\# quick' $(E2E) /dev/null)
# What is held against the sources themselves, the objects made of them, and the pages.
CHECKS := tests/check_layers.sh tests/check_links.sh tests/check_format.sh tests/check_docs.sh tests/check_sizes.sh
# Parallel unless the number of jobs is given.
JOBS = $(if $(filter -j% --jobserver%,$(MAKEFLAGS)),,-j$(shell nproc))
RUN_TESTS := CC='$(CC)' bash tests/run.sh -t $(TEST_LIMIT) -j $(shell nproc) -f $$((2 * $(shell nproc) + 1))
# The unit tests of which a build with ThreadSanitizer has something to watch: those that start threads, as the plain build tells. These are linked with code
# that could start some, and start none: one that does ends there, in every build (tests/support/one_thread.c).
ONE_THREAD := tui/dash/test_dash_sizes collectors/store/test_store_hostile report/live/test_outlook report/source/test_kept_requests collectors/import/test_import \
  collectors/store/test_store_stack collectors/store/test_log_vfs collectors/store/test_store_files collectors/store/test_store report/ranks/test_digest_follow \
  report/metrics/test_metrics report/live/test_live report/ranks/test_collectives collectors/store/test_store_request collectors/store/test_store_overwritten \
  collectors/import/test_xplane collectors/import/test_dftracer collectors/import/test_nsys collectors/import/test_scan collectors/store/test_store_rollup \
  collectors/attach/test_activity collectors/attach/test_requests collectors/attach/test_order_files probe/dataset/test_megatron probe/storage/cache/test_cache_damage tui/dash/test_dash_keys
$(ONE_THREAD:%=$(B)/tests/unit/%): LDFLAGS += -Wl,--wrap=pthread_create -Wl,-u,__wrap_pthread_create
THREADED = $$(grep -l pthread_create $(filter-out $(ONE_THREAD:%=build/release/tests/unit/%),$(UNIT:$(B)/%=build/release/%)) | sed 's|^build/release/|$(1)/|')
# `make test` runs every unit test under ASan and UBSan, and these plain as well: what they judge (times, allocations, bits that the optimiser makes) a
# sanitizer changes. `make check` runs all of them plain.
PLAIN = $(patsubst tests/unit/%.c,$(B)/tests/unit/%,$(shell grep -rlE --include='test_*.c' '__SANITIZE|SEED_STEP|clock_gettime|pp_now|thread_cpu_ns|getrusage|mallinfo' tests/unit; \
  find tests/unit/probe/decode tests/unit/probe/transform -name 'test_*.c'))

.PHONY: newest-torch test-builds deps deps-test deps-cuda quick check check-built check-links check-layers check-format check-sizes format test test-built demo demo-built bench bench-built golden man install uninstall deb

deps:
	$(Q)CC='$(CC)' bash tests/deps.sh build
	$(Q)CC='$(CC)' bash tests/deps.sh python || echo "going on without Python.h: pipeprobe exec will record annotated programs, and no unmodified PyTorch job"
	$(Q)CC='$(CC)' bash tests/deps.sh decoders || echo "going on without libwebp: WebP images will not be decoded"
	$(Q)CC='$(CC)' bash tests/deps.sh formats || echo "going on without them: Parquet files compressed by Snappy or LZ4, and HDF5 files, will not be read"
	$(Q)CC='$(CC)' bash tests/deps.sh remote || echo "going on without curl/curl.h: data sets will be read from file systems alone, and not from http:// and s3://"
	$(Q)CC='$(CC)' bash tests/deps.sh metrics || echo "going on without them: --metrics (libmicrohttpd), or --metrics-push, --otlp and --mlflow (libcurl), will not be available"

# Checkers (of pages, packages, completion), servers (Prometheus, nginx) and peers (PyTorch, PIL) are best effort: without them the tests that ask them are skipped by name.
deps-test: deps
	$(Q)CC='$(CC)' bash tests/deps.sh test
	$(Q)CC='$(CC)' bash tests/deps.sh checkers || echo "going on without them: what they would have checked will be skipped by name"
	$(Q)CC='$(CC)' bash tests/deps.sh speed || echo "going on without ccache: a clean build compiles every source again"
	$(Q)CC='$(CC)' bash tests/deps.sh servers || echo "going on without them: the tests with Prometheus, node_exporter, the Pushgateway and nginx will be skipped by name"
	$(Q)CC='$(CC)' bash tests/deps.sh peers || echo "going on without them: the tests that compare with PyTorch and PIL will be skipped by name"

deps-cuda:
	$(Q)CC='$(CC)' bash tests/deps.sh cuda

# What a change against BASE (HEAD) touches: tests/quick.sh says how it chooses.
quick: deps
	$(Q)$(if $(BASE),BASE='$(BASE)') BUILD='$(B)' bash tests/quick.sh $(ARGS)

check: deps
	$(Q)CC='$(CC)' bash tests/deps.sh test
	$(Q)$(MAKE) $(JOBS) check-built

check-built: all unit helpers
	$(Q)bash tests/check_sizes.sh --table
	$(Q)$(RUN_TESTS) $(CHECKS) $(UNIT) $(QUICK_E2E)

check-links: all
	$(Q)BUILD='$(B)' bash tests/check_links.sh

check-layers:
	$(Q)bash tests/check_layers.sh

check-format:
	$(Q)bash tests/check_format.sh

check-sizes:
	$(Q)bash tests/check_sizes.sh

format:
	$(Q)bash tests/check_format.sh --rewrite

# PyTorch comes from PyPI (a download, and a CPU that unpacks it) while the builds go on: a job more than CPUs.
test: deps-test
	$(Q)$(MAKE) $(if $(JOBS),-j$$(($$(nproc) + 1))) newest-torch test-builds
	$(Q)$(MAKE) $(JOBS) SAN= test-built

newest-torch:
	$(Q)bash tests/newest_torch.sh || echo "going on without it: PyTorch jobs will be tested with Debian's torch alone"

test-builds:
	$(Q)$(MAKE) SAN= all unit helpers bench-bins
	$(Q)$(MAKE) SAN=address,undefined all unit helpers
	$(Q)$(MAKE) SAN=thread build/thread/pipeprobe $(call THREADED,build/thread)

# The slowest first, so that none is left to run by itself at the end.
test-built: all unit helpers bench-bins
	$(Q)$(RUN_TESTS) -r $(call THREADED,build/thread) $(UNIT:build/release/%=build/address-undefined/%) $(E2E) $(CHECKS) $(sort $(PLAIN))

demo: deps
	$(Q)$(MAKE) $(JOBS) SAN= demo-built

$(DEMO)/images.made: $(B)/samples/make_dataset
	$(Q)rm -rf $(DEMO)/images && mkdir -p $(DEMO) && $< $(DEMO)/images --n 400 && touch $@

# One worker feeds a trainer that could take a batch every 10 ms: no machine decodes 32 images in that time on one core.
demo-built: all $(DEMO)/images.made
	$(Q)$(B)/pipeprobe doctor --only 'idle machine' && echo
	$(Q)$(B)/pipeprobe run $(DEMO)/images --workers 1 --batch-size 32 --step-ms 10 --duration 10 -o $(DEMO)/run.sqlite --force
	@printf '\nThe recorded run is %s, a SQLite file. Look into it with\n  sqlite3 -box %s "SELECT * FROM v_phase_summary"\n  $(B)/pipeprobe report %s\n' $(DEMO)/run.sqlite $(DEMO)/run.sqlite $(DEMO)/run.sqlite
	@printf 'and see what a second worker does:\n  $(B)/pipeprobe run %s/images --workers 2 --batch-size 32 --step-ms 10 --duration 10 -o %s/two.sqlite --force\n' $(DEMO) $(DEMO)

bench: deps-test
	$(Q)$(MAKE) $(JOBS) SAN= bench-built

bench-built: all bench-bins helpers $(B)/tests/unit/collectors/store/test_store_recover
	$(Q)bash tests/bench/bench.sh

# What a frame of the dashboard costs, and what watching takes from a run (docs/guide/dashboard.md).
.PHONY: bench-top
bench-top: deps
	$(Q)$(MAKE) $(JOBS) SAN= all bench-bins helpers
	$(Q)$(B)/tests/bench/bench_dash
	$(Q)bash tests/bench/watch.sh

# Which line costs how much, of planted jobs whose truth is their own clock's, and what reading stacks costs a job. JOBS_N and SECONDS of each.
.PHONY: bench-lines
bench-lines: deps-test
	$(Q)$(MAKE) $(JOBS) SAN= all
	$(Q)python3 tests/bench/lines/planted.py $(B)/pipeprobe $(or $(JOBS_N),60) $(or $(SECONDS),30)
	$(Q)python3 tests/bench/lines/throughput.py $(B)/pipeprobe 12 30

# What attach says of 20 running field jobs from outside, beside what exec records of the same runs (17 min). ONLY, FIELD_PYTHON.
.PHONY: bench-outside
bench-outside: deps-test
	$(Q)$(MAKE) $(JOBS) SAN= all
	$(Q)SCRIPT=tests/bench/lines/outside.py $(if $(FIELD_PYTHON),FIELD_PYTHON='$(FIELD_PYTHON)') bash tests/field/field.sh $(ONLY)

# Changes of a DataLoader that is being iterated (exec --tune): order, contents and random numbers of 12 cases and SEED plans each are those of a run
# without. PYTHONS are those to try.
.PHONY: bench-live
bench-live: deps-test
	$(Q)$(MAKE) $(JOBS) SAN= all
	$(Q)for p in $(or $(PYTHONS),python3); do echo "$$p" && PYTHON=$$p SEED=$(or $(SEED),1:20) CASES="$(or $(CASES),all many)" LIMIT=7200 bash tests/e2e/live_changes_keep_every_batch.sh || exit 1; done

# 30 jobs with the grid of their settings: what a script makes of `pipeprobe answer`. ONLY; PYTHON one with torch 2.6 or later (in_order).
.PHONY: bench-grid
bench-grid: deps-test
	$(Q)$(MAKE) $(JOBS) SAN= all
	$(Q)$(or $(PYTHON),build/venvs/torch/bin/python) -W ignore tests/bench/grid/grid.py $(B)/pipeprobe $(if $(ONLY),'$(ONLY)')

# Jobs of that grid under exec --tune: 20 that began badly, 20 where nothing gains. ONLY, PYTHON; an idle machine.
.PHONY: bench-tuned
bench-tuned: deps-test
	$(Q)$(MAKE) $(JOBS) SAN= all
	$(Q)$(or $(PYTHON),build/venvs/torch/bin/python) -W ignore tests/bench/grid/live.py $(B)/pipeprobe $(if $(ONLY),'$(ONLY)')

# What recording an unmodified PyTorch job costs (docs/results/performance.md). PYTHON, ROUNDS and BESIDE as the script says.
.PHONY: bench-attach
bench-attach: deps-test
	$(Q)$(MAKE) $(JOBS) SAN= all
	$(Q)B=$(B) bash tests/bench/attach/attach.sh

# Labelled stalls of known cause on this machine: accuracy of the verdicts, error of the predictions (docs/results/accuracy.md). BUDGET=MINUTES, HALF, SEEDS, ONLY and
# TRUTH as the script says.
.PHONY: bench-diagnosis
bench-diagnosis: deps
	$(Q)$(MAKE) $(JOBS) SAN= all helpers
	$(Q)$(foreach v,BUDGET HALF SEEDS ONLY TRUTH,$(if $($(v)),$(v)='$($(v))')) bash tests/bench/diagnosis.sh

# The same for unmodified PyTorch jobs, whose stalls data, options and the operating system make. SEEDS, ONLY, ROUNDS, TRUTH, KEEP, RUN_SECONDS, TRACEML and PYTHON as the script
# says.
.PHONY: lab-jobs
lab-jobs: deps-test
	$(Q)$(MAKE) $(JOBS) SAN= all helpers
	$(Q)$(foreach v,SEEDS ONLY ROUNDS TRUTH KEEP RUN_SECONDS TRACEML PYTHON,$(if $($(v)),$(v)='$($(v))')) bash tests/bench/lab_jobs.sh

# Jobs after public reports, each with and without its fix: cause, fix and predicted gain against the truth (tests/field). ONLY, FIELD_PYTHON, and ARGS as
# run.py says: ARGS=--busy has a busy process per CPU beside.
.PHONY: field
field: deps-test
	$(Q)$(MAKE) $(JOBS) SAN= all helpers
	$(Q)$(if $(FIELD_PYTHON),FIELD_PYTHON='$(FIELD_PYTHON)') bash tests/field/field.sh $(if $(ONLY),'$(ONLY)') $(ARGS)

# Jobs after public bugs of a resume, each with its fault and its fix: culprit, first batch that differs and numbers of samples against the jobs' own logs
# (tests/resume). ONLY: names; RESUME_PYTHON, RESUME_OVERLAYS and PYTHON as run.py says.
.PHONY: resume-jobs
resume-jobs: deps-test
	$(Q)$(MAKE) $(JOBS) SAN= all helpers
	$(Q)$(foreach v,RESUME_PYTHON RESUME_OVERLAYS PYTHON,$(if $($(v)),$(v)='$($(v))')) python3 tests/resume/run.py $(ONLY) $(ARGS)

# The order in a recording behind 100 kills (KILLS) with SIGKILL; and 16 of those jobs alone and recorded: the same samples, order and bytes.
.PHONY: order-kills resume-untouched
order-kills: deps-test
	$(Q)$(MAKE) $(JOBS) SAN= all
	$(Q)$(if $(PYTHON),PYTHON='$(PYTHON)') python3 tests/resume/order_kills.py $(or $(KILLS),100)
resume-untouched:
	$(Q)$(MAKE) resume-jobs ARGS='--untouched $(ARGS)'

# make WITHOUT=SUBJECT for each subject by itself; `make test` has two of them, and all together.
.PHONY: without-each
without-each: deps
	$(Q)$(MAKE) $(JOBS) SAN= all
	$(Q)WITHOUT_EACH=1 bash tests/e2e/a_build_leaves_out_a_subject.sh

# What `exec --content` costs a job that decodes JPEGs, in CPU time of its workers. ROUNDS, PYTHON.
.PHONY: bench-content
bench-content: deps-test
	$(Q)$(MAKE) $(JOBS) SAN= all helpers
	$(Q)$(if $(PYTHON),PYTHON='$(PYTHON)') python3 tests/bench/content_cost.py $(ROUNDS)

# PyTorch jobs whose samples come over the network, by 18 clients, and jobs that only look so: reads, requests, causes and gains against the job's own clock and
# the server's log (docs/results/network.md). ONLY, FIELD_PYTHON and ARGS as network.py says; the environment is that of `make field`.
.PHONY: bench-network
bench-network: deps-test
	$(Q)$(MAKE) $(JOBS) SAN= all helpers
	$(Q)SCRIPT=tests/bench/network.py $(if $(FIELD_PYTHON),FIELD_PYTHON='$(FIELD_PYTHON)') bash tests/field/field.sh $(if $(ONLY),--only '$(ONLY)') $(ARGS)

# A slow rank among four, made from outside, under torchrun and mpiexec (docs/results/accuracy.md). ROUNDS, ONLY, FAULTS, KEEP, STEPS and PYTHON as the
# script says.
.PHONY: bench-ranks
bench-ranks: deps-test
	$(Q)$(MAKE) $(JOBS) SAN= all helpers
	$(Q)$(foreach v,ROUNDS ONLY FAULTS KEEP STEPS PYTHON,$(if $($(v)),$(v)='$($(v))')) bash tests/bench/ranks.sh

# A recorded PyTorch job over MINUTES (60) or EPOCHS (1000): memory, files and the recording must not grow.
.PHONY: soak-attach
soak-attach: deps-test
	$(Q)$(MAKE) $(JOBS) SAN= all
	$(Q)$(if $(PYTHON),PYTHON='$(PYTHON)') bash tests/bench/soak_attach.sh $(if $(MINUTES),--minutes $(MINUTES)) $(if $(EPOCHS),--epochs $(EPOCHS))

# Jobs of PyTorch's frameworks, each with and without pipeprobe, in environments made from PyPI; VENVS, ONLY, TOGETHER and LIMIT as the script says.
.PHONY: test-frameworks
test-frameworks: deps-test
	$(Q)$(MAKE) $(JOBS) SAN= all
	$(Q)$(foreach v,VENVS ONLY TOGETHER LIMIT,$(if $($(v)),$(v)='$($(v))')) bash -o pipefail -c 'bash tests/frameworks.sh | tee build/frameworks.tap'

# What that run saw, as the table of docs/results/support.md.
.PHONY: support-matrix
support-matrix:
	$(Q)python3 mk/tools/support_matrix.py build/frameworks.tap --page docs/results/support.md

# Jobs that are resumed right, of plain PyTorch and of its frameworks: resume-test accuses none; and at random kills. VENV, PYTHON, KILLS, NAMES.
.PHONY: resume-right resume-kills
resume-right: deps-test
	$(Q)$(MAKE) $(JOBS) SAN= all
	$(Q)$(foreach v,VENV PYTHON KILLS,$(if $($(v)),$(v)='$($(v))')) bash tests/resume/right.sh $(NAMES)
resume-kills: deps-test
	$(Q)$(MAKE) $(JOBS) SAN= all
	$(Q)$(foreach v,VENV PYTHON,$(if $($(v)),$(v)='$($(v))')) OFFLINE=1 KILLS='$(or $(KILLS),--kills 50)' bash tests/resume/right.sh $(or $(NAMES),offset drops set-epoch persistent evaluation)

# Python 3.14 and later with PyTorch: attach and exec; VENVS, ONLY and PIPEPROBE_PYTHON314, 314T and 315 as the script says.
.PHONY: test-python314
test-python314: deps-test
	$(Q)$(MAKE) $(JOBS) SAN= all
	$(Q)$(foreach v,VENVS ONLY,$(if $($(v)),$(v)='$($(v))')) bash tests/python314.sh

# The wheel and the README's job in root file systems of distributions, and the container image; ROOTS, ONLY and WHEEL as the script says.
.PHONY: test-roots
test-roots: wheel
	$(Q)$(foreach v,ROOTS ONLY WHEEL,$(if $($(v)),$(v)='$($(v))')) bash tests/roots.sh

# What tools say of the labelled recordings of samples/stallbench, into docs/results/stallbench.md.
.PHONY: stallbench
stallbench:
	$(Q)$(MAKE) $(JOBS) SAN= all
	$(Q)python3 samples/stallbench/stallbench.py --pipeprobe build/release/pipeprobe --page docs/results/stallbench.md $(ARGS)

# Open MPI, MPICH, SLURM, torchrun and Ray with pipeprobe in front of each rank; VENVS, ONLY, PYTHON and TORCH as the script says.
.PHONY: test-launchers
test-launchers: deps-test
	$(Q)$(MAKE) $(JOBS) SAN= all
	$(Q)$(foreach v,VENVS ONLY PYTHON TORCH,$(if $($(v)),$(v)='$($(v))')) bash tests/launchers.sh

# Buckets of another S3 server than our own: moto's, from PyPI.
.PHONY: test-moto
test-moto: deps-test
	$(Q)$(MAKE) $(JOBS) SAN= all
	$(Q)bash tests/moto.sh build/venvs/moto

# The real MLflow server, from PyPI: runs, artifacts, traces.
.PHONY: test-mlflow
test-mlflow: deps-test
	$(Q)$(MAKE) $(JOBS) SAN= all
	$(Q)bash tests/mlflow.sh build/venvs/mlflow

# Every format beside its own package: samples per second of CPU time. ROUNDS, IMAGES, VENVS and PYTHON as the script says.
.PHONY: bench-formats
bench-formats: deps-test
	$(Q)$(MAKE) $(JOBS) SAN= all helpers
	$(Q)B=$(B) $(foreach v,ROUNDS IMAGES VENVS PYTHON,$(if $($(v)),$(v)='$($(v))')) bash tests/bench/formats.sh

# JPEG decoded on the GPU: each back end of nvJPEG beside NVIDIA DALI on the same files; without a device a sentence, and exit code 77 (make says 2).
.PHONY: bench-gpu
bench-gpu: deps-test
	$(Q)$(MAKE) $(JOBS) SAN= all helpers
	$(Q)B=$(B) $(foreach v,ROUNDS IMAGES BATCH VENVS PYTHON,$(if $($(v)),$(v)='$($(v))')) bash tests/bench/gpu_decode.sh

# Every knob of the what-if against the same change made for real; QUICK=1 for two minutes of it.
.PHONY: bench-whatif
bench-whatif: deps
	$(Q)$(MAKE) $(JOBS) SAN= all
	$(Q)bash tests/bench/bench_whatif.sh $(if $(QUICK),--quick)

# Stalls of remote storage, made by the fault server: causes, and predictions against the changes made for real. QUICK=1: every third; ONLY= and SECONDS_PER_RUN= as
# the script says.
.PHONY: bench-remote
bench-remote: deps
	$(Q)$(MAKE) $(JOBS) SAN= all
	$(Q)$(foreach v,ONLY SECONDS_PER_RUN,$(if $($(v)),$(v)='$($(v))')) bash tests/bench/remote_stalls.sh $(if $(QUICK),--quick)

# pipeprobe beside PyTorch with boto3 and s3fs, and WebDataset with curl, on one server with latency; then a warm cache beside local files. IN_FLIGHT=, ROUNDS=,
# SECONDS_PER_RUN=, IMAGES=, LATENCY_MS= and PYTHON= as the script says.
.PHONY: bench-remote-peers
bench-remote-peers: deps
	$(Q)$(MAKE) $(JOBS) SAN= all
	$(Q)$(foreach v,IN_FLIGHT ROUNDS SECONDS_PER_RUN IMAGES LATENCY_MS PYTHON,$(if $($(v)),$(v)='$($(v))')) bash tests/bench/remote_peers.sh
	$(Q)bash tests/bench/bench_cache.sh

# Predictions of `pipeprobe tune` against what it measures. QUICK=1 takes 3 minutes of the 27; JOBS_OF='NAME...' some jobs alone.
.PHONY: bench-tune
bench-tune: deps
	$(Q)$(MAKE) $(JOBS) SAN= all
	$(Q)bash tests/bench/tune_predictions.sh $(if $(QUICK),--quick) $(JOBS_OF)

# Tests that compare with a kept output rewrite it instead; look at the difference before committing it.
golden: all unit helpers
	$(Q)PP_GOLDEN_UPDATE=1 $(RUN_TESTS) $(sort $(wildcard $(UNIT) tests/e2e/golden*.sh))
	$(Q)bash tests/check_docs.sh --rewrite
	$(Q)python3 mk/tools/pictures.py $(B)/pipeprobe tests/recordings/train.sqlite docs/pictures --text
	$(Q)git --no-pager diff --stat -- tests README.md docs || true

# docs/internals/pages.md and its pictures: kept recordings by an older program, OLD, and by this one.
.PHONY: pages
pages: all
	$(Q)python3 mk/tools/pages.py --old "$(OLD)" --new $(B)/pipeprobe --docs docs/internals

# The pictures of README and guides, of the recording that the tests keep (chromium and Pillow: PYTHON=).
.PHONY: docs-pictures
docs-pictures: all
	$(Q)$(or $(PYTHON),/usr/bin/python3) mk/tools/pictures.py $(B)/pipeprobe tests/recordings/train.sqlite docs/pictures

# The pages that quote the program: docs/reference/commands.md and the report in README.md.
.PHONY: docs-reference check-docs
docs-reference: all
	$(Q)bash tests/check_docs.sh --rewrite

check-docs: all
	$(Q)bash tests/check_docs.sh

# Man pages and completion, from the option tables that the program is linked with. A generator built for another machine cannot be run: RUN_DOCS names
# one of this machine; DOCS= leaves them out.
DOCS ?= $(DIST)/docs
GEN_DOCS := $(B)/mk/tools/gen_docs
GEN_DOCS_OBJ := $(patsubst %.c,$(B)/%.o,$(wildcard mk/tools/*.c))
helpers: $(GEN_DOCS)

$(GEN_DOCS): $(GEN_DOCS_OBJ) $(B)/libpipeprobe-all.a
	$(call say,LINK,$@)
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ $(LDLIBS)

-include $(GEN_DOCS_OBJ:.o=.d)

RUN_DOCS ?= $(GEN_DOCS)
man: $(RUN_DOCS)
	$(Q)rm -rf $(DOCS) && mkdir -p $(dir $(DOCS)) && $(RUN_DOCS) $(DOCS)

# What `pipeprobe help TOPIC`, `man` and the shells read, with the guides' small pictures (SVG); a wheel has all of it, too.
.PHONY: install-pages install-man
install-pages:
	@find docs -type f ! -name '*.png' | while read -r page; do install -D -m 644 $$page $(DESTDIR)$(PREFIX)/share/doc/pipeprobe/$$page || exit 1; done
install-man: man
	install -d $(DESTDIR)$(PREFIX)/share/man/man1
	install -m 644 $(DOCS)/man1/*.1 $(DESTDIR)$(PREFIX)/share/man/man1/
	install -D -m 644 $(DOCS)/pipeprobe.bash $(DESTDIR)$(PREFIX)/share/bash-completion/completions/pipeprobe
	install -D -m 644 $(DOCS)/_pipeprobe $(DESTDIR)$(PREFIX)/share/zsh/site-functions/_pipeprobe
	install -D -m 644 $(DOCS)/pipeprobe.fish $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/pipeprobe.fish

install: all $(if $(DOCS),man)
	install -D -m 755 $(B)/pipeprobe $(DESTDIR)$(PREFIX)/bin/pipeprobe
	install -d $(DESTDIR)$(PREFIX)/include/pipeprobe $(DESTDIR)$(PREFIX)/share/doc/pipeprobe
	install -m 644 include/pipeprobe/* $(DESTDIR)$(PREFIX)/include/pipeprobe/
	install -m 644 LICENSE README.md CHANGELOG.md $(DESTDIR)$(PREFIX)/share/doc/pipeprobe/
	install -D -m 644 docs/pictures/page.png $(DESTDIR)$(PREFIX)/share/doc/pipeprobe/docs/pictures/page.png
	$(Q)$(MAKE) -s install-pages $(if $(DOCS),install-man) DESTDIR=$(DESTDIR) PREFIX=$(PREFIX) DOCS=$(DOCS)

uninstall:
	rm -f $(DESTDIR)$(PREFIX)/bin/pipeprobe $(DESTDIR)$(PREFIX)/share/man/man1/pipeprobe.1 $(DESTDIR)$(PREFIX)/share/man/man1/pipeprobe-*.1
	rm -f $(DESTDIR)$(PREFIX)/share/bash-completion/completions/pipeprobe $(DESTDIR)$(PREFIX)/share/zsh/site-functions/_pipeprobe $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/pipeprobe.fish
	rm -rf $(DESTDIR)$(PREFIX)/include/pipeprobe $(DESTDIR)$(PREFIX)/share/doc/pipeprobe $(DESTDIR)$(PREFIX)/share/pipeprobe

# build/pipeprobe_VERSION-1_ARCH.deb
deb: all
	$(Q)DOCS='$(DOCS)' bash tests/deb.sh $(VERSION) $(DIST)/deb $(DIST)

help:
	@printf '%s\n' \
	'To use it:' \
	'make              builds build/release/pipeprobe and the samples' \
	'make demo         installs what is missing, builds, diagnoses a slow pipeline (under a minute)' \
	'make install      PREFIX=/usr/local DESTDIR=; make uninstall takes it away' \
	'make wheel        the Python package with the program in it, for pip install: build/pipeprobe-VERSION-py3-none-PLATFORM.whl' \
	'make wheel-aarch64  the same for aarch64, by a cross compiler (200 MB of Debian packages below build); its test is make test-roots' \
	'make deb          a Debian package, build/pipeprobe_VERSION-1_ARCH.deb' \
	'make portable     one binary with its libraries linked in, to carry to another machine; with the hooks for PyTorch, as an archive' \
	'make dist         the sources of HEAD as an archive that builds without git and a network; make docs-site: the documentation as a site; docs-links asks for its links to other hosts' \
	'make man          man pages and shell completion, into build/docs; make install does it too' \
	'make deps         the packages a build needs; deps-test: and the tests; deps-cuda: non-free, only if you ask' \
	'make clean        removes build/' \
	'' \
	'To work on it:' \
	'make test         installs what is missing, builds three times (plain, ASan+UBSan, TSan where threads are), runs every test' \
	'make check        the fast part of it: unit tests, quick end-to-end tests, include plan (< 2 min)' \
	'make quick        the tests that the files changed against HEAD touch (BASE=REVISION); ARGS=--list names them' \
	'make check-layers only the include plan and the public headers; check-links: the same plan for what is linked' \
	'make check-sizes  lines and functions of each room, and their limits' \
	'make test-frameworks  PyTorch 1.13, 2.2, 2.6 and the newest, frameworks on it, DALI, from PyPI into build/venvs (20 GB); VENVS= ONLY= TOGETHER=1 LIMIT=' \
	'make resume-right resume-test on jobs that are resumed right, frameworks from PyPI into build/venvs/resume (7 GB); resume-kills: five at 50 random batches; VENV= PYTHON= KILLS= NAMES=' \
	'make test-python314  attach and exec under Python 3.14 and 3.15: of a newer Debian, with its PyTorch, unpacked into build/venvs (1.3 GB), and a free-threaded Python built from its source; VENVS= ONLY=' \
	'make test-roots   the wheel and the job of the README in Debian 12 and 13 and Ubuntu, by debootstrap, and the container image, by buildah; ROOTS= ONLY= WHEEL=' \
	'make test-launchers  Open MPI, MPICH, SLURM, torchrun and Ray with four ranks each; Debian packages and PyPI, into build/venvs (1 GB); VENVS= ONLY= PYTHON= TORCH=' \
	'make test-moto    s3:// against the S3 server of moto, from PyPI into build/venvs/moto' \
	'make test-mlflow  --mlflow and export --to otlp against the MLflow server, from PyPI into build/venvs/mlflow (1 GB)' \
	'make format       rewrites the C sources by .clang-format (clang-format 14); make check-format only compares' \
	'make bench        the numbers: against the raw loop and PyTorch, recording cost, memory, sampler' \
	'make bench-formats samples per second of each format beside its own package (3 min)' \
	'make bench-gpu    with an NVIDIA GPU: JPEG decoded there beside NVIDIA DALI on the same files (5 min); ROUNDS= IMAGES= BATCH= VENVS= PYTHON=' \
	'make bench-whatif every knob of the what-if against the same change made for real (8 min; QUICK=1: 2 min)' \
	'make bench-remote stalls of remote storage by a fault server: causes and predictions (8 min; QUICK=1: 2 min); ONLY= SECONDS_PER_RUN=' \
	'make bench-remote-peers  pipeprobe, PyTorch with boto3 and s3fs, and WebDataset on one server with 30 ms latency; a warm cache beside local files (5 min)' \
	'make bench-tune   what tune predicts of DataLoader arguments against what it measures (28 min; QUICK=1: 3 min)' \
	'make bench-top    part of it: frames of the dashboard, and what watching takes from a run' \
	'make bench-diagnosis  verdicts, labels and predictions against stalls of known cause; BUDGET=MINUTES HALF= SEEDS= ONLY= TRUTH=' \
	'make lab-jobs     the same for unmodified PyTorch jobs (22 min); SEEDS= ONLY= ROUNDS= TRUTH= KEEP= RUN_SECONDS= TRACEML= PYTHON=' \
	'make stallbench   tools against labelled recordings (samples/stallbench), into docs/results/stallbench.md; ARGS="--tool FILE.py"' \
	'make field  jobs after public reports, with and without their fix: cause, fix and predicted gain against the truth (an hour, 6 GB); ONLY= FIELD_PYTHON= ARGS=--busy' \
	'make resume-jobs  jobs after public bugs of a resume, with and without their fix: culprit, first batch and numbers against their logs (10 min); ONLY= RESUME_PYTHON= RESUME_OVERLAYS= PYTHON=' \
	'make resume-untouched those jobs alone and recorded: the same samples, order and bytes; order-kills: the order in a recording behind SIGKILL; KILLS= PYTHON=' \
	'make without-each the program without each of the subjects of WITHOUT= (1 min)' \
	'make bench-content CPU time of exec --content in a JPEG job; ROUNDS= PYTHON=' \
	'make bench-network  PyTorch jobs over the network, 18 clients, and controls: reads, requests, causes and gains against clock and log (half an hour); ONLY= FIELD_PYTHON= ARGS=' \
	'make bench-grid   30 jobs with the grid of their DataLoader settings: what a script makes of pipeprobe answer (half an hour); ONLY= PYTHON=' \
	'make bench-tuned  40 of those jobs under exec --tune: 95 % of the best setting, nothing lost where nothing gains (2 hours); ONLY= PYTHON= TUNED=' \
	'make bench-ranks  a slow rank among four (storage, CPU) under torchrun and mpiexec: is it named, what is gained (15 min); ROUNDS= ONLY= FAULTS= KEEP= STEPS= PYTHON=' \
	'make soak-attach  a recorded PyTorch job for an hour or 1,000 epochs: memory, files and recording stay flat; MINUTES= EPOCHS= PYTHON=' \
	'make gpu-check    with an NVIDIA GPU: what only a GPU can show, as one table' \
	'make gpu-check-kit  the same to carry to a machine that can build nothing, as an archive; NVJPEG=FILE brings nvJPEG' \
	'make ptx          the step kernel again, by nvcc, into probe/device/kernel.ptx' \
	'make golden       rewrites kept outputs for review' \
	'make pages        first pages of eight recordings by an older program and by this one, as text and pictures; OLD=PROGRAM' \
	'make docs-pictures  the pictures of README and guides, from a kept recording, into docs/pictures' \
	'make docs-reference  rewrites docs/reference/commands.md and the report in README.md from the program; make check-docs compares' \
	'' \
	'SAN=address,undefined or SAN=thread   a sanitizer build beside the plain one, e.g. make SAN=thread unit' \
	'CCACHE=                               without ccache, which is used where it is installed' \
	'V=1                                   full command lines          TEST_LIMIT=300   seconds per test program'