/* What the dataset tests share: a temporary directory, files and tar shards in it, and a dataset opened on
 * it. */
#pragma once

#include "probe/base/io.h"
#include "probe/dataset/dataset.h"

#include <fcntl.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <archive.h>
#include <archive_entry.h>
#include <cmocka.h>

/* Of the running test; made before and removed after each: TREE_TEST. */
extern char tree_root[64];
int tree_set_up(void **state);
int tree_tear_down(void **state);

/* root/rel; the result lives until the fourth next call */
const char *tree_path(const char *rel);

/* A file of that name under the root, with the folders on its way. */
void tree_put(const char *rel, const void *bytes, size_t n);
void tree_put_text(const char *rel, const char *text);
/* Its bytes; the caller frees. */
uint8_t *tree_get(const char *rel, size_t *size);
/* A tar file under the root: begin, add, end. */
struct archive *tree_tar(const char *rel, int (*format)(struct archive *));
void tree_tar_add(struct archive *a, const char *name, const void *bytes, size_t n);
void tree_tar_end(struct archive *a);
/* Fails the test when it cannot be opened. */
struct pp_dataset *tree_open(const struct pp_dataset_opts *opts);

/* Opens what must be refused: the status is want and the sentence contains each of the two words. */
void tree_refused(const struct pp_dataset_opts *opts, pp_status want, const char *word, const char *other);

/* Whether a warning of the dataset contains the word. */
int tree_warns(const struct pp_dataset *d, const char *word);

#define TREE_TEST(f) cmocka_unit_test_setup_teardown(f, tree_set_up, tree_tear_down)
