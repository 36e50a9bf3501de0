#include "base/posix_source.h"

#include "shield/remedy.h"

#include "shield/shield.h"

struct remedy shield_remedy(int cpu)
{
    struct journal journal;
    struct journal_image image;
    char reason[SHIELD_REASON_BYTES];
    struct remedy remedy = {"choose one of cpu.allowed in hardstone-probe facts", NULL};
    enum journal_state state = journal_find(&journal, NULL, &image, reason, sizeof reason);
    bool is_known = state == JOURNAL_STALE || state == JOURNAL_HELD;
    if (is_known && cpus_has(&image.head.reserved, cpu))
        remedy =
            state == JOURNAL_HELD
                ? (struct remedy){"a shield has reserved it: wait for its end; see whose it is",
                                  "hardstone shield --show"}
                : (struct remedy){"a shield that was not restored has reserved it: restore it",
                                  SHIELD_RESTORE_COMMAND};
    if (is_known)
        journal_free_image(&image);
    journal_close(&journal);
    return remedy;
}
