// Thread-locals of C++ with constructors and destructors, and stacks that are unwound.
#include <condition_variable>
#include <cxxabi.h>
#include <mutex>
#include <pthread.h>
#include <stdexcept>
#include <stdio.h>
#include <string>
#include <thread>

static pthread_key_t key;

struct Named {
    std::string name;
    explicit Named(const char *text) : name(text) { printf("begins: %s\n", text); }
    ~Named() { printf("ends: %s\n", name.c_str()); }
};

static thread_local Named first("first");
static thread_local Named second("second");

struct Late {
    ~Late() {
        static thread_local Named made("made by a destructor");
        made.name += ", used";
    }
};
static thread_local Late late;

static void destroys(void *text) {
    printf("key: %s\n", (const char *)text);
}

static void uses() {
    first.name += " used";
    second.name += " used";
    (void)&late;
    pthread_setspecific(key, "value");
}

static void *ends(void *) {
    Named local("local");
    uses();
    try {
        Named inner("inner");
        pthread_exit((void *)"ended");
    } catch (abi::__forced_unwind &) {
        printf("unwound\n");
        throw;
    }
}

static void *rethrows(void *) {
    try {
        Named inner("inner");
        pthread_exit((void *)"ended");
    } catch (...) {
        printf("caught\n");
        throw;
    }
}

static void *throws(void *) {
    try {
        Named inner("inner");
        throw std::runtime_error("thrown");
    } catch (const std::exception &error) {
        printf("caught: %s\n", error.what());
        try {
            throw 1;
        } catch (int) {
            std::rethrow_exception(std::current_exception());
        }
    }
}

static void *catches(void *argument) {
    try {
        return throws(argument);
    } catch (int number) {
        printf("caught: %d\n", number);
    }
    return (void *)"caught";
}

static void run(void *(*function)(void *)) {
    pthread_t thread;
    void *result;
    pthread_create(&thread, nullptr, function, nullptr);
    pthread_join(thread, &result);
    printf("%s\n", result ? (const char *)result : "nothing");
}

int main() {
    pthread_key_create(&key, destroys);
    run([](void *) -> void * {
        uses();
        return (void *)"returned";
    });
    run(ends);
    run(rethrows);
    run(catches);
    std::thread([] { uses(); }).join();
    uses();
    printf("main ends\n");
}
