#include "port/linux/files.h"

/* Alone in its file: a test puts another in its place and shows the port a made-up machine. */
const char *linux_root(void)
{
    return "";
}
