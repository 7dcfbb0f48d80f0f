/* c_loader.c: a data loader of your own, recorded. Two workers "read" and "decode" samples into batches, a
 * trainer takes them in turn.
 *
 *     cc c_loader.c $(pkg-config --cflags --libs pipeprobe) -lpthread -o c_loader
 *     ./c_loader run.sqlite && pipeprobe report run.sqlite */
#include <pipeprobe/pipeprobe.h>

#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

enum { WORKERS = 2, BATCHES = 400, BATCH = 8 };

static struct pp_recorder *recorder; /* NULL when recording is off: every call below then does nothing */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t finished = PTHREAD_COND_INITIALIZER;
static int ready[BATCHES];

static void *worker(void *arg)
{
    unsigned me = (unsigned)(size_t)arg;
    char name[16];
    snprintf(name, sizeof(name), "worker-%u", me);
    struct pp_thread *t = pp_thread_open(recorder, PP_LANE_WORKER, name); /* in the thread that records */
    for (unsigned batch = me; batch < BATCHES; batch += WORKERS) {
        pp_lap_start(t);
        for (unsigned i = 0; i < BATCH; i++) {
            struct pp_lap lap = {.batch = batch, .sample = batch * BATCH + i, .bytes = 64 << 10};
            usleep(200); /* read the file ... */
            pp_lap_end(t, PP_PHASE_READ, &lap);
            usleep(800); /* ... and decode it: laps touch, one clock reading each */
            pp_lap_end(t, PP_PHASE_DECODE, &lap);
        }
        pthread_mutex_lock(&lock);
        ready[batch] = 1;
        pthread_cond_broadcast(&finished);
        pthread_mutex_unlock(&lock);
    }
    pp_thread_retire(t);
    return NULL;
}

static void train(void)
{
    struct pp_thread *t = pp_thread_open(recorder, PP_LANE_TRAINER, "trainer");
    uint16_t seen = pp_name(recorder, "samples seen");
    for (unsigned batch = 0; batch < BATCHES; batch++) {
        struct pp_lap lap = {.batch = batch,
                             .sample = BATCH,
                             .flags = PP_SPAN_COUNT}; /* a number of samples, not an id */
        pp_span_begin(t, PP_PHASE_DATA_WAIT, &lap);
        pthread_mutex_lock(&lock);
        while (!ready[batch])
            pthread_cond_wait(&finished, &lock);
        pthread_mutex_unlock(&lock);
        pp_span_end(t, 0, 0);
        pp_span_begin(t, PP_PHASE_STEP, &lap);
        usleep(1500);
        pp_span_end(t, 0, 0);
        pp_counter_put(t, seen, (batch + 1) * BATCH);
    }
    pp_thread_retire(t);
}

int main(int argc, char **argv)
{
    struct pp_err err;
    pthread_t thread[WORKERS];
    const struct pp_open_opts opts = {.replace = 1,
                                      .resources = 1,
                                      .workers = WORKERS, /* for predictions: pipeprobe whatif */
                                      .batch_size = BATCH};
    if (pp_open(argc > 1 ? argv[1] : "c_loader.sqlite", &opts, &recorder, &err) != PP_OK)
        fprintf(stderr, "not recorded: %s\n", err.text);
    for (size_t i = 0; i < WORKERS; i++)
        pthread_create(&thread[i], NULL, worker, (void *)i);
    train();
    for (size_t i = 0; i < WORKERS; i++)
        pthread_join(thread[i], NULL);
    if (pp_close(recorder, &err) != PP_OK)
        fprintf(stderr, "note: %s\n", err.text);
    return 0;
}
