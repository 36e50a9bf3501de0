/* stress-ng: another program's load, by its own options; where it is installed.
 *
 * Its options are split at white space and handed over as they are. Its processes are
 * counted as those that descend from the one started here. It runs in the scratch folder of
 * the load, so that what it leaves there goes with it. */
#include "../posix_source.h"

#include "element.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

enum { WORDS = 64 };

static void work(struct loader *loader)
{
    static char options[LOAD_OPTIONS_BYTES];
    char *words[WORDS + 2] = {(char *)"stress-ng"};
    char *rest = NULL;
    int count = 1;
    strncpy(options, loader->options, sizeof options - 1);
    for (char *word = strtok_r(options, " \t", &rest); word && count <= WORDS;
         word = strtok_r(NULL, " \t", &rest))
        words[count++] = word;
    if (loader->map->scratch[0] && chdir(loader->map->scratch) != 0)
        return;
    loader_works(loader);
    execvp(words[0], words);
    loader_note(loader, "stress-ng could not be started: %s", strerror(errno));
}

const struct load_element load_stress_ng = {
    .name = "stress-ng",
    .title = "the program stress-ng with these options, where it is installed",
    .kind = LOAD_FOREIGN,
    .counters = {[COUNTER_OWN] = "processes_count"},
    .needs_names = true,
    .work = work,
};
