/* The table of formats, and how one is found. */
#include "report/export/export.h"

#include <string.h>

#define ROW(name, help) &pp_export_##name,
const struct pp_exporter *const pp_exporters[] = {PP_EXPORT_FORMATS(ROW) NULL};
#undef ROW

const struct pp_exporter *pp_exporter_by_suffix(const char *path)
{
    size_t n = strlen(path);
    for (size_t i = 0; pp_exporters[i]; i++)
        for (size_t k = 0; k < 3 && pp_exporters[i]->suffixes[k]; k++) {
            const char *suffix = pp_exporters[i]->suffixes[k];
            size_t m = strlen(suffix);
            if (n > m && strcmp(path + n - m, suffix) == 0)
                return pp_exporters[i];
        }
    return NULL;
}
