//! What cannot be controlled is refused, with the call.

use selvedge_native::{NativeProgram, Search};

use crate::common::{compile, has, write};

/// Why a program text cannot be checked.
#[track_caller]
fn refusal(name: &str, text: &str) -> String {
    let program = compile(&write(name, text), &[]);
    let program = NativeProgram::open(&program).unwrap();
    Search::default().check(&program, None, &mut |_| ()).unwrap_err().to_string()
}

#[test]
fn what_cannot_be_controlled_is_refused() {
    if !has("gcc", "what_cannot_be_controlled_is_refused") {
        return;
    }
    let early = "#include <pthread.h>\n#include <unistd.h>\nstatic void *f(void *p) { pause(); return p; }\n\
                 __attribute__((constructor)) static void before(void) { pthread_t t; pthread_create(&t, 0, f, 0); }\n\
                 int main(void) { return 0; }\n";
    assert!(refusal("refused-early", early).contains("before main"));
    let asynchronous = "#include <pthread.h>\nint main(void) {\n\
                        pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, 0);\n\
                        return pthread_cancel(pthread_self()); }\n";
    let message = refusal("refused-asynchronous", asynchronous);
    assert!(
        message.contains("asynchronous cancellation") && message.contains("refused-asynchronous.c:3"),
        "{message}"
    );
    let late = "#include <pthread.h>\n#include <stdlib.h>\nstatic void *f(void *p) { return p; }\n\
                static void after(void) { pthread_t t; pthread_create(&t, 0, f, 0); }\n\
                int main(void) { atexit(after); pthread_exit(0); }\n";
    let message = refusal("refused-late", late);
    assert!(message.contains("while the process exits"), "{message}");
    let calls = [
        ("fork", "fork()"),
        ("vfork", "vfork()"),
        ("clone", "clone(0, 0, 0, 0)"),
        ("daemon", "daemon(1, 1)"),
        ("forkpty", "forkpty(0, 0, 0, 0)"),
    ];
    for (name, call) in calls {
        let text = format!(
            "#include <sched.h>\n#include <unistd.h>\n#include <pty.h>\nint main(void) {{ return {call}; }}\n"
        );
        let message = refusal(&format!("refused-{name}"), &text);
        let place = format!("refused-{name}.c:4");
        assert!(message.contains(&format!("calls {name}:")) && message.contains(&place), "{message}");
    }
    let signal = "#include <pthread.h>\n#include <signal.h>\n#include <unistd.h>\n\
                  static void *f(void *p) { sleep(1); return p; }\n\
                  int main(void) { pthread_t t; pthread_create(&t, 0, f, 0);\n\
                  return pthread_kill(t, SIGUSR1); }\n";
    assert!(refusal("refused-signal", signal).contains("sends a signal"));
    for (name, call) in
        [("timer_create", "timer_create(0, &e, &t)"), ("mq_notify", "t == 0 && mq_notify(0, &e)")]
    {
        let text = format!(
            "#include <mqueue.h>\n#include <signal.h>\n#include <time.h>\n\
             int main(void) {{ timer_t t = 0; struct sigevent e = {{.sigev_notify = SIGEV_THREAD}};\n\
             return {call}; }}\n"
        );
        let message = refusal(&format!("refused-{name}"), &text);
        assert!(message.contains(&format!("not controlled: {name} with SIGEV_THREAD")), "{message}");
    }
}
