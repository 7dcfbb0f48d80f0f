/* Fuzz target: a map of `pipeprobe exec --map`, and names looked up in it. The bytes up to the first zero are
 * the map, those behind it a name; without one the map's own lines are looked up, which comes nearer to its
 * patterns. */
#include "tests/fuzz/fuzz.h"

#include "collectors/attach/namemap.h"

#include "probe/base/err.h"

#include <stdlib.h>
#include <string.h>

static void look_up(const struct pp_namemap *m, const char *domain, const char *name)
{
    pp_phase phase = pp_namemap_find(m, domain, name, NULL);
    if (!pp_phase_info(phase))
        abort();
}

static void look_up_lines(const struct pp_namemap *m, char *text)
{
    char *rest = text, *line;
    for (int n = 0; n < 32 && (line = strsep(&rest, "\n")); n++) {
        look_up(m, "", line);
        look_up(m, line, line);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct pp_namemap *m = pp_namemap_new();
    struct pp_err err;
    char *text = malloc(size + 1);
    pp_err_clear(&err);
    if (!m || !text)
        abort();
    memcpy(text, data, size);
    text[size] = '\0';
    size_t end = strlen(text);
    if (pp_namemap_add_text(m, text, "fuzz.map", &err) == PP_OK) {
        if (end < size)
            look_up(m, "DALI", text + end + 1);
        else
            look_up_lines(m, text);
    } else if (!err.text[0] || pp_namemap_rows(m)) {
        abort(); /* a refusal is a sentence, and adds nothing */
    }
    free(text);
    pp_namemap_free(m);
    return 0;
}

int fuzz_seed(unsigned i, uint8_t **data, size_t *size)
{
    static const char *const maps[] = {
        "# comment\ndecode*=decode\n  load [0-9]  =  read\r\nDALI:*Reader* = read\n\"a = b #1\" = transform\nepoch* = ignore\n",
        "Optimizer.step#* = step\nstd::sort = collate\nscope\\:name = h2d\n:plain = data_wait\n*torch*:fwd = step\n[a:b]:[!x-z]?* = read\n",
        "decode = deocde\n",
        "= read\n\"open = read\n",
    };
    if (i >= sizeof(maps) / sizeof(maps[0]))
        return 0;
    *size = strlen(maps[i]);
    *data = malloc(*size);
    memcpy(*data, maps[i], *size);
    return 1;
}
