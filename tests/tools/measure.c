/* measure -o FILE COMMAND...: runs COMMAND and writes what the kernel counted for it and its children as one
 * JSON line into FILE. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double seconds(struct timeval t)
{
    return (double)t.tv_sec + (double)t.tv_usec / 1e6;
}

int main(int argc, char **argv)
{
    struct timespec begin, end;
    struct rusage used;
    int status;
    if (argc < 4 || strcmp(argv[1], "-o") != 0) {
        fputs("Usage: measure -o FILE COMMAND...\n", stderr);
        return 2;
    }
    clock_gettime(CLOCK_MONOTONIC, &begin);
    pid_t pid = fork();
    if (pid == 0) {
        execvp(argv[3], argv + 3);
        fprintf(stderr, "measure: cannot run %s: %s\n", argv[3], strerror(errno));
        _exit(127);
    }
    if (pid < 0 || wait4(pid, &status, 0, &used) != pid) {
        perror("measure");
        return 4;
    }
    clock_gettime(CLOCK_MONOTONIC, &end);
    FILE *f = fopen(argv[2], "w");
    if (!f) {
        fprintf(stderr, "measure: cannot write %s: %s\n", argv[2], strerror(errno));
        return 4;
    }
    fprintf(f, "{\"wall_s\": %.3f, \"cpu_s\": %.3f, \"peak_rss_bytes\": %lld}\n",
            (double)(end.tv_sec - begin.tv_sec) + (double)(end.tv_nsec - begin.tv_nsec) / 1e9,
            seconds(used.ru_utime) + seconds(used.ru_stime),
            (long long)used.ru_maxrss * 1024); /* Linux counts it in KiB */
    fclose(f);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
