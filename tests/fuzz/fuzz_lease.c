/* Fuzz target: the directory of leases that another process wrote (probe/ranks/lease_dir.c): the file 'job',
 * then names and contents of leases and heartbeats, each ended by a zero byte. */
#include "probe/ranks/lease_dir.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/scratch.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SHARDS = 9, MOST_FILES = 24 };

static const char sound[] =
    "pipeprobe lease 1\nshards 9\nlist 0000000000000007\nseed 1\nshuffled 1\njob 4711\n";

static void put(const char *folder, const char *name, const char *text)
{
    char path[512];
    if (!name[0] || strchr(name, '/') || strcmp(name, ".") == 0 || strcmp(name, "..") == 0 ||
        strlen(name) > 200)
        return; /* no file of one folder can be called so */
    snprintf(path, sizeof(path), "%s/%s/%s", scratch_path("leases"), folder, name);
    FILE *f = fopen(path, "we");
    if (!f)
        return;
    fputs(text, f);
    fclose(f);
}

/* The next text of the input; "" at its end. */
static const char *next_text(const char **at, const char *end)
{
    const char *text = *at;
    if (text >= end)
        return "";
    *at += strlen(text) + 1;
    return text;
}

static void clear(const char *folder)
{
    char path[1024];
    const struct dirent *e;
    DIR *d = opendir(folder);
    while (d && (e = readdir(d)))
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0) {
            snprintf(path, sizeof(path), "%s/%s", folder, e->d_name);
            if (e->d_type == DT_DIR)
                clear(path);
            else
                unlink(path);
        }
    if (d)
        closedir(d);
    rmdir(folder);
}

static void look(struct pp_lease_dir *d)
{
    struct pp_lease_state state[SHARDS];
    char token[PP_LEASE_TOKEN];
    if (pp_lease_dir_look(d, 0, state, NULL) != PP_OK)
        return;
    for (uint64_t i = 0; i < SHARDS; i++) {
        if (state[i].turn < -1 || state[i].turn > PP_LEASE_MOST_TURNS)
            abort();
        if (state[i].turn >= 0)
            pp_lease_dir_owner(d, 0, i, state[i].turn, token);
        if (state[i].turn >= 0 && !memchr(token, '\0', sizeof(token)))
            abort();
        if (!state[i].done && pp_lease_dir_take(d, 0, i, state[i].turn + 1, NULL) == PP_OK &&
            !pp_lease_dir_has(d, 0, i, state[i].turn + 1))
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    if (!text)
        return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    const char *at = text, *end = text + size;
    const struct pp_lease_opts o = {.dir = scratch_path("leases"),
                                    .shards = SHARDS,
                                    .list = 7,
                                    .seed = 1,
                                    .shuffled = 1,
                                    .job = "4711",
                                    .expiry_ns = 1};
    char folder[256];
    snprintf(folder, sizeof(folder), "%s", o.dir);
    mkdir(folder, 0700);
    snprintf(folder, sizeof(folder), "%s/epoch-00000", o.dir);
    mkdir(folder, 0700);
    snprintf(folder, sizeof(folder), "%s/ranks", o.dir);
    mkdir(folder, 0700);
    const char *job = next_text(&at, end);
    put(".", "job", job);
    for (int i = 0; i < MOST_FILES && at < end; i++) {
        const char *name = next_text(&at, end);
        put(i % 2 ? "ranks" : "epoch-00000", name, next_text(&at, end));
    }
    struct pp_lease_dir d;
    struct pp_err err;
    pp_status st = pp_lease_dir_join(&d, &o, &err);
    if (st != PP_OK && (!err.text[0] || strchr(err.text, '\n')))
        abort(); /* a refusal is one sentence */
    if (st == PP_OK)
        look(&d);
    pp_lease_dir_free(&d);
    snprintf(folder, sizeof(folder), "%s", scratch_path("leases"));
    clear(folder);
    free(text);
    return 0;
}

int fuzz_seed(unsigned i, uint8_t **data, size_t *size)
{
    static const char files[] = "0.0\0host.12.0123456789abcdef\0host.12.0123456789abcdef\0beat 000000000007\0"
                                "1.0\0\0other\0left 000000000001\0"
                                "1.1\0../../etc/passwd\0x\0\0"
                                "8.done\0token";
    if (i > 1)
        return 0;
    *size = sizeof(sound) + (i ? sizeof(files) : 0);
    *data = malloc(*size);
    if (!*data)
        return 0;
    memcpy(*data, sound, sizeof(sound));
    if (i)
        memcpy(*data + sizeof(sound), files, sizeof(files));
    return 1;
}
