//! What a program does that does not come back: it has left our control.

use std::fs;

/// The system calls that programs wait in, by number.
const CALLS: [(u64, &str); 26] = [
    (0, "read"),
    (1, "write"),
    (7, "poll"),
    (16, "ioctl"),
    (23, "select"),
    (34, "pause"),
    (35, "nanosleep"),
    (42, "connect"),
    (43, "accept"),
    (45, "recvfrom"),
    (47, "recvmsg"),
    (61, "wait4"),
    (64, "semop"),
    (70, "msgrcv"),
    (72, "fcntl"),
    (73, "flock"),
    (128, "rt_sigtimedwait"),
    (130, "rt_sigsuspend"),
    (202, "futex"),
    (230, "clock_nanosleep"),
    (232, "epoll_wait"),
    (247, "waitid"),
    (270, "pselect6"),
    (271, "ppoll"),
    (281, "epoll_pwait"),
    (288, "accept4"),
];

/// Stands for the name of the program's thread that is under way: the system knows one thread, on which they take turns.
pub(crate) const WHO: &str = "\u{0}";

/// What the threads of a process are doing, one clause each; and whether one of them runs.
pub(crate) fn explain(pid: u32) -> (String, bool) {
    let (mut lines, mut runs) = (Vec::new(), false);
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    for task in tasks {
        let path = task.path();
        let read = |name: &str| fs::read_to_string(path.join(name)).unwrap_or_default();
        let call = read("syscall");
        let is_first = task.file_name().to_str() == Some(&pid.to_string());
        // Others are made by libraries that are not controlled.
        let name = if is_first { WHO.to_string() } else { read("comm").trim().to_string() };
        let mut words = call.split_whitespace();
        let number = words.next().unwrap_or_default();
        if number == "running" {
            runs = true;
            lines.push(format!("{name} runs, and comes to no scheduling point: is it an endless loop?"));
            continue;
        }
        let Ok(number) = number.parse::<u64>() else { continue };
        let call = CALLS.iter().find(|(known, _)| *known == number).map_or("a system call", |(_, name)| name);
        lines.push(format!("{name} waits in {call} (system call {number}), which is not controlled"));
    }
    (lines.join("; "), runs)
}
