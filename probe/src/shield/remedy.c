#include "base/posix_source.h"

#include "shield/remedy.h"

#include "shield/shield.h"

const char *shield_remedy(int cpu)
{
    struct journal journal;
    struct journal_image image;
    char reason[SHIELD_REASON_BYTES];
    const char *remedy = "choose one of cpu.allowed in hardstone-probe facts";
    enum journal_state state = journal_find(&journal, NULL, &image, reason, sizeof reason);
    bool is_known = state == JOURNAL_STALE || state == JOURNAL_HELD;
    if (is_known && cpus_has(&image.head.reserved, cpu))
        remedy = state == JOURNAL_HELD
                     ? "a shield has reserved it (hardstone shield --show): wait for its end"
                     : "a shield was left behind that has reserved it: hardstone shield --restore";
    if (is_known)
        journal_free_image(&image);
    journal_close(&journal);
    return remedy;
}
