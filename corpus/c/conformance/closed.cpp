// A library is closed while a thread has a thread-local of its that has not been destroyed: it stays until then.
#include "say.h"

#ifdef IS_LIBRARY

struct Counted {
    int value = 5;
    ~Counted() { printf("destroyed with %d\n", value); }
};

static thread_local Counted counted;

extern "C" int count() { return ++counted.value; }

#else

#include <dlfcn.h>

static void *library;

static void *counts(void *) {
    auto count = reinterpret_cast<int (*)()>(dlsym(library, "count"));
    SAY_NUMBER(count());
    SAY_NUMBER(count());
    return nullptr;
}

static void *closes(void *argument) {
    counts(argument);
    SAY(dlclose(library));
    return nullptr;
}

int main() {
    library = dlopen(LIBRARY, RTLD_NOW);
    SAY_NUMBER(library != nullptr);
    run(counts, nullptr);
    run(closes, nullptr);
    library = dlopen(LIBRARY, RTLD_NOW);
    closes(nullptr);
    return 0;
}

#endif
