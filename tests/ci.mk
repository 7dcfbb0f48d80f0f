# tests/ci.mk: the quality of the CI gate, as a table (about 11 minutes; ARGS=--quick for 3). Included by the Makefile.
.PHONY: bench-ci bench-ci-built
bench-ci: deps
	$(Q)$(MAKE) $(JOBS) SAN= bench-ci-built

bench-ci-built: $(B)/pipeprobe $(B)/samples/make_dataset $(B)/tests/bench/bench_ci
	$(Q)bash tests/bench/bench_ci.sh $(ARGS)
