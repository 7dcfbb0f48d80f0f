# mk/portable.mk: one binary to carry to another machine: our dependencies linked in, only libc and its kin shared (a GPU's libraries are opened at run time,
# and for that libc has to be). A dependency without a static library stays shared, and is named.

PORTABLE := $(B)/pipeprobe-portable
.PHONY: portable portable-built gpu-check
portable: deps
	$(Q)CC='$(CC)' bash tests/deps.sh portable
	$(Q)$(MAKE) $(JOBS) SAN= portable-built
portable-built: $(PORTABLE)

# With a GPU: its tests and benches, as one table. Without: a sentence, and exit code 77 (make says 2).
gpu-check: all
	$(Q)bash tests/gpu_check.sh $(B)/pipeprobe

# -lX becomes the static library where there is one.
portable_lib = $(if $(filter-out lib%,$(shell $(CC) -print-file-name=lib$(1).a)),-l:lib$(1).a,-l$(1))
PORTABLE_LIBS = $(foreach l,$(patsubst -l%,%,$(filter-out -lm -lpthread -ldl,$(filter -l%,$(shell pkg-config --static --libs $(PKGS))))),$(call portable_lib,$(l)))

$(PORTABLE): $(B)/tui/cli/main.o $(B)/libpipeprobe-all.a
	$(call say,LINK,$@)
	$(Q)$(CC) $(LDFLAGS) $(PIE) -static-libgcc -o $@ $^ -Wl,--start-group $(PORTABLE_LIBS) -Wl,--end-group -lm -lpthread -ldl
	@echo '  needs  '$$(readelf -d $@ | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p')
