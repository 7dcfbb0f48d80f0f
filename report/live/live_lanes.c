/* The threads of a growing recording as lanes: worker processes that follow each other in one place are one
 * (report/source/lanes.h). Lives are read from the chunks' ends, each chunk once, and only where there are
 * worker processes besides the trainer's. */
#include "report/live/live_impl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* ---- lives ---- */

static void lives(struct pp_live *l, uint32_t thread, uint64_t from_ns, uint64_t to_ns)
{
    struct live_place *p = place_of(l, thread);
    if (!p)
        return;
    p->life.first_ns = from_ns < p->life.first_ns ? from_ns : p->life.first_ns;
    p->life.last_ns = to_ns > p->life.last_ns ? to_ns : p->life.last_ns;
}

static void note_chunk(void *ctx, uint32_t thread, uint64_t first_start_ns, uint64_t last_end_ns)
{
    lives(ctx, thread, first_start_ns, last_end_ns);
}

/* A worker that has been in one piece of work since its last span ended is alive. One that waits may have
 * ended: a process that exits does not close what it waits in. */
static void note_work(void *ctx, const struct pp_open_phase_row *row)
{
    if (pp_phase_info(row->phase)->kind == PP_KIND_WORK)
        lives(ctx, row->thread, row->since_ns, row->t_ns);
}

static pp_status read_lives(struct pp_live *l, struct pp_reader *r, struct pp_err *err)
{
    pp_status status = pp_reader_each_chunk_end_after(r, &l->chunk_id, note_chunk, l, err);
    if (status == PP_OK)
        status = pp_reader_each_open_phase(r, l->open_ns + 1, UINT64_MAX, note_work, l, err);
    return status;
}

/* ---- lanes ---- */

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

/* Where each row belongs: as of pp_lanes_join, or all apart. */
static void join(const struct pp_live *l, const struct pp_thread_row *rows, struct pp_lane_place *place)
{
    struct pp_lane_life *life = malloc((l->n_places + 1) * sizeof(*life));
    for (size_t i = 0; life && i < l->n_places; i++)
        life[i] = l->places[i].life;
    if (!life || !pp_lanes_wanted(rows, l->n_places) || !pp_lanes_join(rows, life, l->n_places, place))
        for (size_t i = 0; i < l->n_places; i++)
            place[i] = (struct pp_lane_place){.row = i, .number = SIZE_MAX};
    free(life);
}

static void fill_lanes(struct pp_live *l, const struct pp_thread_row *rows, const struct pp_lane_place *place)
{
    size_t n = 0;
    for (size_t i = 0; i < l->n_places; i++)
        if (place[i].row == i) {
            struct live_thread *t = &l->threads[n];
            l->places[i].row = n++;
            *t = (struct live_thread){.id = rows[i].id, .lane = rows[i].lane, .pid = rows[i].pid};
            if (pp_lanes_unnamed(rows, l->n_places, place, i))
                snprintf(t->name, sizeof(t->name), "worker %zu", place[i].number);
            else
                snprintf(t->name, sizeof(t->name), "%s", rows[i].name);
        }
    l->n_threads = n;
    for (size_t i = 0; i < l->n_places; i++) {
        l->places[i].row = l->places[place[i].row].row;
        l->threads[l->places[i].row].dropped += rows[i].dropped;
    }
}

pp_status live_read_threads(struct pp_live *l, struct pp_reader *r, struct pp_err *err)
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
    if (pp_lanes_wanted(rows, n))
        status = read_lives(l, r, err);
    join(l, rows, place);
    free(l->threads);
    l->threads = threads;
    threads = NULL;
    fill_lanes(l, rows, place);
out:
    free(threads);
    free(place);
    return status;
}

void live_forget_threads(struct pp_live *l)
{
    free(l->threads);
    free(l->places);
    l->threads = NULL;
    l->places = NULL;
    l->n_threads = l->n_places = 0;
    l->chunk_id = 0;
}
