//! Panics of the program under test.
//!
//! A panic hook keeps the message and the place of a panic in a coroutine and prints nothing: the report
//! does. A panic in a destructor that runs because of another panic makes std abort the process; a handler
//! for SIGABRT, installed only when that is about to happen, leaves the coroutine where it is instead and
//! gives control back to the engine. The handler runs on the coroutine's stack, from a call to `abort`, and
//! does nothing that an ordinary call could not.

use std::any::Any;
use std::panic::PanicHookInfo;
use std::sync::Once;

use selvedge_core::{Location, ViolationKind};
use selvedge_stateless::{Stop, StopKind};

use super::{Handle, exploring};

/// What is known of a panic.
#[derive(Clone, Debug)]
pub(crate) struct PanicNote {
    pub(crate) message: String,
    pub(crate) location: Option<Location>,
}

/// The payload that unwinds a coroutine whose execution is over.
struct Teardown;

/// Whether a payload is not a panic of the program.
pub(crate) fn is_teardown(payload: &(dyn Any + Send)) -> bool {
    payload.is::<Teardown>()
}

impl Handle {
    /// Unwinds the current coroutine.
    #[cold]
    pub(crate) fn unwind_for_teardown(self) -> ! {
        let runtime = self.get();
        let current = runtime.current;
        runtime.threads[current.index()].panicked = true;
        std::panic::resume_unwind(Box::new(Teardown))
    }
}

/// Makes panics in coroutines silent and remembered. Others go to the hook that there was.
pub(crate) fn install_hook() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        let previous = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| match exploring() {
            Some(handle) if handle.get().inside => note(handle, info),
            _ => previous(info),
        }));
    });
}

/// The message of a panic's payload.
pub(crate) fn message(payload: &(dyn Any + Send)) -> String {
    payload
        .downcast_ref::<&str>()
        .map(|text| (*text).to_string())
        .or_else(|| payload.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "a panic without a message".into())
}

fn note(handle: Handle, info: &PanicHookInfo<'_>) {
    let text = message(info.payload());
    let runtime = handle.get();
    runtime.panics = Some(runtime.current);
    if runtime.unwinding == 0 {
        // Nobody else is in the middle of a panic: those that began to have caught it.
        runtime.threads.iter_mut().for_each(|thread| thread.panicked = false);
    }
    let thread = &mut runtime.threads[runtime.current.index()];
    thread.panicked = true;
    let from_destructor = text.starts_with("panic in a destructor");
    if from_destructor || text.starts_with("panic in a function that cannot unwind") {
        // What std says before it aborts. Only now is it certain that the last panic came while the one
        // before it was unwinding; that may as well have been caught.
        if let (Some(first), Some(second)) = (thread.earlier_panic.take(), &mut thread.panic)
            && from_destructor
        {
            second.message = format!(
                "{}; then, while unwinding from that, a destructor panicked: {}",
                first.message, second.message
            );
            second.location = first.location;
        }
        #[cfg(unix)]
        abort::install_handler();
        return;
    }
    let location = info.location().map(|place| Location {
        file: place.file().to_string(),
        line: place.line(),
        column: Some(place.column()),
    });
    thread.earlier_panic = thread.panic.replace(Box::new(PanicNote { message: text, location }));
}

/// The violation that a panic is.
pub(crate) fn stop(thread: &str, note: PanicNote) -> Stop {
    let kind =
        if note.message.starts_with("assertion ") { ViolationKind::Assertion } else { ViolationKind::Panic };
    Stop {
        kind: StopKind::Violation(kind),
        message: format!("{thread} panicked: {}", note.message),
        location: note.location,
    }
}

#[cfg(unix)]
mod abort {
    use std::sync::Once;

    use super::super::exploring;

    /// From now on, an abort in a coroutine ends the coroutine and not the process.
    pub(super) fn install_handler() {
        static INSTALLED: Once = Once::new();
        INSTALLED.call_once(|| {
            // SAFETY: the action is fully initialised, and the handler has the signature that it must have.
            unsafe {
                let mut action: libc::sigaction = std::mem::zeroed();
                action.sa_sigaction = on_abort as *const () as usize;
                action.sa_flags = libc::SA_NODEFER;
                libc::sigemptyset(&raw mut action.sa_mask);
                libc::sigaction(libc::SIGABRT, &raw const action, std::ptr::null_mut());
            }
        });
    }

    extern "C" fn on_abort(_: libc::c_int) {
        if let Some(handle) = exploring()
            && handle.get().inside
        {
            let runtime = handle.get();
            let index = runtime.current.index();
            if runtime.stop.is_none()
                && runtime.phase == super::super::Phase::Running
                && let Some(note) = runtime.threads[index].panic.take()
            {
                let name = runtime.threads[index].label(index);
                runtime.stop = Some(Box::new(super::stop(&name, *note)));
            }
            // Its panics stay counted on this OS thread.
            runtime.unwinding += 1;
            handle.abandon();
        }
        // Not ours: `abort` goes on and ends the process.
    }
}
