// The work-stealing queue of corpus/rust/examples/work_stealing_queue.rs, in C: its owner pushes and pops at the tail, a
// thief takes from the head. The variant is its argument.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

enum { SLOTS = 3, ITEMS = 4 };
static bool look_before_claim, no_spare_slot, no_second_look;
// Positions only grow; an item is at its position modulo the number of slots.
static atomic_long head, tail;
static atomic_int items[SLOTS];
static pthread_mutex_t thief_lock = PTHREAD_MUTEX_INITIALIZER;

static bool push(int item) {
    long end = atomic_load(&tail);
    long capacity = no_spare_slot ? SLOTS : SLOTS - 1;
    if (end - atomic_load(&head) >= capacity)
        return false;
    atomic_store(&items[end % SLOTS], item);
    atomic_store(&tail, end + 1);
    return true;
}

// Claims the last item, and gives it back if a thief has come first; 0 if there is none.
static int claim_last(void) {
    long last = atomic_load(&tail) - 1;
    atomic_store(&tail, last);
    if (atomic_load(&head) > last) {
        atomic_store(&tail, last + 1);
        return 0;
    }
    return atomic_load(&items[last % SLOTS]);
}

static int pop(void) {
    if (look_before_claim) {
        long last = atomic_load(&tail) - 1;
        if (atomic_load(&head) > last)
            return 0;
        atomic_store(&tail, last);
        return atomic_load(&items[last % SLOTS]);
    }
    int item = claim_last();
    if (item == 0 && !no_second_look) {
        pthread_mutex_lock(&thief_lock);
        item = claim_last();
        pthread_mutex_unlock(&thief_lock);
    }
    return item;
}

static int steal(void) {
    pthread_mutex_lock(&thief_lock);
    long first = atomic_load(&head);
    atomic_store(&head, first + 1);
    int item = 0;
    if (first >= atomic_load(&tail))
        atomic_store(&head, first);
    else
        item = atomic_load(&items[first % SLOTS]);
    pthread_mutex_unlock(&thief_lock);
    return item;
}

static int stolen[2];

static void *thief(void *argument) {
    for (int i = 0; i < 2; i++)
        stolen[i] = steal();
    return argument;
}

int main(int count, char **arguments) {
    const char *variant = count > 1 ? arguments[1] : "fixed";
    look_before_claim = strcmp(variant, "look-before-claim") == 0;
    no_spare_slot = strcmp(variant, "no-spare-slot") == 0;
    no_second_look = strcmp(variant, "no-second-look") == 0;
    int done[ITEMS + 1] = {0}, item;
    pthread_t thread;
    pthread_create(&thread, NULL, thief, NULL);
    for (item = 1; item <= ITEMS; item++)
        // What does not fit is done at once.
        if (!push(item))
            done[item]++;
    while ((item = pop()) != 0)
        done[item]++;
    pthread_join(thread, NULL);
    for (int i = 0; i < 2; i++)
        if (stolen[i] != 0)
            done[stolen[i]]++;
    for (item = 1; item <= ITEMS; item++)
        assert(done[item] == 1);
    return 0;
}
