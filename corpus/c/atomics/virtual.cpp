// An object is made anew, as another type, while a thread calls a virtual function of it: the pointer to its table is
// written and read without order.
// expect: data-race preemptions=0 says=place
#include <new>
#include <thread>

struct Base {
    virtual int number() { return 1; }
    virtual ~Base() {}
};
struct Derived : Base {
    int number() override { return 2; }
};

alignas(Derived) static unsigned char place[sizeof(Derived)];

int main() {
    Base *object = new (place) Base;
    std::thread calls([object] { object->number(); });
    new (place) Derived;
    calls.join();
    return 0;
}
