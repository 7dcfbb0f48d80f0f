/* base/std.h: the headers of standard C that nearly every file needs. They come with each header of ours that
 * uses one of them, and are named nowhere else; what a file needs besides (threads, files, signals,
 * libraries) stands at its own head. */
#pragma once

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
