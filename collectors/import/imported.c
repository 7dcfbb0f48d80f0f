#include "collectors/import/imported.h"

#include "collectors/import/imported_impl.h"
#include "probe/base/array.h"
#include "probe/base/err.h"
#include "probe/base/hash.h"

#include <strings.h>
#include <sys/stat.h>

struct pp_imported *pp_imported_new(void)
{
    struct pp_imported *im = calloc(1, sizeof(*im));
    if (im) {
        im->facts.source = "trace";
        im->facts.rank = im->facts.world_size = -1;
        im->trainer = PP_IMPORT_NO_THREAD;
        im->seed = pp_hash_seed();
    }
    return im;
}

void pp_imported_free(struct pp_imported *im)
{
    if (!im)
        return;
    for (size_t i = 0; i <= PP_IMPORT_NAMES; i++)
        free(im->names[i]);
    free(im->threads);
    free(im->processes);
    free(im->spans);
    free(im->gpu);
    free(im->step_start_ns);
    free(im);
}

struct pp_import_facts *pp_imported_facts(struct pp_imported *im)
{
    return &im->facts;
}

int pp_import_room(struct pp_imported *im, void *array, size_t n, size_t *room, size_t size)
{
    im->no_memory = im->no_memory || !pp_grow(array, room, n + 1, size);
    return !im->no_memory;
}

/* The first event gives the origin. */
int pp_imported_time(struct pp_imported *im, int64_t trace_ns, uint64_t *ns)
{
    int64_t since;
    if (!im->has_origin) {
        im->has_origin = 1;
        im->origin_ns = trace_ns;
    }
    if (__builtin_sub_overflow(trace_ns, im->origin_ns, &since) || since < -(int64_t)PP_IMPORT_ORIGIN_NS ||
        since > (int64_t)PP_IMPORT_LONGEST_NS) {
        im->facts.odd_times++;
        return 0;
    }
    *ns = PP_IMPORT_ORIGIN_NS + (uint64_t)since;
    return 1;
}

uint32_t pp_imported_thread(struct pp_imported *im, const char *pid, const char *tid)
{
    uint32_t at = pp_hash_text(pp_hash_text(im->seed, pid), tid) % IMPORT_BUCKETS;
    unsigned probes = 0;
    for (; im->thread_of[at] && probes < PP_HASH_PROBES; at = (at + 1) % IMPORT_BUCKETS, probes++) {
        const struct import_thread *t = &im->threads[im->thread_of[at] - 1];
        if (strcmp(t->tid, tid) == 0 && strcmp(t->pid, pid) == 0)
            return im->thread_of[at] - 1;
    }
    if (im->n_threads == PP_IMPORT_THREADS || probes == PP_HASH_PROBES ||
        !pp_import_room(im, &im->threads, im->n_threads, &im->threads_room, sizeof(*im->threads))) {
        im->lost_threads++;
        return PP_IMPORT_NO_THREAD;
    }
    struct import_thread *t = &im->threads[im->n_threads];
    *t = (struct import_thread){.id = PP_IMPORT_NO_THREAD};
    snprintf(t->pid, sizeof(t->pid), "%s", pid);
    snprintf(t->tid, sizeof(t->tid), "%s", tid);
    im->thread_of[at] = (uint32_t)++im->n_threads;
    return (uint32_t)im->n_threads - 1;
}

void pp_imported_thread_name(struct pp_imported *im, uint32_t thread, const char *name)
{
    if (thread < im->n_threads)
        snprintf(im->threads[thread].name, sizeof(im->threads[thread].name), "%s", name);
}

void pp_imported_parent(struct pp_imported *im, const char *pid, const char *parent)
{
    if (im->n_processes == PP_IMPORT_THREADS ||
        !pp_import_room(im, &im->processes, im->n_processes, &im->processes_room, sizeof(*im->processes)))
        return;
    struct import_process *p = &im->processes[im->n_processes++];
    snprintf(p->pid, sizeof(p->pid), "%s", pid);
    snprintf(p->parent, sizeof(p->parent), "%s", parent);
}

uint16_t pp_imported_name(struct pp_imported *im, const char *name)
{
    uint32_t at = pp_hash_text(im->seed, name) % IMPORT_BUCKETS;
    unsigned probes = 0;
    if (!*name)
        return 0;
    for (; im->name_of[at] && probes < PP_HASH_PROBES; at = (at + 1) % IMPORT_BUCKETS, probes++)
        if (strcmp(im->names[im->name_of[at]], name) == 0)
            return im->name_of[at];
    char *copy = im->n_names < PP_IMPORT_NAMES && probes < PP_HASH_PROBES ? strdup(name) : NULL;
    if (!copy) {
        im->lost_names++;
        return 0;
    }
    im->names[++im->n_names] = copy;
    im->name_of[at] = (uint16_t)im->n_names;
    return im->name_of[at];
}

void pp_imported_span(struct pp_imported *im, uint32_t thread, const struct pp_span *s,
                      enum pp_import_role role)
{
    const struct pp_phase_info *info = pp_phase_info(s->phase);
    /* A fifth of the room is kept for what the report is made of: steps, waits and their like. */
    int plenty = role == PP_ROLE_NONE &&
                 (s->phase == PP_PHASE_USER || (im->facts.calls && s->phase == PP_PHASE_READ));
    if (thread >= im->n_threads || !info ||
        im->n_spans >= (plenty ? PP_IMPORT_SPANS / 5 * 4 : PP_IMPORT_SPANS) ||
        s->dur_ns > PP_IMPORT_LONGEST_NS ||
        !pp_import_room(im, &im->spans, im->n_spans, &im->spans_room, sizeof(*im->spans))) {
        *(s->phase == PP_PHASE_USER ? &im->lost_ranges : plenty ? &im->lost_calls : &im->lost_spans) += 1;
        return;
    }
    struct import_thread *t = &im->threads[thread];
    t->spans++;
    t->lanes[info->lane] += s->phase != PP_PHASE_USER;
    t->steps += s->phase == PP_PHASE_STEP;
    t->waits += s->phase == PP_PHASE_DATA_WAIT || s->phase == PP_PHASE_EPOCH_BOUNDARY;
    im->facts.steps += s->phase == PP_PHASE_STEP;
    im->facts.fetches += s->phase == PP_PHASE_DATA_WAIT;
    im->spans[im->n_spans++] = (struct import_span){*s, thread, role};
}

void pp_imported_gpu(struct pp_imported *im, const struct pp_import_gpu *g)
{
    if (im->lost_gpu || im->n_gpu == PP_IMPORT_GPU_ROWS ||
        !pp_import_room(im, &im->gpu, im->n_gpu, &im->gpu_room, sizeof(*im->gpu))) {
        im->lost_gpu++;
        return;
    }
    im->gpu[im->n_gpu++] = *g;
}

/* Without a base, times of 2001 and later are UTC themselves (torch.profiler until 2023). */
#define LEAST_UTC_NS INT64_C(1000000000000000000)

uint64_t pp_imported_extent(const struct pp_imported *im, const char *path, uint64_t *first_ns,
                            uint64_t *last_ns)
{
    struct stat st;
    int64_t utc;
    *first_ns = UINT64_MAX;
    *last_ns = 0;
    for (size_t i = 0; i < im->n_spans; i++) {
        const struct pp_span *s = &im->spans[i].s;
        *first_ns = s->start_ns < *first_ns ? s->start_ns : *first_ns;
        *last_ns = s->start_ns + s->dur_ns > *last_ns ? s->start_ns + s->dur_ns : *last_ns;
    }
    *first_ns = *first_ns == UINT64_MAX ? 0 : *first_ns;
    int64_t since = (int64_t)*first_ns - (int64_t)PP_IMPORT_ORIGIN_NS;
    if (!__builtin_add_overflow(im->origin_ns, since, &utc) &&
        !__builtin_add_overflow(utc, im->facts.utc_ns, &utc) && utc >= LEAST_UTC_NS)
        return (uint64_t)utc;
    return stat(path, &st) == 0 && st.st_mtime > 0 ? (uint64_t)st.st_mtime * 1000000000 : 0;
}

/* ---- names and their meaning ---- */

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
    pp_phase phase = pp_namemap_find(n->user, domain, name, NULL);
    if (phase == PP_PHASE_USER)
        phase = pp_namemap_find(n->known, domain, name, NULL);
    if (role)
        *role = phase == PP_PHASE_USER && pp_namemap_find(n->maybe, domain, name, NULL) == PP_PHASE_DATA_WAIT
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

const char *const pp_import_memories[] = {[PP_MEMORY_NONE] = NULL,
                                          [PP_MEMORY_PAGEABLE] = "pageable",
                                          [PP_MEMORY_PINNED] = "pinned",
                                          [PP_MEMORY_DEVICE] = "device",
                                          [PP_MEMORY_HOST] = "host"};

enum pp_import_memory pp_import_memory(const char *text)
{
    for (unsigned i = PP_MEMORY_PAGEABLE; i <= PP_MEMORY_HOST; i++)
        if (strncasecmp(text, pp_import_memories[i], strlen(pp_import_memories[i])) == 0)
            return (enum pp_import_memory)i;
    return PP_MEMORY_NONE;
}
