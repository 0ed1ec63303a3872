// Cancellation points that wait for files, sockets, processes and time: a request that is pending is acted on there,
// and is not while cancellation is turned off. Each is reached twice: asked to end with cancellation turned off, where
// it does its work, and then turned on, where it does not return.
#include "say.h"
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

static int ends[2], sockets[2], file;
static char bytes[8];
static struct iovec part = {bytes, 1};
static struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
static struct timespec soon = {0, 1000};
static sigset_t none;

// What a call needs to return by itself.
static void fill(void) {
    if (write(ends[1], bytes, 1) != 1 || write(sockets[0], bytes, 1) != 1)
        abort();
}

static struct pollfd readable(void) { return (struct pollfd){ends[0], POLLIN, 0}; }

#define POINT(name, call) \
    static void name(void) { (void)!(call); }

POINT(in_accept, accept(-1, NULL, NULL))
POINT(in_accept4, accept4(-1, NULL, NULL, 0))
POINT(in_close, close(-1))
POINT(in_connect, connect(-1, NULL, 0))
POINT(in_creat, creat("/", 0600))
POINT(in_fcntl, fcntl(-1, F_SETLKW, NULL))
POINT(in_fdatasync, fdatasync(-1))
POINT(in_fsync, fsync(-1))
POINT(in_lockf, lockf(-1, F_LOCK, 0))
POINT(in_msync, msync(NULL, 0, MS_SYNC))
POINT(in_open, open("/dev/null", O_RDONLY))
POINT(in_openat, openat(AT_FDCWD, "/dev/null", O_RDONLY))
POINT(in_pread, pread(file, bytes, 1, 0))
POINT(in_pwrite, pwrite(file, bytes, 1, 0))
POINT(in_read, read(ends[0], bytes, 1))
POINT(in_readv, readv(ends[0], &part, 1))
POINT(in_recv, recv(sockets[1], bytes, 1, 0))
POINT(in_recvfrom, recvfrom(sockets[1], bytes, 1, 0, NULL, NULL))
POINT(in_recvmsg, recvmsg(sockets[1], &message, 0))
POINT(in_send, send(sockets[0], bytes, 1, 0))
POINT(in_sendmsg, sendmsg(sockets[0], &message, 0))
POINT(in_sendto, sendto(sockets[0], bytes, 1, 0, NULL, 0))
POINT(in_system, system("true"))
POINT(in_creat64, creat64("/", 0600))
POINT(in_fcntl64, fcntl64(-1, F_SETLKW, NULL))
POINT(in_lockf64, lockf64(-1, F_LOCK, 0))
POINT(in_open64, open64("/dev/null", O_RDONLY))
POINT(in_openat64, openat64(AT_FDCWD, "/dev/null", O_RDONLY))
POINT(in_pread64, pread64(file, bytes, 1, 0))
POINT(in_pwrite64, pwrite64(file, bytes, 1, 0))
POINT(in_sigtimedwait, sigtimedwait(&none, NULL, &soon))
POINT(in_tcdrain, tcdrain(-1))
POINT(in_wait, wait(NULL))
POINT(in_waitid, waitid(P_ALL, 0, NULL, WEXITED))
POINT(in_waitpid, waitpid(-1, NULL, 0))
POINT(in_write, write(ends[1], bytes, 1))
POINT(in_writev, writev(ends[1], &part, 1))
POINT(in_usleep, usleep(1))
POINT(in_nanosleep, nanosleep(&soon, NULL))
POINT(in_clock_nanosleep, clock_nanosleep(CLOCK_MONOTONIC, 0, &soon, NULL))
POINT(in_sleep, sleep(0))

static void in_poll(void) {
    struct pollfd one = readable();
    poll(&one, 1, -1);
}

static void in_ppoll(void) {
    struct pollfd one = readable();
    ppoll(&one, 1, NULL, NULL);
}

static void in_select(void) {
    struct timeval now = {0, 0};
    select(0, NULL, NULL, NULL, &now);
}

static void in_pselect(void) {
    struct timespec now = {0, 0};
    pselect(0, NULL, NULL, NULL, &now, NULL);
}

// These would wait for ever where cancellation is turned off.
static int is_on(void) {
    int old;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old);
    pthread_setcancelstate(old, NULL);
    return old == PTHREAD_CANCEL_ENABLE;
}

POINT(in_pause, is_on() && pause())
POINT(in_sigsuspend, is_on() && sigsuspend(&none))
POINT(in_sigwaitinfo, is_on() && sigwaitinfo(&none, NULL))

static void in_sigwait(void) {
    int signal;
    if (is_on())
        sigwait(&none, &signal);
}

// Not a point: only the command that waits is one.
static void in_other_fcntl(void) { (void)!fcntl(file, F_GETFD); }

static int passed;

static void *at(void *argument) {
    void (*point)(void) = *(void (**)(void))argument;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
    pthread_cancel(pthread_self());
    point();
    passed = 1;
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
    point();
    passed = 2;
    return NULL;
}

static void try(const char *name, void (*point)(void)) {
    fill();
    fill();
    passed = 0;
    void *result = run(at, &point);
    printf("%s: passed %d, cancelled %d\n", name, passed, result == PTHREAD_CANCELED);
}

#define TRY(name) try(#name, in_##name)

int main(void) {
    FILE *nameless = tmpfile();
    file = nameless ? fileno(nameless) : -1;
    if (file < 0 || pipe(ends) || socketpair(AF_UNIX, SOCK_STREAM, 0, sockets))
        return 1;
    TRY(accept);
    TRY(accept4);
    TRY(close);
    TRY(connect);
    TRY(creat);
    TRY(fcntl);
    TRY(other_fcntl);
    TRY(fdatasync);
    TRY(fsync);
    TRY(lockf);
    TRY(msync);
    TRY(open);
    TRY(openat);
    TRY(pread);
    TRY(pwrite);
    TRY(read);
    TRY(readv);
    TRY(recv);
    TRY(recvfrom);
    TRY(recvmsg);
    TRY(send);
    TRY(sendmsg);
    TRY(sendto);
    TRY(system);
    TRY(tcdrain);
    TRY(wait);
    TRY(waitid);
    TRY(waitpid);
    TRY(write);
    TRY(writev);
    TRY(usleep);
    TRY(nanosleep);
    TRY(clock_nanosleep);
    TRY(sleep);
    TRY(poll);
    TRY(ppoll);
    TRY(select);
    TRY(pselect);
    TRY(creat64);
    TRY(fcntl64);
    TRY(lockf64);
    TRY(open64);
    TRY(openat64);
    TRY(pread64);
    TRY(pwrite64);
    TRY(sigtimedwait);
    TRY(pause);
    TRY(sigsuspend);
    TRY(sigwaitinfo);
    TRY(sigwait);
    fflush(stdout);
    _exit(0);
}
