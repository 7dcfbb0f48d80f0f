/* A directory for one test, in memory where there is such, and the file of a run in it: its name, its making,
 * and what SQLite says of it. */
#pragma once

#include "collectors/store/writer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sqlite3.h>
#include <cmocka.h>

/* Of the running test: its directory, the path of its run, and of the rings beside that. */
extern char store_dir[64], store_path[96], store_rings[112];
/* The directory is made before, and removed after, each test: STORE_TEST. */
int store_setup(void **state);
int store_teardown(void **state);

/* Fails when anything but the run's file is left. */
int store_teardown_only_the_run(void **state);

#define STORE_TEST(f) cmocka_unit_test_setup_teardown(f, store_setup, store_teardown)

/* At the test's path. */
struct pp_store *store_create_with(struct pp_store_opts opts);

/* The first row; the caller finalizes it and closes *db. flags: of sqlite3_open_v2. */
sqlite3_stmt *store_first_row(sqlite3 **db, int flags, const char *sql);

/* The first value of the first row. */
double store_query(const char *sql);

/* SQLite finds the file sound. */
void store_assert_integrity(void);
