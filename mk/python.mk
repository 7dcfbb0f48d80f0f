# mk/python.mk: the hooks for Python jobs and the extension that records for them. Included by the Makefile.
#
# _pipeprobe.abi3.so goes into foreign processes: only the base minimum and the recorder, and Python's stable ABI, so that one file serves 3.8 and
# later. It is built where Python.h is found: PYTHON_INCLUDE=DIR names the place, PYTHON_INCLUDE= (empty) builds without.
#
# libpipeprobe_reads.so is preloaded: libc and nothing else.
.DEFAULT_GOAL := all

PYTHON_INCLUDE ?= $(firstword $(patsubst %/Python.h,%,$(wildcard /usr/include/python3.[0-9]*/Python.h)) \
  $(shell python3 -c 'import os, sysconfig; d = sysconfig.get_paths()["include"]; print(d if os.path.exists(d + "/Python.h") else "")' 2>/dev/null))
ATTACH_DIR := $(B)/python/attach
ATTACH_PY := $(patsubst collectors/attach/python/%,$(ATTACH_DIR)/%,$(wildcard collectors/attach/python/*.py))
ATTACH_ONLY := $(wildcard collectors/attach/python/*/*.c)
ATTACH_EXT_SRC := $(ATTACH_ONLY) $(addprefix collectors/attach/,process_file.c rank_session.c) probe/ranks/identity.c \
  $(addprefix collectors/gpu/,cupti.c cupti_records.c) \
  $(addprefix probe/trace/,session.c slot.c thread.c stamp.c join.c) $(addprefix probe/base/,err.c guard.c nearest.c sample_list.c)
ATTACH_EXT_OBJ := $(ATTACH_EXT_SRC:%.c=$(B)/pic/%.o)
READS_ONLY := $(wildcard collectors/attach/reads/*.c)
READS := $(B)/libpipeprobe_reads.so
# `import pipeprobe`: a wheel has it (mk/portable.mk), an installation for those who put it on PYTHONPATH.
PACKAGE_PY := $(wildcard collectors/attach/package/pipeprobe/*.py) collectors/attach/package/pipeprobe/py.typed
ATTACH_EXT := $(if $(PYTHON_INCLUDE),$(ATTACH_DIR)/_pipeprobe.abi3.so)

$(B)/pic/collectors/attach/python/%.o: CPPFLAGS += -isystem $(PYTHON_INCLUDE)
# Doctor says why the extension is not there.
$(B)/tui/cli/doctor/doctor_checks.o: CPPFLAGS += -DPP_HAVE_PYTHON_H=$(if $(PYTHON_INCLUDE),1,0)

all unit helpers bench-bins: $(ATTACH_PY) $(ATTACH_EXT) $(READS)

# Its names are libc's own: no alias by offset width, no checked variant in between.
$(B)/pic/collectors/attach/reads/%.o: CFLAGS := $(filter-out -fsanitize=%,$(CFLAGS)) -U_FILE_OFFSET_BITS -U_FORTIFY_SOURCE
READS_OBJ := $(READS_ONLY:%.c=$(B)/pic/%.o)
# Both with the libraries of libc as their argument; mk/portable.mk links them once more.
link_reads = $(CC) $(filter-out -fsanitize=%,$(LDFLAGS)) -shared -Wl,--no-undefined -Wl,-soname,$(@F) -o $@ $(READS_OBJ) $(1)
link_attach = mkdir -p $(@D) && $(CC) $(LDFLAGS) -shared -Wl,-z,nodelete -Wl,--gc-sections -Wl,--exclude-libs,ALL -o $@ $(ATTACH_EXT_OBJ) $(1)

$(READS): $(READS_OBJ)
	$(call say,LINK,$@)
	$(Q)$(call link_reads,-ldl)

$(ATTACH_DIR)/%.py: collectors/attach/python/%.py
	$(Q)mkdir -p $(@D) && cp $< $@

$(ATTACH_DIR)/_pipeprobe.abi3.so: $(ATTACH_EXT_OBJ)
	$(call say,LINK,$@)
	$(Q)$(call link_attach,-lm -lpthread -ldl)

# The parts of the extension that know nothing of Python have a test without it, under sanitizers too.
$(B)/tests/unit/collectors/attach/python/test_record: $(B)/tests/unit/collectors/attach/python/test_record.o \
  $(patsubst %.c,$(B)/%.o,$(wildcard collectors/attach/python/record/*.c)) $(B)/libpipeprobe-all.a
	$(call say,LINK,$@)
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ -lcmocka $(LDLIBS) -ldl

# The preloaded library, linked in front of libc's and of the sanitizers' functions, which it then calls.
$(B)/collectors/attach/reads/%.o: CFLAGS := $(CFLAGS) -U_FILE_OFFSET_BITS -U_FORTIFY_SOURCE
$(B)/tests/unit/collectors/attach/reads/test_reads: $(B)/tests/unit/collectors/attach/reads/test_reads.o $(READS_ONLY:%.c=$(B)/%.o) $(B)/libpipeprobe-all.a
	$(call say,LINK,$@)
	$(Q)$(CC) $(LDFLAGS) -rdynamic -o $@ $^ -lcmocka $(LDLIBS) -ldl

install: install-python
.PHONY: install-python
install-python: $(ATTACH_PY) $(ATTACH_EXT) $(READS)
	install -D -m 755 $(READS) $(DESTDIR)$(PREFIX)/lib/libpipeprobe_reads.so
	install -d $(DESTDIR)$(PREFIX)/lib/pipeprobe/python/attach
	install -m 644 $(ATTACH_PY) $(DESTDIR)$(PREFIX)/lib/pipeprobe/python/attach/
	$(if $(ATTACH_EXT),install -m 755 $(ATTACH_EXT) $(DESTDIR)$(PREFIX)/lib/pipeprobe/python/attach/)
	install -d $(DESTDIR)$(PREFIX)/lib/pipeprobe/python/package/pipeprobe
	install -m 644 $(PACKAGE_PY) $(DESTDIR)$(PREFIX)/lib/pipeprobe/python/package/pipeprobe/

uninstall: uninstall-python
.PHONY: uninstall-python
uninstall-python:
	rm -f $(DESTDIR)$(PREFIX)/lib/libpipeprobe_reads.so
	rm -rf $(DESTDIR)$(PREFIX)/lib/pipeprobe/python
	-rmdir $(DESTDIR)$(PREFIX)/lib/pipeprobe 2>/dev/null

-include $(ATTACH_EXT_OBJ:.o=.d) $(READS_OBJ:.o=.d) $(patsubst %.c,$(B)/%.d,$(ATTACH_ONLY) $(READS_ONLY))
