/* native_threads.c RECORDING reads|computes|sleeps FILES...: a loader in native threads, of which no span
 * tells. The trainer's waits and steps are recorded. Its threads open and read the files, compute, or sleep,
 * as a loader in C++ does. */
#include <pipeprobe/pipeprobe.h>

#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 2, BATCHES = 600, AHEAD = 4, FILES_OF_BATCH = 2, COMPUTE_MS = 12, STEP_US = 2000 };

static sem_t made, room;
static char **file;
static int files;
static const char *kind;

static double thread_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void read_files(unsigned at)
{
    char buf[65536];
    for (int i = 0; i < FILES_OF_BATCH; i++) {
        int fd = open(file[(at + (unsigned)i) % (unsigned)files], O_RDONLY);
        while (fd >= 0 && read(fd, buf, sizeof(buf)) > 0)
            ;
        if (fd >= 0)
            close(fd);
    }
}

static void *loader(void *arg)
{
    unsigned at = (unsigned)(size_t)arg * 17;
    for (;; at += FILES_OF_BATCH) {
        sem_wait(&room);
        if (strcmp(kind, "reads") == 0 && files)
            read_files(at);
        else if (strcmp(kind, "computes") == 0)
            for (double until = thread_ms() + COMPUTE_MS; thread_ms() < until;)
                ;
        else
            usleep(COMPUTE_MS * 1000);
        sem_post(&made);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    struct pp_recorder *recorder;
    struct pp_err err;
    pthread_t thread;
    if (argc < 3)
        return 2;
    kind = argv[2], file = argv + 3, files = argc - 3;
    if (pp_open(argv[1], &(struct pp_open_opts){.replace = 1, .resources = 1, .batch_size = 8}, &recorder,
                &err) != PP_OK)
        fprintf(stderr, "not recorded: %s\n", err.text);
    struct pp_thread *t = pp_thread_open(recorder, PP_LANE_TRAINER, "trainer");
    sem_init(&made, 0, 0);
    sem_init(&room, 0, AHEAD);
    for (size_t i = 0; i < THREADS; i++)
        pthread_create(&thread, NULL, loader, (void *)i);
    for (unsigned batch = 0; batch < BATCHES; batch++) {
        struct pp_lap lap = {.batch = batch, .sample = 8, .flags = PP_SPAN_COUNT};
        pp_span_begin(t, PP_PHASE_DATA_WAIT, &lap);
        sem_wait(&made);
        pp_span_end(t, 0, 0);
        pp_span_begin(t, PP_PHASE_STEP, &lap);
        sem_post(&room);
        usleep(STEP_US);
        pp_span_end(t, 0, 0);
    }
    pp_thread_retire(t);
    return pp_close(recorder, &err) != PP_OK;
}
