// Clocks and sleeping: what passes is at least what was asked for.
#include "say.h"
#include <poll.h>
#include <stdlib.h>
#include <sys/select.h>
#include <sys/time.h>
#include <unistd.h>

static double now(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

int main(void) {
    double before = now(CLOCK_MONOTONIC), wall = now(CLOCK_REALTIME);
    SAY_NUMBER(usleep(2000));
    SAY_NUMBER(now(CLOCK_MONOTONIC) - before >= 0.002);
    // This clock may be put right meanwhile.
    SAY_NUMBER(now(CLOCK_REALTIME) - wall >= 0.0015);
    struct timespec length = {0, 3000000};
    SAY_ERRNO(nanosleep(&length, NULL));
    SAY(clock_nanosleep(CLOCK_MONOTONIC, 0, &length, NULL));
    struct timespec until = in_ms(CLOCK_MONOTONIC, 4);
    SAY(clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL));
    SAY_NUMBER(now(CLOCK_MONOTONIC) >= (double)until.tv_sec + (double)until.tv_nsec / 1e9);
    SAY_NUMBER(now(CLOCK_MONOTONIC) - before >= 0.012);
    struct timespec wrong = {0, -5};
    SAY_ERRNO(nanosleep(&wrong, NULL));
    SAY(clock_nanosleep(CLOCK_MONOTONIC, 0, &wrong, NULL));
    // Waits for nothing but time.
    before = now(CLOCK_MONOTONIC);
    struct timeval limit = {0, 2000};
    SAY_NUMBER(poll(NULL, 0, 2));
    SAY_NUMBER(ppoll(NULL, 0, &length, NULL));
    SAY_NUMBER(select(0, NULL, NULL, NULL, &limit));
    SAY_NUMBER(limit.tv_sec + limit.tv_usec);
    SAY_NUMBER(pselect(0, NULL, NULL, NULL, &length, NULL));
    SAY_NUMBER(now(CLOCK_MONOTONIC) - before >= 0.010);
    SAY_ERRNO(ppoll(NULL, 0, &wrong, NULL));
    // CPU time.
    clockid_t cpu;
    SAY(clock_getcpuclockid(0, &cpu));
    SAY_NUMBER(now(cpu) >= 0 && now(cpu) < 3600);
    struct timeval day;
    SAY_ERRNO(gettimeofday(&day, NULL));
    // The C library's `time` may be behind by a tick, and so by a second.
    SAY_NUMBER(day.tv_sec - time(NULL) <= 1);
    struct timespec utc;
    SAY_NUMBER(timespec_get(&utc, TIME_UTC) == TIME_UTC);
    double spin = now(CLOCK_MONOTONIC);
    while (now(CLOCK_MONOTONIC) < spin + 0.0005) {
    }
    SAY_NUMBER(sleep(0));
    fflush(stdout);
    _Exit(0);
}
