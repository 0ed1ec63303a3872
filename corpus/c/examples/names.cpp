// A thread runs a function in a namespace, which fails when the other was first.
// expect: assertion preemptions=0 says=bank::account::deposit
#include <cassert>
#include <pthread.h>

namespace bank {
struct account {
    static pthread_mutex_t lock;
    static int deposits;
    static void *deposit(void *unused) {
        pthread_mutex_lock(&lock);
        assert(++deposits < 2);
        pthread_mutex_unlock(&lock);
        return unused;
    }
};
pthread_mutex_t account::lock = PTHREAD_MUTEX_INITIALIZER;
int account::deposits;
} // namespace bank

int main() {
    pthread_t threads[2];
    for (pthread_t &thread : threads)
        pthread_create(&thread, nullptr, bank::account::deposit, nullptr);
    for (pthread_t thread : threads)
        pthread_join(thread, nullptr);
}
