#include "collectors/import/names.h"

#include "probe/base/err.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

static const char maybe_waits[] = "\"## data_load ##\" = data_wait\n"
                                  "\"## load_batch ##\" = data_wait\n"
                                  "\"## wait_for_batch ##\" = data_wait\n"
                                  "data_load = data_wait\n"
                                  "data_loading = data_wait\n"
                                  "dataloader* = data_wait\n"
                                  "data_wait = data_wait\n"
                                  "data_time = data_wait\n"
                                  "load_batch = data_wait\n"
                                  "load_data = data_wait\n"
                                  "get_batch = data_wait\n"
                                  "next_batch = data_wait\n"
                                  "wait_for_batch = data_wait\n"
                                  "fetch_data = data_wait\n";

pp_status pp_import_names_open(struct pp_import_names *n, const struct pp_namemap *user, const char *known,
                               int maybe, const char *path, struct pp_err *err)
{
    *n = (struct pp_import_names){.user = user, .known = pp_namemap_new()};
    n->maybe = maybe ? pp_namemap_new() : NULL;
    if (!n->known || (maybe && !n->maybe))
        return pp_fail(err, PP_E_NO_MEMORY, "no memory to read %s", path);
    pp_status status = pp_namemap_add_text(n->known, known, "known names", err);
    if (status == PP_OK && maybe)
        status = pp_namemap_add_text(n->maybe, maybe_waits, "names of waits", err);
    return status;
}

void pp_import_names_close(struct pp_import_names *n)
{
    pp_namemap_free(n->known);
    pp_namemap_free(n->maybe);
}

pp_phase pp_import_phase(const struct pp_import_names *n, const char *domain, const char *name,
                         enum pp_import_role *role)
{
    pp_phase phase = pp_namemap_phase(n->user, domain, name);
    if (phase == PP_PHASE_USER)
        phase = pp_namemap_phase(n->known, domain, name);
    if (role)
        *role = phase == PP_PHASE_USER && pp_namemap_phase(n->maybe, domain, name) == PP_PHASE_DATA_WAIT
                    ? PP_ROLE_MAYBE_WAIT
                    : PP_ROLE_NONE;
    return phase;
}

void pp_import_note_loader(struct pp_import_facts *facts, const char *name)
{
    const char *from = strchr(name, '#');
    if (from && !facts->loader[0])
        snprintf(facts->loader, sizeof(facts->loader), "%.*s", (int)strcspn(from + 1, "."), from + 1);
}

enum pp_import_memory pp_import_memory(const char *text)
{
    static const char *const words[] = {[PP_MEMORY_PAGEABLE] = "pageable",
                                        [PP_MEMORY_PINNED] = "pinned",
                                        [PP_MEMORY_DEVICE] = "device",
                                        [PP_MEMORY_HOST] = "host"};
    for (unsigned i = PP_MEMORY_PAGEABLE; i <= PP_MEMORY_HOST; i++)
        if (strncasecmp(text, words[i], strlen(words[i])) == 0)
            return (enum pp_import_memory)i;
    return PP_MEMORY_NONE;
}
