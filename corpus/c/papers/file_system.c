// The model of a file system of corpus/rust/examples/file_system.rs, in C: processes create files, for each of which an
// inode and a block are needed.
#include <assert.h>
#include <pthread.h>

enum { PROCESSES = 3, INODES = 2, BLOCKS = 2 };
static pthread_mutex_t inode_locks[INODES] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
static pthread_mutex_t block_locks[BLOCKS] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
// The block of each file plus 1, once it has one.
static int inodes[INODES];
static int in_use[BLOCKS];

static int allocate(int from) {
    for (int offset = 0; offset < BLOCKS; offset++) {
        int block = (from + offset) % BLOCKS;
        pthread_mutex_lock(&block_locks[block]);
        int was_in_use = in_use[block];
        in_use[block] = 1;
        pthread_mutex_unlock(&block_locks[block]);
        if (!was_in_use)
            return block;
    }
    assert(!"there are as many blocks as inodes");
    return 0;
}

static void *create(void *argument) {
    int inode = *(int *)argument % INODES;
    pthread_mutex_lock(&inode_locks[inode]);
    if (inodes[inode] == 0)
        inodes[inode] = allocate(inode * 2) + 1;
    pthread_mutex_unlock(&inode_locks[inode]);
    return NULL;
}

int main(void) {
    pthread_t threads[PROCESSES];
    int numbers[PROCESSES], used[INODES];
    for (int i = 0; i < PROCESSES; i++) {
        numbers[i] = i;
        pthread_create(&threads[i], NULL, create, &numbers[i]);
    }
    for (int i = 0; i < PROCESSES; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < INODES; i++) {
        pthread_mutex_lock(&inode_locks[i]);
        used[i] = inodes[i] - 1;
        pthread_mutex_unlock(&inode_locks[i]);
    }
    assert(used[0] != used[1]);
    for (int block = 0; block < BLOCKS; block++) {
        pthread_mutex_lock(&block_locks[block]);
        assert(in_use[block] == (used[0] == block || used[1] == block));
        pthread_mutex_unlock(&block_locks[block]);
    }
    return 0;
}
