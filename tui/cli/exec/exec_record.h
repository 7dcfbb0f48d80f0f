/* tui/cli/exec/exec_record.h: the recording of a foreign program: a session that its processes join -> drain
 * -> store (one SQLite file), the map they read their phases from, and what they say about themselves at the
 * end. */
#ifndef PP_TUI_CLI_EXEC_EXEC_RECORD_H
#define PP_TUI_CLI_EXEC_EXEC_RECORD_H

#include "collectors/record/drain.h"
#include "collectors/store/writer.h"

/* What was recorded, for the closing words. */
struct exec_totals {
    uint64_t spans, dropped, ringless; /* ringless: threads that could be given no ring */
    unsigned threads, processes;       /* with spans or not, but with an NVTX call */
    int chained;                       /* 1: another tool was attached, 2: it could not be */
};

struct exec_record {
    char path[4096], rings[4120];
    struct pp_session *session;
    struct pp_store *store;
    struct pp_drain *drain;
    struct exec_totals totals;
};

/* Creates the file, the session "PATH.rings" with map_text (may be empty) beside the rings, and starts the
 * drain. */
pp_status exec_record_begin(struct exec_record *r, int force, size_t ring_spans, const char *map_text,
                            struct pp_err *err);
/* Stops the drain and finishes the file. exit_code is the program's; outcome: "finished" or "interrupted".
 * The file stays readable whatever fails; err says what is missing. */
pp_status exec_record_end(struct exec_record *r, int exit_code, const char *outcome, struct pp_err *err);
/* The program did not start: leaves nothing behind. */
void exec_record_abandon(struct exec_record *r);
/* Releases whatever is still open. */
void exec_record_free(struct exec_record *r);

#endif
