#include "report/source/lanes.h"

#include "probe/base/array.h"

static const char *name_of(const struct pp_thread_row *row)
{
    return row->name ? row->name : "";
}

/* The process of the trainer; 0: none is known. */
static int64_t trainer_pid(const struct pp_thread_row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (rows[i].lane == PP_LANE_TRAINER)
            return rows[i].pid;
    return 0;
}

/* One of several that come and go: a worker process; in the trainer's own process a thread of a pool, or one
 * that is started for every epoch to fetch from a loader without workers, whose samples it makes then. */
static int is_replaced(const struct pp_thread_row *row, int64_t trainer)
{
    static const char *const threads[] = {"pool", "worker 0", "prefetch"};
    if (row->pid <= 0 || trainer <= 0 || (row->lane != PP_LANE_WORKER && row->lane != PP_LANE_COPY))
        return 0;
    for (size_t i = 0; i < sizeof(threads) / sizeof(*threads); i++)
        if (row->pid == trainer && strcmp(name_of(row), threads[i]) == 0)
            return 1;
    return row->pid != trainer && row->lane == PP_LANE_WORKER;
}

int pp_lanes_wanted(const struct pp_thread_row *rows, size_t n)
{
    int64_t trainer = trainer_pid(rows, n);
    for (size_t i = 0; i < n; i++)
        if (is_replaced(&rows[i], trainer))
            return 1;
    return 0;
}

struct order {
    uint64_t first_ns;
    size_t row;
};

PP_BY_BOTH(by_start, struct order, first_ns, row)

struct lane {
    size_t row, generation, number;
    int64_t pid, tid; /* of the last generation */
    uint64_t last_ns; /* when that had ended */
};

size_t pp_lanes_join(const struct pp_thread_row *rows, const struct pp_lane_life *life, size_t n,
                     struct pp_lane_place *place)
{
    int64_t trainer = trainer_pid(rows, n);
    struct order *order = calloc(n + 1, sizeof(*order));
    struct lane *lanes = calloc(n + 1, sizeof(*lanes));
    size_t n_order = 0, n_lanes = 0, numbered = 0, generations = 1;
    if (!order || !lanes) {
        generations = 0;
        goto out;
    }
    for (size_t i = 0; i < n; i++) {
        place[i] = (struct pp_lane_place){.row = i, .number = SIZE_MAX};
        if (is_replaced(&rows[i], trainer) && life[i].first_ns <= life[i].last_ns)
            order[n_order++] = (struct order){life[i].first_ns, i};
    }
    qsort(order, n_order, sizeof(*order), by_start);
    for (size_t i = 0; i < n_order; i++) {
        size_t row = order[i].row, at = 0;
        while (at < n_lanes && (lanes[at].last_ns > life[row].first_ns ||
                                (lanes[at].pid == rows[row].pid &&
                                 (rows[row].pid != trainer || lanes[at].tid == rows[row].tid)) ||
                                strcmp(name_of(&rows[lanes[at].row]), name_of(&rows[row])) != 0))
            at++;
        if (at == n_lanes)
            lanes[n_lanes++] = (struct lane){.row = row,
                                             .number = rows[row].pid != trainer ||
                                                               strcmp(name_of(&rows[row]), "pool") == 0
                                                           ? numbered++
                                                           : SIZE_MAX}; /* the others keep their names */
        else if (rows[row].pid != trainer) /* a thread that follows another costs nothing to speak of */
            lanes[at].generation++;
        lanes[at].pid = rows[row].pid;
        lanes[at].tid = rows[row].tid;
        lanes[at].last_ns = life[row].last_ns;
        place[row] = (struct pp_lane_place){lanes[at].row, lanes[at].generation, lanes[at].number};
        if (lanes[at].generation >= generations)
            generations = lanes[at].generation + 1;
    }
out:
    free(order);
    free(lanes);
    return generations;
}

int pp_lanes_unnamed(const struct pp_thread_row *rows, size_t n, const struct pp_lane_place *place,
                     size_t row)
{
    if (place[row].number == SIZE_MAX)
        return 0;
    for (size_t i = 0; i < n; i++)
        if (place[i].row != place[row].row && strcmp(name_of(&rows[i]), name_of(&rows[row])) == 0)
            return 1;
    return 0;
}
