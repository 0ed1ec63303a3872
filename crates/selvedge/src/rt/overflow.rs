//! Stacks that overflow.
//!
//! A thread that has used its stack up touches the guard page below it. A handler for the signal, which runs on a stack of its
//! own, gives control back to the engine and leaves the thread where it is; the engine reports it. Other faults go to the
//! handler that there was.

use corosensei::stack::{DefaultStack, Stack};

/// Where a stack ends: the guard page begins here.
pub(super) fn limit(stack: &DefaultStack) -> usize {
    stack.limit().get()
}

pub(super) use handler::SignalStack;

#[cfg(unix)]
mod handler {
    use std::sync::OnceLock;

    use super::super::exploring;

    const SIZE: usize = 64 * 1024;

    /// The stack on which this OS thread handles signals, for as long as it explores.
    pub(crate) struct SignalStack {
        _memory: Box<[u8]>,
        before: libc::stack_t,
    }

    impl SignalStack {
        pub(crate) fn new() -> Self {
            install();
            let mut memory = vec![0_u8; SIZE].into_boxed_slice();
            // SAFETY: the memory stays where it is until `drop` has put the former stack back; the structures are
            // valid when they are zero.
            let before = unsafe {
                let mut before: libc::stack_t = std::mem::zeroed();
                let mut stack: libc::stack_t = std::mem::zeroed();
                stack.ss_sp = memory.as_mut_ptr().cast();
                stack.ss_size = SIZE;
                libc::sigaltstack(&raw const stack, &raw mut before);
                before
            };
            SignalStack { _memory: memory, before }
        }
    }

    impl Drop for SignalStack {
        fn drop(&mut self) {
            // SAFETY: it is what the thread had before, and no handler runs now.
            unsafe { libc::sigaltstack(&raw const self.before, std::ptr::null_mut()) };
        }
    }

    /// What was done about these signals before.
    static BEFORE: OnceLock<[libc::sigaction; 2]> = OnceLock::new();
    const SIGNALS: [libc::c_int; 2] = [libc::SIGSEGV, libc::SIGBUS];

    fn install() {
        BEFORE.get_or_init(|| {
            SIGNALS.map(|signal| {
                // SAFETY: the action is fully initialised, and the handler has the signature that it must have.
                unsafe {
                    let (mut action, mut before): (libc::sigaction, libc::sigaction) = std::mem::zeroed();
                    action.sa_sigaction = on_fault as *const () as usize;
                    // The handler does not return where it gives control to the engine: the signal must not stay blocked.
                    action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_NODEFER;
                    libc::sigemptyset(&raw mut action.sa_mask);
                    libc::sigaction(signal, &raw const action, &raw mut before);
                    before
                }
            })
        });
    }

    extern "C" fn on_fault(signal: libc::c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
        // SAFETY: the kernel passes a valid description of the fault.
        let address = unsafe { (*info).si_addr() } as usize;
        if let Some(handle) = exploring()
            && handle.get().inside
        {
            let runtime = handle.get();
            let limit = runtime.threads[runtime.current.index()].stack_limit;
            // SAFETY: it only asks for a number.
            let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as usize;
            if (limit..limit + page).contains(&address) {
                runtime.overflowed = true;
                handle.abandon();
            }
        }
        let before = BEFORE.get().and_then(|before| {
            let index = SIGNALS.iter().position(|handled| *handled == signal)?;
            Some(&before[index])
        });
        // SAFETY: the action is what was installed before; a handler is called as the kernel would call it, and without one
        // the fault happens again and ends the process.
        unsafe {
            match before {
                Some(before) if before.sa_sigaction > libc::SIG_IGN => {
                    let handler = before.sa_sigaction;
                    if before.sa_flags & libc::SA_SIGINFO != 0 {
                        type Handler = extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void);
                        std::mem::transmute::<usize, Handler>(handler)(signal, info, context);
                    } else {
                        std::mem::transmute::<usize, extern "C" fn(libc::c_int)>(handler)(signal);
                    }
                }
                _ => _ = libc::signal(signal, libc::SIG_DFL),
            }
        }
    }
}

#[cfg(not(unix))]
mod handler {
    pub(crate) struct SignalStack;

    impl SignalStack {
        pub(crate) fn new() -> Self {
            SignalStack
        }
    }
}
