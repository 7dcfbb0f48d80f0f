/* http:// and https://: objects by their URLs. A web server has no listing that programs could rely on. */
#include "probe/base/err.h"
#include "probe/storage/remote.h"
#include "probe/storage/url.h"

extern const struct pp_storage_ops pp_storage_web; /* at the end */

static pp_status web_prepare(void *state, const struct pp_remote_ask *ask, struct pp_remote_call *call,
                             struct pp_err *err)
{
    call->netrc = 1;
    if (pp_url_tidy(ask->moved ? ask->moved : ask->name, call->url, sizeof(call->url)) != 0)
        return pp_fail(err, PP_E_USAGE, "the URL is longer than %zu bytes", sizeof(call->url));
    return PP_OK;
}

static const struct pp_remote_kind web_kind = {.prepare = web_prepare};

static void web_detach(struct pp_storage *s)
{
    pp_remote_end((struct pp_remote *)s);
    free(s);
}

static pp_status web_attach(const char *place, struct pp_storage **out, struct pp_err *err)
{
    struct pp_err why = {0};
    struct pp_remote *r = calloc(1, sizeof(*r));
    if (!r)
        return pp_fail(err, PP_E_NO_MEMORY, "no memory to open %s", place);
    r->base = (struct pp_storage){.ops = &pp_storage_web, .request_bytes = PP_REQUEST_BYTES};
    pp_status st = pp_url_check(place, err);
    if (st == PP_OK && (st = pp_remote_begin(r, &web_kind, NULL, &why)) != PP_OK)
        pp_fail(err, st, "cannot open %s: %s", place, why.text);
    if (st == PP_OK)
        *out = &r->base;
    else
        free(r);
    return st;
}

/* Braces are a range of shards, which no server has to be asked about. */
static pp_status web_stat(const struct pp_storage *s, const struct pp_object *dir, const char *name,
                          const char *attempt, struct pp_place_info *out, struct pp_err *err)
{
    size_t n = strlen(name);
    if (strpbrk(name, "{}"))
        return pp_fail(err, PP_E_NOT_FOUND, "cannot %s %s: no object has braces in its name", attempt, name);
    if (n > 0 && name[n - 1] == '/')
        return pp_fail(
            err, PP_E_UNSUPPORTED,
            "cannot list %s: web servers have no listing; name the shards (%sshard-{000..099}.tar)", name,
            name);
    return pp_remote_stat(s, dir, name, attempt, out, err);
}

static pp_status web_open(const struct pp_storage *s, const struct pp_open *o, struct pp_object *out,
                          struct pp_err *err)
{
    if (o->how & PP_OPEN_DIRECTORY)
        return pp_fail(err, PP_E_UNSUPPORTED, "cannot %s %s: web servers have no listing", o->attempt,
                       o->name);
    return pp_remote_object(out, o->dir, o->name, err);
}

const struct pp_storage_ops pp_storage_web = {
    .name = "http",
    .help = "objects of web servers: https://HOST/shard-{000..099}.tar",
    .schemes = {"http", "https"},
    .attach = web_attach,
    .detach = web_detach,
    .stat = web_stat,
    .open = web_open,
    .close = pp_remote_close,
    .info = pp_remote_info,
    .read_at = pp_remote_read_at,
    .read_whole = pp_remote_read_whole,
};
