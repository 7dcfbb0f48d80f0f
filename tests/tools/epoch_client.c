/* epoch_client RUN.sqlite FAULT: a data loader of somebody's own, recorded through libpipeprobe, whose epochs
 * go wrong in one way:
 *
 *   fine        every epoch has a shuffle of its own
 *   forgotten   every epoch has the same shuffle (set_epoch was forgotten)
 *   sequential  no shuffle
 *   again       each epoch reads 5 samples a second time
 *   left-out    epoch 1 leaves 12 samples out, in a batch less
 *   no-epochs   a fine one that does not say which epoch a span is of
 *
 * Two workers make the batches in turn; 3 epochs of 40 batches of 12 samples. */
#include <pipeprobe/pipeprobe.h>

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { WORKERS = 2, EPOCHS = 3, BATCHES = 40, BATCH = 12, SAMPLES = BATCHES * BATCH };

static struct pp_recorder *recorder;
static const char *fault;
static unsigned order[EPOCHS][SAMPLES];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t finished = PTHREAD_COND_INITIALIZER;
static int ready[EPOCHS * BATCHES];

static int is(const char *name)
{
    return strcmp(fault, name) == 0;
}

/* Fisher and Yates, with the generator of a seed (Knuth's MMIX). */
static void shuffle(unsigned *v, uint64_t seed)
{
    for (unsigned i = SAMPLES - 1; i > 0; i--) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        unsigned j = (unsigned)((seed >> 33) % (i + 1)), held = v[i];
        v[i] = v[j];
        v[j] = held;
    }
}

static void plan(void)
{
    for (unsigned e = 0; e < EPOCHS; e++) {
        for (unsigned i = 0; i < SAMPLES; i++)
            order[e][i] = i;
        if (!is("sequential"))
            shuffle(order[e], is("forgotten") ? 1 : 1 + e);
        for (unsigned i = 0; i < 5 && is("again"); i++)
            order[e][100 + i] = order[e][200 + i];
    }
}

/* Batches of an epoch: the last one of the faulty epoch is not read. */
static unsigned batches_of(unsigned epoch)
{
    return BATCHES - (unsigned)(is("left-out") && epoch == 1);
}

/* Calls fn for each batch in turn: its number over the run, its epoch, its samples. */
static void each_batch(void (*fn)(void *ctx, unsigned number, unsigned epoch, const unsigned *samples),
                       void *ctx)
{
    unsigned number = 0;
    for (unsigned e = 0; e < EPOCHS; e++)
        for (unsigned b = 0; b < batches_of(e); b++)
            fn(ctx, number++, e, &order[e][b * BATCH]);
}

static uint16_t told(unsigned epoch)
{
    return is("no-epochs") ? 0 : (uint16_t)epoch;
}

struct worker {
    struct pp_thread *thread;
    unsigned number;
};

static void make(void *ctx, unsigned number, unsigned epoch, const unsigned *samples)
{
    struct worker *w = ctx;
    if (number % WORKERS != w->number)
        return;
    pp_lap_start(w->thread);
    for (unsigned i = 0; i < BATCH; i++) {
        struct pp_lap lap = {.batch = number, .epoch = told(epoch), .sample = samples[i], .bytes = 4096};
        usleep(20);
        pp_lap_end(w->thread, PP_PHASE_READ, &lap);
        pp_lap_end(w->thread, PP_PHASE_DECODE, &lap);
    }
    pthread_mutex_lock(&lock);
    ready[number] = 1;
    pthread_cond_broadcast(&finished);
    pthread_mutex_unlock(&lock);
}

static void *worker(void *arg)
{
    struct worker w = {.number = (unsigned)(size_t)arg};
    w.thread = pp_thread_open(recorder, PP_LANE_WORKER, w.number ? "worker-1" : "worker-0");
    each_batch(make, &w);
    pp_thread_retire(w.thread);
    return NULL;
}

static void train(void *ctx, unsigned number, unsigned epoch, const unsigned *samples)
{
    struct pp_thread *t = ctx;
    struct pp_lap lap = {.batch = number, .epoch = told(epoch), .sample = BATCH, .flags = PP_SPAN_COUNT};
    (void)samples;
    pp_span_begin(t, PP_PHASE_DATA_WAIT, &lap);
    pthread_mutex_lock(&lock);
    while (!ready[number])
        pthread_cond_wait(&finished, &lock);
    pthread_mutex_unlock(&lock);
    pp_span_end(t, 0, 0);
    pp_span_begin(t, PP_PHASE_STEP, &lap);
    usleep(1000);
    pp_span_end(t, 0, 0);
}

int main(int argc, char **argv)
{
    struct pp_err err;
    pthread_t thread[WORKERS];
    if (argc != 3) {
        fprintf(stderr,
                "usage: epoch_client RUN.sqlite fine|forgotten|sequential|again|left-out|no-epochs\n");
        return 2;
    }
    fault = argv[2];
    plan();
    if (pp_open(argv[1], &(struct pp_open_opts){.replace = 1}, &recorder, &err) != PP_OK) {
        fprintf(stderr, "not recorded: %s\n", err.text);
        return 1;
    }
    for (size_t i = 0; i < WORKERS; i++)
        pthread_create(&thread[i], NULL, worker, (void *)i);
    struct pp_thread *t = pp_thread_open(recorder, PP_LANE_TRAINER, "trainer");
    each_batch(train, t);
    pp_thread_retire(t);
    for (size_t i = 0; i < WORKERS; i++)
        pthread_join(thread[i], NULL);
    if (pp_close(recorder, &err) != PP_OK)
        fprintf(stderr, "note: %s\n", err.text);
    return 0;
}
