// Types as preprocessed for 32 bits, as verification benchmarks have them: they are smaller than those of the C library,
// whose code does not touch what is behind them.
extern int printf(const char *, ...);

typedef unsigned long pthread_t;
typedef union { char size[24]; long align; } pthread_mutex_t;
typedef union { char size[16]; long align; } sem_t;
typedef union { char size[20]; long align; } pthread_barrier_t;
typedef union { char size[48]; long align; } pthread_cond_t;
typedef union { char size[32]; long align; } pthread_rwlock_t;

extern int pthread_create(pthread_t *, const void *, void *(*)(void *), void *);
extern int pthread_join(pthread_t, void **);
extern int pthread_mutex_lock(pthread_mutex_t *);
extern int pthread_mutex_trylock(pthread_mutex_t *);
extern int pthread_mutex_unlock(pthread_mutex_t *);
extern int pthread_mutex_destroy(pthread_mutex_t *);
extern int sem_init(sem_t *, int, unsigned);
extern int sem_wait(sem_t *);
extern int sem_post(sem_t *);
extern int sem_destroy(sem_t *);
extern int pthread_barrier_init(pthread_barrier_t *, const void *, unsigned);
extern int pthread_barrier_wait(pthread_barrier_t *);
extern int pthread_barrier_destroy(pthread_barrier_t *);
extern int pthread_cond_init(pthread_cond_t *, const void *);
extern int pthread_cond_wait(pthread_cond_t *, pthread_mutex_t *);
extern int pthread_cond_signal(pthread_cond_t *);
extern int pthread_cond_destroy(pthread_cond_t *);
extern int pthread_rwlock_rdlock(pthread_rwlock_t *);
extern int pthread_rwlock_wrlock(pthread_rwlock_t *);
extern int pthread_rwlock_unlock(pthread_rwlock_t *);
extern int pthread_rwlock_destroy(pthread_rwlock_t *);

// Each has a neighbour that changes while the object is in use.
#define WITH_NEIGHBOUR(type, name) static struct { type object; int neighbour; } name
WITH_NEIGHBOUR(pthread_mutex_t, first);
WITH_NEIGHBOUR(pthread_mutex_t, second);
WITH_NEIGHBOUR(sem_t, given);
WITH_NEIGHBOUR(sem_t, taken);
WITH_NEIGHBOUR(pthread_cond_t, changed);
WITH_NEIGHBOUR(pthread_rwlock_t, shared);
WITH_NEIGHBOUR(pthread_barrier_t, together);

static void *thread(void *argument) {
    pthread_mutex_lock(&first.object);
    first.neighbour++;
    pthread_mutex_lock(&second.object);
    second.neighbour--;
    pthread_mutex_unlock(&second.object);
    pthread_mutex_unlock(&first.object);
    sem_wait(&given.object);
    given.neighbour++;
    taken.neighbour--;
    sem_post(&taken.object);
    pthread_rwlock_wrlock(&shared.object);
    shared.neighbour++;
    pthread_rwlock_unlock(&shared.object);
    pthread_mutex_lock(&first.object);
    changed.neighbour++;
    pthread_cond_signal(&changed.object);
    pthread_mutex_unlock(&first.object);
    pthread_barrier_wait(&together.object);
    return argument;
}

int main(void) {
    pthread_t id;
    sem_init(&given.object, 0, 0);
    sem_init(&taken.object, 0, 0);
    pthread_cond_init(&changed.object, 0);
    pthread_barrier_init(&together.object, 0, 2);
    pthread_create(&id, 0, thread, 0);
    pthread_mutex_lock(&first.object);
    first.neighbour++;
    printf("held: %d\n", pthread_mutex_trylock(&first.object));
    pthread_mutex_unlock(&first.object);
    given.neighbour = taken.neighbour = 5;
    sem_post(&given.object);
    sem_wait(&taken.object);
    printf("semaphores: %d %d\n", given.neighbour, taken.neighbour);
    pthread_rwlock_rdlock(&shared.object);
    int before = shared.neighbour;
    printf("unchanged: %d\n", before == shared.neighbour);
    pthread_rwlock_unlock(&shared.object);
    pthread_mutex_lock(&first.object);
    while (!changed.neighbour)
        pthread_cond_wait(&changed.object, &first.object);
    pthread_mutex_unlock(&first.object);
    together.neighbour = 7;
    pthread_barrier_wait(&together.object);
    pthread_join(id, 0);
    pthread_mutex_destroy(&first.object);
    pthread_mutex_destroy(&second.object);
    sem_destroy(&given.object);
    sem_destroy(&taken.object);
    pthread_cond_destroy(&changed.object);
    pthread_rwlock_destroy(&shared.object);
    pthread_barrier_destroy(&together.object);
    printf("neighbours: %d %d %d %d %d\n", first.neighbour, second.neighbour, changed.neighbour, shared.neighbour,
           together.neighbour);
    return 0;
}
