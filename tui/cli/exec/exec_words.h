/* tui/cli/exec/exec_words.h: what exec says on standard error: a sentence a line, with names of others made
 * safe for a terminal. */
#pragma once

#include "tui/cli/exec/exec_record.h"

/* "pipeprobe exec: " and the sentence. Another command that uses these words sets its name first. */
extern const char *exec_speaker;
void exec_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* An interpreter called python..., torchrun, or a script called *.py. */
int exec_words_is_python(char *const *program);

/* What was recorded; when that is nothing, why, and how to start the program so that it is something.
 * with_hooks 0: this pipeprobe has none for Python. */
void exec_words_totals(const struct exec_record *r, char *const *program, int with_hooks);
/* The verdict on one screen. It needs to know when the trainer waited and when it worked; without both there
 * is none, and it is said what is missing. */
void exec_words_verdict(const struct exec_record *r, double gpu_hour, FILE *out);
/* In its place for one of many ranks: how to read all; rank 0 alone says it. */
void exec_words_ranks(const struct exec_record *r);

/* Of the ranks that recorded under one exec: how many, where, and which one the others wait for, where all
 * ranks of the job are here. */
void exec_words_job(const struct exec_ranks_made *x);

/* How a job that no Python reported from would be started so that one does, into text, quoted for a shell:
 * pipeprobe behind what drops the environment, and the interpreter without -I, -E, -S. *why says which of
 * them it is. Returns one of these; 0: the words name no Python that they apply to. */
enum { EXEC_BEHIND = 1, EXEC_ISOLATED };
int exec_words_advice(char *const *program, char *text, size_t size, const char **why);
