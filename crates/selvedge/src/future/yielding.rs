//! [`yield_now`].

use std::pin::Pin;
use std::task::{Context, Poll};

/// A future that lets others run once: it wakes itself, is pending, and then is ready. In a check the switch
/// that follows is no preemption.
///
/// ```
/// use selvedge::future;
/// use selvedge::sync::Arc;
/// use selvedge::sync::atomic::{AtomicBool, Ordering};
///
/// selvedge::check(|| {
///     let ready = Arc::new(AtomicBool::new(false));
///     let setter = ready.clone();
///     future::spawn(async move { setter.store(true, Ordering::SeqCst) });
///     future::block_on(async {
///         while !ready.load(Ordering::SeqCst) {
///             future::yield_now().await;
///         }
///     });
/// });
/// ```
pub fn yield_now() -> YieldNow {
    YieldNow { yielded: false }
}

/// The future that [`yield_now`] returns.
///
/// ```
/// use std::task::{Context, Waker};
///
/// let mut context = Context::from_waker(Waker::noop());
/// let mut future = std::pin::pin!(selvedge::future::yield_now());
/// assert!(future.as_mut().poll(&mut context).is_pending());
/// assert!(future.as_mut().poll(&mut context).is_ready());
/// ```
#[derive(Debug)]
#[must_use = "futures do nothing unless polled"]
pub struct YieldNow {
    yielded: bool,
}

impl Future for YieldNow {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if self.yielded {
            return Poll::Ready(());
        }
        self.yielded = true;
        context.waker().wake_by_ref();
        Poll::Pending
    }
}
