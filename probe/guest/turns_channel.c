#include "guest/channel.h"
#include "guest/pci_memory.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

/* The shared memory; the host's side is src/hardstone/lab/qemu.py. */
struct turns {
    _Atomic uint32_t turn; /* counts the guest's turns; it is the host's turn when it moves */
    uint32_t from_guest, from_host; /* bytes */
};

enum {
    DATA = 4096, /* of the guest */
    HOST_DATA = 1 << 19,
    ROOM = HOST_DATA - DATA,
    MEMORY_BYTES = 1 << 20,
    /* The bells are serial lines of a SCC2698 on a TEWS TPCI200: QEMU writes their characters while
     * the processor waits, and the host takes them when it has answered. */
    BELL_BAR = 3,
    BELL_BYTES = 1024,
    BELL_STEP = 0x10, /* from one line's registers to the next one's */
    BELL_COMMAND = 0x04,
    BELL_CHARACTER = 0x06,
    ENABLE_SENDING = 0x04,
    BELL_COUNT = 2,
};

struct turns_channel {
    struct channel channel;
    struct turns *turns;
    unsigned char *from_guest, *from_host;
    volatile uint8_t *bells;
    uint32_t taken; /* bytes of the host's data that were received */
};

/* The bells ring in turn: while one is let go, the host has the other one full already, so that a
 * guest which hands over again at once stands still. */
static void hand_over(struct turns_channel *own)
{
    struct turns *turns = own->turns;
    atomic_thread_fence(memory_order_seq_cst);
    uint32_t turn = atomic_load(&turns->turn) + 1;
    atomic_store(&turns->turn, turn);
    own->bells[turn % BELL_COUNT * BELL_STEP + BELL_CHARACTER] = '.';
    atomic_thread_fence(memory_order_seq_cst);
    turns->from_guest = 0;
    own->taken = 0;
}

static bool turns_send(struct channel *channel, const void *bytes, size_t length)
{
    struct turns_channel *own = (struct turns_channel *)channel;
    const unsigned char *from = bytes;
    while (length > 0) {
        if (own->turns->from_guest == ROOM) {
            if (own->taken < own->turns->from_host)
                return false; /* the host sends nothing while a command runs */
            hand_over(own);
        }
        size_t room = ROOM - own->turns->from_guest;
        size_t part = length < room ? length : room;
        memcpy(own->from_guest + own->turns->from_guest, from, part);
        own->turns->from_guest += (uint32_t)part;
        from += part;
        length -= part;
    }
    return true;
}

static ssize_t turns_receive(struct channel *channel, void *to, size_t bytes)
{
    struct turns_channel *own = (struct turns_channel *)channel;
    while (own->taken >= own->turns->from_host)
        hand_over(own);
    size_t there = own->turns->from_host - own->taken;
    size_t part = bytes < there ? bytes : there;
    if (own->turns->from_host > ROOM)
        return -1;
    memcpy(to, own->from_host + own->taken, part);
    own->taken += (uint32_t)part;
    return (ssize_t)part;
}

struct channel *channel_open_turns(const char *memory, const char *bell)
{
    static struct turns_channel own = {
        {-1, turns_send, turns_receive, 0}, NULL, NULL, NULL, NULL, 0};
    unsigned char *shared = pci_memory(memory, 2, MEMORY_BYTES);
    own.bells = pci_memory(bell, BELL_BAR, BELL_BYTES);
    if (!shared || !own.bells)
        return NULL;
    own.turns = (struct turns *)(void *)shared;
    own.from_guest = shared + DATA;
    own.from_host = shared + HOST_DATA;
    for (int i = 0; i < BELL_COUNT; i++)
        own.bells[i * BELL_STEP + BELL_COMMAND] = ENABLE_SENDING;
    return &own.channel;
}
