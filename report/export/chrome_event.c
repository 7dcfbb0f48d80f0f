#include "report/export/chrome.h"

#include "probe/base/err.h"
#include "probe/base/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The one writer of JSON strings is base/json. */
char *chrome_quote(const char *s)
{
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);
    struct pp_json j;
    if (!f)
        return NULL;
    pp_json_begin(&j, f, 0);
    pp_json_str(&j, s);
    int failed = pp_json_end(&j) != 0;
    if (fclose(f) != 0 || failed) {
        free(text);
        return NULL;
    }
    text[strcspn(text, "\n")] = '\0'; /* pp_json_end closes with a newline */
    return text;
}

void chrome_put_quoted(struct chrome *c, const char *s)
{
    char *text = chrome_quote(s);
    if (text)
        pp_out_str(&c->out, text);
    else
        c->out_of_memory = 1;
    free(text);
}

int64_t chrome_pid_of(const struct pp_thread_row *t)
{
    return t && t->pid > 0 ? t->pid : 1;
}

int64_t chrome_tid_of(const struct pp_thread_row *t)
{
    return t->tid > 0 ? t->tid : (int64_t)t->id + 1;
}

/* ,\n{"ph":"X","pid":1,"tid":2 */
void chrome_begin_event(struct chrome *c, char ph, int64_t pid, int64_t tid)
{
    pp_out_str(&c->out, c->comma ? ",\n{\"ph\":\"" : "\n{\"ph\":\"");
    c->comma = 1;
    pp_out_char(&c->out, ph);
    pp_out_str(&c->out, "\",\"pid\":");
    pp_out_int(&c->out, pid);
    pp_out_str(&c->out, ",\"tid\":");
    pp_out_int(&c->out, tid);
}

void chrome_put_time(struct chrome *c, const char *key, uint64_t ns)
{
    pp_out_str(&c->out, key);
    pp_out_us(&c->out, ns);
}

void chrome_put_arg(struct chrome *c, int *n, const char *key, uint64_t v)
{
    pp_out_str(&c->out, (*n)++ ? ",\"" : ",\"args\":{\"");
    pp_out_str(&c->out, key);
    pp_out_str(&c->out, "\":");
    pp_out_uint(&c->out, v);
}

pp_status chrome_check(const struct chrome *c, struct pp_err *err)
{
    return c->out_of_memory ? pp_fail(err, PP_E_NO_MEMORY, "exporting to %s: out of memory", c->out.label)
                            : pp_out_check(&c->out, err);
}

void chrome_put_name(struct chrome *c, const char *what, int64_t pid, int64_t tid, const char *name)
{
    chrome_begin_event(c, 'M', pid, tid);
    pp_out_str(&c->out, ",\"name\":\"");
    pp_out_str(&c->out, what);
    pp_out_str(&c->out, "\",\"args\":{\"name\":");
    chrome_put_quoted(c, name);
    pp_out_str(&c->out, "}}");
}
