# mk/inject.mk: the injection library, and our own NVTX ranges where the headers are found. Included by the Makefile.
#
# libpipeprobe_inject.so goes into foreign processes: only the base minimum and the recorder, no SQLite, no symbol shown but the entry point.
.DEFAULT_GOAL := all

INJECT_ONLY := $(wildcard collectors/attach/inject/*.c)
INJECT_SRC := $(INJECT_ONLY) $(addprefix collectors/attach/,namemap.c process_file.c rank_session.c) probe/ranks/identity.c \
  $(addprefix probe/trace/,session.c slot.c thread.c stamp.c join.c) $(addprefix probe/base/,err.c guard.c nearest.c)
INJECT_OBJ := $(INJECT_SRC:%.c=$(B)/pic/%.o)
INJECT := $(B)/libpipeprobe_inject.so

# NVTX v3 is header-only. NVTX_INCLUDE=DIR names another place, NVTX_INCLUDE= (empty) builds without.
NVTX_INCLUDE ?= $(firstword $(patsubst %/nvtx3/nvToolsExt.h,%,$(wildcard $(addsuffix /nvtx3/nvToolsExt.h,/usr/include /usr/local/include /usr/local/cuda/include))))
HAVE_NVTX := $(if $(wildcard $(NVTX_INCLUDE)/nvtx3/nvToolsExt.h),1,0)
NVTX_CPPFLAGS := -DPP_HAVE_NVTX=$(HAVE_NVTX) $(if $(filter 1,$(HAVE_NVTX)),-isystem $(NVTX_INCLUDE))
$(B)/collectors/nvtx/%.o $(B)/tests/tools/nvtx_v3.o: CPPFLAGS += $(NVTX_CPPFLAGS)

all unit helpers bench-bins: $(INJECT)

# With the libraries of libc as its argument; mk/portable.mk links it once more.
link_inject = $(CC) $(LDFLAGS) -shared -Wl,-z,nodelete $(if $(SAN),,-Wl$(comma)--no-undefined) -Wl,--gc-sections -Wl,-soname,$(@F) -o $@ $(INJECT_OBJ) $(1)
$(INJECT): $(INJECT_OBJ)
	$(call say,LINK,$@)
	$(Q)$(call link_inject,-lm -lpthread -ldl)

$(B)/pic/%.o: %.c | $(NEEDS)
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D) && $(CCACHE) $(CC) $(CPPFLAGS) $(CFLAGS) -fPIC -fvisibility=hidden -ffunction-sections -fdata-sections -MMD -MP -c -o $@ $<

install: install-inject
.PHONY: install-inject
install-inject: $(INJECT)
	install -D -m 755 $(INJECT) $(DESTDIR)$(PREFIX)/lib/libpipeprobe_inject.so
	install -d $(DESTDIR)$(PREFIX)/share/pipeprobe/maps
	install -m 644 $(wildcard samples/maps/*.map) $(DESTDIR)$(PREFIX)/share/pipeprobe/maps/
	install -d $(DESTDIR)$(PREFIX)/share/pipeprobe/python
	install -m 644 $(wildcard samples/python/*.py) $(DESTDIR)$(PREFIX)/share/pipeprobe/python/
	install -d $(DESTDIR)$(PREFIX)/share/pipeprobe/skills/pipeprobe/references
	install -m 644 samples/skills/pipeprobe/SKILL.md $(DESTDIR)$(PREFIX)/share/pipeprobe/skills/pipeprobe/
	install -m 644 $(wildcard samples/skills/pipeprobe/references/*.md) $(DESTDIR)$(PREFIX)/share/pipeprobe/skills/pipeprobe/references/

uninstall: uninstall-inject
.PHONY: uninstall-inject
uninstall-inject:
	rm -f $(DESTDIR)$(PREFIX)/lib/libpipeprobe_inject.so
	rm -rf $(DESTDIR)$(PREFIX)/share/pipeprobe

-include $(INJECT_OBJ:.o=.d)

# The tests of chaining load another tool (tests/tools/libfake_tool.c).
$(B)/tests/unit/collectors/attach/test_inject_guest: | $(B)/tests/tools/libfake_tool.so $(INJECT)
