/* The histogram of a row of rollup_second, whole. */
#pragma once

#include "collectors/store/reader.h"
#include "probe/base/hist.h"

/* Adds a part's durations to a histogram; 0 when the blob is damaged (into is then partly filled). */
int second_hist(const struct pp_second_row *s, struct pp_hist *into);
