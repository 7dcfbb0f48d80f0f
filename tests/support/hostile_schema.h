/* Recordings that are not what they seem: changes of the schema and of rows that leave a valid SQLite file.
 * Used by unit tests and by the fuzz target of the schema. */
#pragma once

#include <stdint.h>
#include <stddef.h>

size_t hostile_kinds(void);
size_t hostile_tables(void);
const char *hostile_kind_name(size_t kind);
const char *hostile_table_name(size_t table);

/* Does kind to the table (and one of its columns, and a value) in the file; numbers are taken modulo. 0:
 * SQLite refused the change, as it does where it makes no sense; the file may have part of it. */
int hostile_change(const char *path, size_t kind, size_t table, size_t column, size_t value);

/* The table's rows come again and again: pages that point to one page below, six levels of them. Returns 0
 * when it could not be made. */
int hostile_endless_tree(const char *path, const char *table);
