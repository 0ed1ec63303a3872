//! A work-stealing deque (Chase and Lev, SPAA 2005; orderings as in Lê, Pop, Cohen, Zappa Nardelli, PPoPP
//! 2013), whose owner pushes and pops while two thieves steal.

use super::super::sync::Arc;
use super::super::sync::atomic::{AtomicIsize, AtomicUsize, Ordering, fence};
use super::super::thread;

const PLACES: usize = 4;

struct Deque {
    top: AtomicIsize,
    bottom: AtomicIsize,
    places: [AtomicUsize; PLACES],
}

impl Deque {
    fn place(&self, index: isize) -> &AtomicUsize {
        &self.places[index as usize % PLACES]
    }

    fn push(&self, value: usize) {
        let bottom = self.bottom.load(Ordering::Relaxed);
        self.place(bottom).store(value, Ordering::Relaxed);
        fence(Ordering::Release);
        self.bottom.store(bottom + 1, Ordering::Relaxed);
    }

    fn pop(&self) -> Option<usize> {
        let bottom = self.bottom.load(Ordering::Relaxed) - 1;
        self.bottom.store(bottom, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        let top = self.top.load(Ordering::Relaxed);
        if top > bottom {
            self.bottom.store(bottom + 1, Ordering::Relaxed);
            return None;
        }
        let value = self.place(bottom).load(Ordering::Relaxed);
        if top < bottom {
            return Some(value);
        }
        let won = self.top.compare_exchange(top, top + 1, Ordering::SeqCst, Ordering::Relaxed).is_ok();
        self.bottom.store(bottom + 1, Ordering::Relaxed);
        won.then_some(value)
    }

    fn steal(&self) -> Option<usize> {
        let top = self.top.load(Ordering::Acquire);
        fence(Ordering::SeqCst);
        let bottom = self.bottom.load(Ordering::Acquire);
        if top >= bottom {
            return None;
        }
        let value = self.place(top).load(Ordering::Relaxed);
        self.top.compare_exchange(top, top + 1, Ordering::SeqCst, Ordering::Relaxed).ok().map(|_| value)
    }
}

pub(crate) fn run() {
    let deque = Arc::new(Deque {
        top: AtomicIsize::new(0),
        bottom: AtomicIsize::new(0),
        places: std::array::from_fn(|_| AtomicUsize::new(0)),
    });
    let thieves: Vec<_> = (0..2)
        .map(|_| {
            let deque = deque.clone();
            thread::spawn(move || deque.steal().unwrap_or(0) + deque.steal().unwrap_or(0))
        })
        .collect();
    (0..3).for_each(|index| deque.push(1 << (8 * index)));
    let mut taken = deque.pop().unwrap_or(0) + deque.pop().unwrap_or(0);
    for thief in thieves {
        taken += thief.join().unwrap();
    }
    taken += std::iter::from_fn(|| deque.pop()).sum::<usize>();
    assert_eq!(taken, 0x01_01_01);
}
