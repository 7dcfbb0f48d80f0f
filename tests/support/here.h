/* tests/support/here.h: where the running test, or the lab, was built. */
#pragma once

/* "build/release/NAME", from the place of this test program (build/release/tests/...). Static,
 * overwritten by the next call; for the thread that runs the tests. */
const char *built(const char *name);
