// A stack of nodes by compare-exchange, with memory that is freed and used again by two threads in turn.
// expect: holds
#include <atomic>
#include <cassert>
#include <thread>

struct Node {
    int value;
    Node *next;
};
static std::atomic<Node *> top;

static void push(int value) {
    Node *node = new Node{value, top.load()};
    while (!top.compare_exchange_weak(node->next, node)) {
    }
}

int main() {
    std::thread thread([] { push(1); });
    push(2);
    thread.join();
    int sum = 0;
    while (Node *node = top.load()) {
        top.store(node->next);
        sum += node->value;
        delete node;
    }
    assert(sum == 3);
}
