/* Makes files below a folder that stands for `/`. */
#ifndef HS_MADE_UP_FILES_H
#define HS_MADE_UP_FILES_H

#include "tap.h"

#include <sys/stat.h>

/* Writes `text` to the file `path` below `root`; creates the folders on the way. */
static inline void made_up_file(const char *root, const char *path, const char *text)
{
    char full[512];
    snprintf(full, sizeof full, "%s%s", root, path);
    for (char *at = strchr(full + strlen(root) + 1, '/'); at; at = strchr(at + 1, '/')) {
        *at = '\0';
        (void)mkdir(full, 0755);
        *at = '/';
    }
    FILE *file = fopen(full, "w");
    if (CHECK(file != NULL)) {
        fputs(text, file);
        fclose(file);
    }
}

#endif
