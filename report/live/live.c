#include "report/live/live_impl.h"

#include "probe/base/array.h"
#include "probe/base/clock.h"
#include "probe/base/err.h"

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#define QUIET_NS (3 * LIVE_SECOND_NS) /* a recorder commits every second */

const char *const pp_live_state_names[] = {"running", "finished", "interrupted", "failed", "killed"};

int live_room(struct pp_live *l, void *array, size_t n, size_t *cap, size_t size)
{
    int ok = pp_grow(array, cap, n + 1, size);
    l->no_memory |= !ok;
    return ok;
}

/* ---- facts, state ---- */

struct fact_walk {
    struct pp_live *l;
    const char *section;
    size_t cap;
};

static void add_fact(void *ctx, const char *key, const char *value, const char *unit, int numeric)
{
    struct fact_walk *w = ctx;
    if (!live_room(w->l, &w->l->facts, w->l->n_facts, &w->cap, sizeof(*w->l->facts)))
        return;
    struct pp_live_fact *f = &w->l->facts[w->l->n_facts++];
    snprintf(f->section, sizeof(f->section), "%s", w->section);
    snprintf(f->key, sizeof(f->key), "%s", key);
    snprintf(f->value, sizeof(f->value), "%s", value);
    snprintf(f->unit, sizeof(f->unit), "%s", unit ? unit : "");
    f->numeric = numeric;
}

static void read_facts(struct pp_live *l, struct pp_reader *r)
{
    static const char *const sections[] = {"run", "rank", "config", "environment"};
    struct fact_walk w = {.l = l};
    free(l->facts);
    l->facts = NULL;
    l->n_facts = 0;
    for (size_t i = 0; i < sizeof(sections) / sizeof(*sections); i++) {
        w.section = sections[i];
        pp_reader_each_meta(r, w.section, add_fact, &w, NULL);
    }
    const char *host = pp_reader_meta(r, "environment", "hostname");
    snprintf(l->host, sizeof(l->host), "%s", host ? host : "");
    pp_reader_meta_num(r, "config", "batch_size", &l->batch_size);
    pp_reader_meta_num(r, "config", "workers", &l->workers);
    pp_reader_meta_num(r, "config", "prefetch", &l->prefetch);
    const char *copies = pp_reader_meta(r, "config", "copy_buffers"); /* stored as it was typed */
    l->copy_buffers = copies ? atof(copies) : NAN;
    const char *source = pp_reader_meta(r, "config", "source");
    l->ends_epochs = source && strcmp(source, "pytorch") == 0;
    double ns, number;
    for (int node = 0; node < 2; node++) {
        int known = pp_reader_meta_num(r, "rank", node ? "node" : "rank", &number) && number >= 0 &&
                    number < 1e9; /* else it cannot be one */
        *(node ? &l->rank.node : &l->rank.rank) = known ? (long)number : -1;
    }
    if (pp_reader_meta_num(r, "run", "started_mono_ns", &ns) && ns >= 0)
        l->origin_ns = (uint64_t)ns;
    if (pp_reader_meta_num(r, "run", "ended_mono_ns", &ns) && ns >= 0)
        l->ended_ns = (uint64_t)ns;
}

/* Only on the host that recorded can an absent process be told from one that is elsewhere. */
static int process_is_gone(const struct pp_live *l)
{
    char host[64] = "";
    gethostname(host, sizeof(host) - 1);
    return l->n_threads && strcmp(host, l->host) == 0 && kill((pid_t)l->threads[0].pid, 0) != 0 &&
           errno == ESRCH;
}

/* ---- the threads as lanes ----
 *
 * Worker processes that follow each other in one place are one (report/source/lanes.h). Lives are read from
 * the chunks' ends, each chunk once, and only where there are worker processes besides the trainer's. */

static struct live_place *place_of(const struct pp_live *l, uint32_t id)
{
    if (id < l->n_places && l->places[id].id == id) /* ids count from 0 */
        return &l->places[id];
    for (size_t i = 0; i < l->n_places; i++)
        if (l->places[i].id == id)
            return &l->places[i];
    return NULL;
}

long live_thread_row(const struct pp_live *l, uint32_t id)
{
    const struct live_place *p = place_of(l, id);
    return p ? (long)p->row : -1;
}

static void note_life(void *ctx, uint32_t thread, uint64_t from_ns, uint64_t to_ns)
{
    struct live_place *p = place_of(ctx, thread);
    if (!p)
        return;
    p->life.first_ns = from_ns < p->life.first_ns ? from_ns : p->life.first_ns;
    p->life.last_ns = to_ns > p->life.last_ns ? to_ns : p->life.last_ns;
}

/* A worker that has been in one piece of work since its last span ended is alive. One that waits may have
 * ended: a process that exits does not close what it waits in. */
static void note_work(void *ctx, const struct pp_open_phase_row *row)
{
    if (pp_phase_info(row->phase)->kind == PP_KIND_WORK)
        note_life(ctx, row->thread, row->since_ns, row->t_ns);
}

/* The rows as they were known, and new ones; the lives that are known stay. 0: no memory. */
static int take_rows(struct pp_live *l, const struct pp_thread_row *rows, size_t n)
{
    struct live_place *places = calloc(n + 1, sizeof(*places));
    if (!places)
        return 0;
    for (size_t i = 0; i < n; i++) {
        const struct live_place *known = place_of(l, rows[i].id);
        places[i] = (struct live_place){.id = rows[i].id,
                                        .life = known ? known->life : (struct pp_lane_life){UINT64_MAX, 0}};
    }
    free(l->places);
    l->places = places;
    l->n_places = n;
    return 1;
}

static pp_status read_threads(struct pp_live *l, struct pp_reader *r, struct pp_err *err)
{
    const struct pp_thread_row *rows;
    size_t n = pp_reader_threads(r, &rows);
    struct live_thread *threads = calloc(n + 1, sizeof(*threads));
    struct pp_lane_place *place = malloc((n + 1) * sizeof(*place));
    pp_status status = l->n_threads ? PP_OK : pp_reader_check(r, err); /* once: it reads every row */
    if (status)
        goto out;
    if (!threads || !place || !take_rows(l, rows, n)) {
        l->no_memory = 1;
        goto out;
    }
    if (pp_lanes_wanted(rows, n)) {
        status = pp_reader_each_chunk_end_after(r, &l->chunk_id, note_life, l, err);
        if (status == PP_OK)
            status = pp_reader_each_open_phase(r, l->open_ns + 1, UINT64_MAX, note_work, l, err);
    }
    /* Where each row belongs: as of pp_lanes_join, or all apart. */
    struct pp_lane_life *life = malloc((l->n_places + 1) * sizeof(*life));
    for (size_t i = 0; life && i < l->n_places; i++)
        life[i] = l->places[i].life;
    if (!life || !pp_lanes_wanted(rows, l->n_places) || !pp_lanes_join(rows, life, l->n_places, place))
        for (size_t i = 0; i < l->n_places; i++)
            place[i] = (struct pp_lane_place){.row = i, .number = SIZE_MAX};
    free(life);
    free(l->threads);
    l->threads = threads;
    threads = NULL;
    size_t n_lanes = 0;
    for (size_t i = 0; i < l->n_places; i++)
        if (place[i].row == i) {
            struct live_thread *t = &l->threads[n_lanes];
            l->places[i].row = n_lanes++;
            *t = (struct live_thread){.id = rows[i].id, .lane = rows[i].lane, .pid = rows[i].pid};
            if (pp_lanes_unnamed(rows, l->n_places, place, i))
                snprintf(t->name, sizeof(t->name), "worker %zu", place[i].number);
            else
                snprintf(t->name, sizeof(t->name), "%s", rows[i].name);
        }
    l->n_threads = n_lanes;
    for (size_t i = 0; i < l->n_places; i++) {
        l->places[i].row = l->places[place[i].row].row;
        l->threads[l->places[i].row].dropped += rows[i].dropped;
    }
out:
    free(threads);
    free(place);
    return status;
}

/* ---- the file ---- */

static int64_t modified_ns(const struct stat *st)
{
    return (int64_t)st->st_mtim.tv_sec * (int64_t)LIVE_SECOND_NS + st->st_mtim.tv_nsec;
}

static void forget(struct pp_live *l)
{
    for (size_t i = 0; i < l->n_seconds; i++)
        free(l->seconds[i].parts);
    l->n_seconds = l->n_events = l->n_errors = l->n_gpu = l->n_meters = 0;
    l->second_id = l->error_id = l->counter_id = 0;
    l->open_ns = 0;
    l->origin_ns = l->ended_ns = 0;
    l->state = PP_LIVE_RUNNING;
    l->batch_size = l->workers = l->prefetch = l->copy_buffers = NAN;
    memset(l->usual, 0, sizeof(l->usual));
    l->totals = (struct pp_live_totals){.samples = NAN};
    free(l->threads);
    free(l->places);
    l->threads = NULL;
    l->places = NULL;
    l->n_threads = l->n_places = 0;
    l->chunk_id = 0;
    live_near_forget(l);
}

/* Whether the file or its write-ahead log changed since the last look; notes when. */
static int has_changed(struct pp_live *l)
{
    struct stat st, wal;
    char log[PATH_MAX];
    uint64_t now = pp_now_ns(), looked = l->looked_mono_ns;
    l->deleted = stat(l->path, &st) != 0;
    if (l->deleted)
        return 0;
    l->looked_mono_ns = now;
    if (st.st_ino != l->ino || st.st_dev != l->dev) {
        forget(l);
        l->ino = st.st_ino;
        l->dev = st.st_dev;
        l->changed_ns = 0;
        looked = 0;
    }
    int64_t changed = modified_ns(&st);
    if ((size_t)snprintf(log, sizeof(log), "%s-wal", l->path) < sizeof(log) && stat(log, &wal) == 0 &&
        modified_ns(&wal) > changed)
        changed = modified_ns(&wal);
    if (changed == l->changed_ns)
        return 0;
    /* How long ago that was is asked of the wall clock, which a file server may have another of: it was after
     * the last look. From then on the monotonic one counts. */
    int64_t ago = (int64_t)pp_clock_of(CLOCK_REALTIME) - changed;
    l->last_change_mono_ns = ago > 0 && (uint64_t)ago < now ? now - (uint64_t)ago : now;
    if (looked && l->last_change_mono_ns < looked)
        l->last_change_mono_ns = looked;
    l->changed_ns = changed;
    return 1;
}

static pp_status read_new(struct pp_live *l, struct pp_err *err)
{
    struct pp_reader *r = NULL;
    pp_reader_close(l->reader);
    l->reader = NULL;
    pp_status status = pp_reader_open(l->path, &r, err);
    if (status != PP_OK)
        return status;
    const char *outcome = pp_reader_meta(r, "run",
                                         "outcome"); /* before the rows: what it ends is then all read */
    read_facts(l, r);
    status = read_threads(l, r, err);
    l->totals.dropped = 0;
    for (size_t i = 0; i < l->n_threads; i++)
        l->totals.dropped += l->threads[i].dropped;
    if (status == PP_OK)
        status = pp_reader_each_second_after(r, &l->second_id, live_add_part, l, err);
    if (status == PP_OK)
        status = pp_reader_each_error(r, &l->error_id, live_add_error, l, err);
    if (status == PP_OK)
        status = pp_reader_each_counter(r, &l->counter_id, live_add_counter, l, err);
    if (status == PP_OK)
        status = pp_reader_each_open_phase(r, l->open_ns + 1, UINT64_MAX, live_add_open_phase, l, err);
    if (status == PP_OK)
        l->state = outcome ? PP_LIVE_FINISHED : PP_LIVE_RUNNING; /* also with a word of a newer version */
    for (int s = PP_LIVE_FINISHED; status == PP_OK && outcome && s <= PP_LIVE_FAILED; s++)
        if (strcmp(outcome, pp_live_state_names[s]) == 0)
            l->state = (enum pp_live_state)s;
    l->reader = r;
    live_near_forget(l);
    if (status == PP_OK && l->no_memory)
        status = pp_fail(err, PP_E_NO_MEMORY, "no memory for the history of %s", l->path);
    return status;
}

pp_status pp_live_refresh(struct pp_live *l, int *changed, struct pp_err *err)
{
    pp_status status = PP_OK;
    int new = has_changed(l), died = 0;
    if (!new && !l->deleted && l->state == PP_LIVE_RUNNING &&pp_now_ns() - l->last_change_mono_ns > QUIET_NS)
        died = process_is_gone(l);
    if (new || died)
        status = read_new(l, err); /* opening takes in what a killed run left in its rings */
    if (died && status == PP_OK && l->state == PP_LIVE_RUNNING)
        l->state = PP_LIVE_KILLED;
    if (died)
        has_changed(l); /* our own recovery is no sign of life */
    if (changed)
        *changed = new || died;
    return status;
}

pp_status pp_live_open(const char *path, struct pp_live **out, struct pp_err *err)
{
    struct pp_live *l = calloc(1, sizeof(*l));
    *out = NULL;
    if (!l || !(l->path = strdup(path))) {
        free(l);
        return pp_fail(err, PP_E_NO_MEMORY, "no memory to read %s", path);
    }
    forget(l);
    has_changed(l);
    pp_status status = read_new(l, err);
    if (status != PP_OK) {
        pp_live_close(l);
        return status;
    }
    if (l->deleted)
        has_changed(l); /* there were only ring files, and reading made the file of them */
    if (l->state == PP_LIVE_RUNNING && pp_now_ns() - l->last_change_mono_ns > QUIET_NS && process_is_gone(l))
        l->state = PP_LIVE_KILLED;
    *out = l;
    return PP_OK;
}

void pp_live_without_bars(struct pp_live *l)
{
    l->without_bars = 1;
}

void pp_live_close(struct pp_live *l)
{
    if (!l)
        return;
    forget(l);
    pp_reader_close(l->reader);
    free(l->seconds);
    free(l->stalled);
    free(l->events);
    free(l->errors);
    free(l->gpu);
    free(l->meters);
    free(l->facts);
    free(l->bars);
    free(l->stages);
    free(l->worker_rows);
    free(l->path);
    free(l);
}

struct pp_live_rank pp_live_rank(const struct pp_live *l)
{
    return l->rank;
}

const struct pp_live_fact *pp_live_facts(const struct pp_live *l, size_t *n)
{
    *n = l->n_facts;
    return l->facts;
}

const struct pp_live_fact *pp_live_fact_of(const struct pp_live_fact *facts, size_t n, const char *section,
                                           const char *key)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(facts[i].section, section) == 0 && strcmp(facts[i].key, key) == 0)
            return &facts[i];
    return NULL;
}
