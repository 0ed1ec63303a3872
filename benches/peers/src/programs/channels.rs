//! Two producers, a stage that doubles, and a sink, with channels between them.

use super::super::sync::mpsc::channel;
use super::super::thread;

pub(crate) fn run() {
    let (to_stage, at_stage) = channel();
    let (to_sink, at_sink) = channel();
    let producers: Vec<_> = (0..2)
        .map(|index| {
            let to_stage = to_stage.clone();
            thread::spawn(move || {
                for number in 1..=3 {
                    to_stage.send(10 * index + number).unwrap();
                }
            })
        })
        .collect();
    let stage = thread::spawn(move || {
        for _ in 0..6 {
            let number: u32 = at_stage.recv().unwrap();
            to_sink.send(2 * number).unwrap();
        }
    });
    let total: u32 = (0..6).map(|_| at_sink.recv().unwrap()).sum();
    producers.into_iter().for_each(|thread| thread.join().unwrap());
    stage.join().unwrap();
    assert_eq!(total, 2 * (1 + 2 + 3 + 11 + 12 + 13));
}
