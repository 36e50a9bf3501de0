#include "base/posix_source.h"

#include "family/file/synchronised.h"

void synchronised_begin(struct synchronised *synchronised, int64_t bytes)
{
    *synchronised = (struct synchronised){.bytes = bytes, .first_bytes = bytes};
}

/* A reading that cannot be had makes all of them worth nothing. */
void synchronised_take(struct synchronised *synchronised, int64_t bytes)
{
    if (synchronised->bytes < 0 || bytes < 0) {
        synchronised->bytes = -1;
        return;
    }
    bool has_risen = bytes > synchronised->bytes;
    synchronised->seen_count += has_risen ? 1 : 0;
    synchronised->unseen_count += has_risen ? 0 : 1;
    synchronised->bytes = bytes;
}

bool synchronised_is_known(const struct synchronised *synchronised)
{
    return synchronised->bytes >= 0 && synchronised->seen_count + synchronised->unseen_count > 0;
}

bool synchronised_holds(const struct synchronised *synchronised)
{
    return synchronised_is_known(synchronised) && synchronised->unseen_count == 0;
}

int64_t synchronised_device_bytes(const struct synchronised *synchronised)
{
    return synchronised->bytes < 0 ? -1 : synchronised->bytes - synchronised->first_bytes;
}
