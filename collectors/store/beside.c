#include "collectors/store/beside.h"

#include "collectors/store/db.h"
#include "probe/base/err.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define JOURNAL_HEADER 28 /* "The SQLite Database File Format", section 3 */
#define NAME_BYTES (PATH_MAX + 16)

static const char *const suffixes[] = {"-journal", "-wal", "-shm"};
enum { SUFFIXES = sizeof(suffixes) / sizeof(*suffixes) };

void pp_beside_real(const char *path, char *real)
{
    char *found = realpath(path, NULL);
    snprintf(real, PATH_MAX, "%s", found ? found : path);
    free(found);
}

static enum pp_beside kind_of(const struct stat *st, int is_recording)
{
    if (!S_ISREG(st->st_mode))
        return PP_BESIDE_UNFIT;
    return st->st_uid == geteuid() && (is_recording || st->st_nlink == 1) ? PP_BESIDE_OURS
                                                                          : PP_BESIDE_FOREIGN;
}

enum pp_beside pp_beside_look(const char *real, const char *suffix)
{
    char name[NAME_BYTES];
    struct stat st;
    snprintf(name, sizeof(name), "%s%s", real, suffix);
    return lstat(name, &st) == 0 ? kind_of(&st, !*suffix) : PP_BESIDE_ABSENT;
}

pp_status pp_beside_check(const char *real, struct pp_err *err)
{
    for (int i = 0; i < SUFFIXES; i++)
        if (pp_beside_look(real, suffixes[i]) == PP_BESIDE_UNFIT)
            return pp_fail(
                err, PP_E_UNSUPPORTED,
                "%s%s is a link, a pipe or a device, and no file of a recording; remove it to read %s", real,
                suffixes[i], real);
    return PP_OK;
}

/* A recorder never has two databases in one transaction, so its journal names no other file ("super-journal",
 * whose record ends in the magic), and begins with a file that was no larger than now. */
static pp_status check_content(int fd, const struct stat *journal, const struct stat *file,
                               struct pp_err *err)
{
    static const uint8_t magic[8] = {0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7};
    uint8_t head[JOURNAL_HEADER] = {0}, end[sizeof(magic)];
    off_t size = journal->st_size;
    if (size < JOURNAL_HEADER)
        return PP_OK; /* SQLite takes nothing from it */
    if (pread(fd, head, sizeof(head), 0) != (ssize_t)sizeof(head) ||
        pread(fd, end, sizeof(end), size - (off_t)sizeof(end)) != (ssize_t)sizeof(end))
        return pp_fail(err, PP_E_IO, "it cannot be read");
    if (memcmp(end, magic, sizeof(magic)) == 0)
        return pp_fail(
            err, PP_E_UNSUPPORTED,
            "it names another file, which rolling back would delete; no journal of pipeprobe does");
    if (memcmp(head, magic, sizeof(magic)) == 0 &&
        (uint64_t)pp_be32(head + 16) * pp_be32(head + 24) > (uint64_t)file->st_size)
        return pp_fail(err, PP_E_UNSUPPORTED, "it is of a larger file");
    return PP_OK;
}

pp_status pp_beside_may_roll_back(const char *real, struct pp_err *err)
{
    char name[NAME_BYTES];
    struct stat file, journal;
    snprintf(name, sizeof(name), "%s-journal", real);
    if (lstat(name, &journal) != 0 || (S_ISREG(journal.st_mode) && journal.st_size == 0))
        return PP_OK;
    if (lstat(real, &file) != 0 || kind_of(&file, 1) != PP_BESIDE_OURS)
        return pp_fail(err, PP_E_ACCESS, "the recording belongs to another user, who can");
    if (kind_of(&journal, 0) != PP_BESIDE_OURS)
        return pp_fail(err, PP_E_ACCESS, "it belongs to another user, or is a link");
    int fd = open(name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0)
        return pp_fail(err, PP_E_ACCESS, "it cannot be opened: %s", strerror(errno));
    pp_status status = fstat(fd, &journal) == 0 && kind_of(&journal, 0) == PP_BESIDE_OURS
                           ? check_content(fd, &journal, &file, err)
                           : pp_fail(err, PP_E_ACCESS, "it has just been replaced");
    close(fd);
    return status;
}

pp_status pp_beside_may_write(const char *real, struct pp_err *err)
{
    enum pp_beside file = pp_beside_look(real, "");
    if (file != PP_BESIDE_OURS)
        return pp_fail(err, PP_E_ACCESS, "%s belongs to another user, who can take them in by opening it",
                       real);
    for (int i = 0; i < SUFFIXES; i++) {
        enum pp_beside beside = pp_beside_look(real, suffixes[i]);
        if (beside != PP_BESIDE_ABSENT && beside != PP_BESIDE_OURS)
            return pp_fail(err, PP_E_ACCESS, "%s%s belongs to another user, or is a link; remove it", real,
                           suffixes[i]);
    }
    struct pp_err why = {.code = PP_OK};
    pp_status status = pp_beside_may_roll_back(real, &why);
    return status ? pp_fail(err, status, "%s-journal cannot be rolled back: %s", real, why.text) : PP_OK;
}
