# mk/lib.mk: libpipeprobe, what a user's own loader links: the base minimum and the recorder, no SQLite. Static, shared, and pipeprobe.pc.
LIB_SRC := $(addprefix probe/trace/,api.c drain_side.c join.c session.c slot.c stamp.c thread.c) \
  $(addprefix probe/base/,err.c guard.c)
LIB_OBJ := $(LIB_SRC:%.c=$(B)/lib/%.o)
LIB_SO := $(B)/libpipeprobe.so.0
LIB := $(B)/libpipeprobe.a $(LIB_SO) $(B)/libpipeprobe.so

all unit bench-bins: $(LIB)

# Where the shipped collector will be; PATH and $PIPEPROBE_COLLECTOR come first.
$(B)/probe/trace/api.o $(B)/lib/probe/trace/api.o $(B)/pic/probe/trace/api.o: CPPFLAGS += -DPP_BINDIR='"$(or $(PREFIX),/usr/local)/bin"'

$(B)/libpipeprobe.a: $(LIB_OBJ)
	$(call say,AR,$@)
	$(Q)rm -f $@ && $(AR) rcs $@ $^

# Only what the public headers declare is to be seen: mk/libpipeprobe.map.
link_lib_so = $(CC) $(LDFLAGS) -shared -Wl,-soname,$(@F) -Wl,--version-script=mk/libpipeprobe.map $(if $(SAN),,-Wl$(comma)--no-undefined) -o $@ $(LIB_OBJ) $(1)
$(LIB_SO): $(LIB_OBJ) mk/libpipeprobe.map
	$(call say,LINK,$@)
	$(Q)$(call link_lib_so,-lpthread)

$(B)/libpipeprobe.so: $(LIB_SO)
	$(Q)ln -sf $(<F) $@

$(B)/lib/%.o: %.c | $(NEEDS)
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D) && $(CCACHE) $(CC) $(CPPFLAGS) $(CFLAGS) -fPIC -MMD -MP -c -o $@ $<

# A user's program: public headers and libpipeprobe alone.
$(B)/samples/c_loader: samples/c_loader.c $(B)/libpipeprobe.a
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D) && $(CC) -Iinclude $(CFLAGS) $(LDFLAGS) $(PIE) -o $@ $^ -lpthread

# It starts the collector.
$(B)/tests/unit/probe/trace/test_api: | $(B)/pipeprobe

install: install-lib
uninstall: uninstall-lib
.PHONY: install-lib uninstall-lib
install-lib: $(LIB)
	install -d $(DESTDIR)$(PREFIX)/lib/pkgconfig
	install -m 644 $(B)/libpipeprobe.a $(DESTDIR)$(PREFIX)/lib/
	install -m 755 $(LIB_SO) $(DESTDIR)$(PREFIX)/lib/
	ln -sf $(notdir $(LIB_SO)) $(DESTDIR)$(PREFIX)/lib/libpipeprobe.so
	sed 's|@PREFIX@|$(PREFIX)|; s|@VERSION@|$(VERSION)|' mk/pipeprobe.pc.in >$(DESTDIR)$(PREFIX)/lib/pkgconfig/pipeprobe.pc

uninstall-lib:
	rm -f $(DESTDIR)$(PREFIX)/lib/libpipeprobe.a $(DESTDIR)$(PREFIX)/lib/libpipeprobe.so* $(DESTDIR)$(PREFIX)/lib/pkgconfig/pipeprobe.pc

-include $(LIB_OBJ:.o=.d)
