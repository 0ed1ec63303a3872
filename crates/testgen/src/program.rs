//! The programs.

use std::fmt;
use std::str::FromStr;

/// One statement of a thread. Objects go by number within their kind; threads by the index of their body.
///
/// A statement that makes no sense where it stands (unlocking a mutex that the thread does not hold, joining
/// a thread that it did not spawn) does nothing and is no step. Whether it makes sense depends on nothing
/// but what the thread itself has done.
///
/// A writer that finds readers begins to wait, which is a step, and keeps new readers out from then on. Until that step it
/// keeps nobody out. So both kinds of locks are there: those that prefer writers and those that prefer nobody. A thread that
/// read-locks what it reads already waits for ever where a writer waits, and one that write-locks it always does.
/// To lock what it has for writing makes no sense: pthreads have an error for it, and other locks wait for ever. Trying is
/// always a step, whatever the thread holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Statement {
    /// Takes a mutex, and keeps it until it is unlocked, for ever if it never is.
    Lock(usize),
    /// Gives a mutex back.
    Unlock(usize),
    /// Takes a mutex if it is free; remembers 1 if it was.
    TryLock(usize),
    /// Takes a reader-writer lock for reading, and keeps it until it is unlocked as often.
    ReadLock(usize),
    /// Gives it back for reading, once.
    ReadUnlock(usize),
    /// Takes a reader-writer lock for writing.
    WriteLock(usize),
    /// Gives it back for writing.
    WriteUnlock(usize),
    /// Takes a reader-writer lock for reading if nobody writes, or waits to; remembers 1 if so.
    TryReadLock(usize),
    /// Takes a reader-writer lock for writing if nobody has it; remembers 1 if so.
    TryWriteLock(usize),
    /// Waits on a condition variable, whose mutex is the one with the same number.
    Wait(usize),
    /// The same with a time limit; remembers 1 if it ran out.
    WaitTimeout(usize),
    /// Wakes one waiter.
    NotifyOne(usize),
    /// Wakes all waiters.
    NotifyAll(usize),
    /// Remembers the value of an atomic.
    Load(usize),
    /// Stores a value in an atomic.
    Store(usize, i64),
    /// Stores one more than what was remembered last.
    StoreNext(usize),
    /// Adds 1 to an atomic and remembers what it was.
    Add(usize),
    /// Sets an atomic from the first value to the second; remembers what it was.
    Exchange(usize, i64, i64),
    /// The same, which may fail spuriously; remembers 1 if it was set.
    ExchangeWeak(usize, i64, i64),
    /// Creates a thread.
    Spawn(usize),
    /// Waits for a thread that this one created.
    Join(usize),
    /// Lets others run.
    Yield,
    /// Lets others run so many times, in a loop.
    Yields(u32),
    /// Waits for its unpark token.
    Park,
    /// The same with a time limit.
    ParkTimeout,
    /// Gives a thread that it created, or that created it, its token.
    Unpark(usize),
    /// Remembers one of so many values, of which there are two at least.
    Choose(u32),
    /// Reads a tracked cell.
    Read(usize),
    /// Writes a tracked cell.
    Write(usize),
    /// Fails when this was remembered last.
    AssertNot(i64),
    /// Assumes that this was not remembered last; if it was, the thread goes no further, and that is no deadlock.
    AssumeNot(i64),
    /// Leaves out the next statement when this was remembered last.
    Unless(i64),
    /// Loads an atomic, and yields, until it has this value; remembers it.
    SpinUntil(usize, i64),
    /// Loads an atomic until it has this value, and does not yield; remembers it.
    LookUntil(usize, i64),
    /// Chooses one of so many values, of which there are two at least, until it is the first.
    ChooseUntil(u32),
}

/// A program: the bodies of its threads. Body 0 is the first thread's; each of the others is spawned at most
/// once, by a body before it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Program {
    /// The statements of each body.
    pub bodies: Vec<Vec<Statement>>,
}

impl Program {
    /// Whether a statement for which `test` holds occurs.
    pub fn has(&self, test: impl Fn(&Statement) -> bool) -> bool {
        self.bodies.iter().flatten().any(test)
    }

    /// One more than the largest number of an object of any kind.
    pub fn objects(&self) -> usize {
        let number = |statement: &Statement| match *statement {
            Statement::Lock(n)
            | Statement::Unlock(n)
            | Statement::TryLock(n)
            | Statement::ReadLock(n)
            | Statement::ReadUnlock(n)
            | Statement::WriteLock(n)
            | Statement::WriteUnlock(n)
            | Statement::TryReadLock(n)
            | Statement::TryWriteLock(n)
            | Statement::Wait(n)
            | Statement::WaitTimeout(n)
            | Statement::NotifyOne(n)
            | Statement::NotifyAll(n)
            | Statement::Load(n)
            | Statement::Store(n, _)
            | Statement::StoreNext(n)
            | Statement::Add(n)
            | Statement::Exchange(n, ..)
            | Statement::ExchangeWeak(n, ..)
            | Statement::Read(n)
            | Statement::Write(n)
            | Statement::SpinUntil(n, _)
            | Statement::LookUntil(n, _) => n + 1,
            _ => 0,
        };
        self.bodies.iter().flatten().map(number).max().unwrap_or(0)
    }
}

impl fmt::Display for Statement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Statement::Lock(m) => write!(f, "lock {m}"),
            Statement::Unlock(m) => write!(f, "unlock {m}"),
            Statement::TryLock(m) => write!(f, "try-lock {m}"),
            Statement::ReadLock(l) => write!(f, "read-lock {l}"),
            Statement::ReadUnlock(l) => write!(f, "read-unlock {l}"),
            Statement::WriteLock(l) => write!(f, "write-lock {l}"),
            Statement::WriteUnlock(l) => write!(f, "write-unlock {l}"),
            Statement::TryReadLock(l) => write!(f, "try-read-lock {l}"),
            Statement::TryWriteLock(l) => write!(f, "try-write-lock {l}"),
            Statement::Wait(c) => write!(f, "wait {c}"),
            Statement::WaitTimeout(c) => write!(f, "wait-timeout {c}"),
            Statement::NotifyOne(c) => write!(f, "notify-one {c}"),
            Statement::NotifyAll(c) => write!(f, "notify-all {c}"),
            Statement::Load(a) => write!(f, "load {a}"),
            Statement::Store(a, v) => write!(f, "store {a} {v}"),
            Statement::StoreNext(a) => write!(f, "store-next {a}"),
            Statement::Add(a) => write!(f, "add {a}"),
            Statement::Exchange(a, old, new) => write!(f, "exchange {a} {old} {new}"),
            Statement::ExchangeWeak(a, old, new) => write!(f, "exchange-weak {a} {old} {new}"),
            Statement::Spawn(b) => write!(f, "spawn {b}"),
            Statement::Join(b) => write!(f, "join {b}"),
            Statement::Yield => write!(f, "yield"),
            Statement::Yields(times) => write!(f, "yields {times}"),
            Statement::Park => write!(f, "park"),
            Statement::ParkTimeout => write!(f, "park-timeout"),
            Statement::Unpark(b) => write!(f, "unpark {b}"),
            Statement::Choose(n) => write!(f, "choose {n}"),
            Statement::Read(c) => write!(f, "read {c}"),
            Statement::Write(c) => write!(f, "write {c}"),
            Statement::AssertNot(v) => write!(f, "assert-not {v}"),
            Statement::AssumeNot(v) => write!(f, "assume-not {v}"),
            Statement::Unless(v) => write!(f, "unless {v}"),
            Statement::SpinUntil(a, v) => write!(f, "spin-until {a} {v}"),
            Statement::LookUntil(a, v) => write!(f, "look-until {a} {v}"),
            Statement::ChooseUntil(n) => write!(f, "choose-until {n}"),
        }
    }
}

/// One line: statements are parted by `;`, bodies by `|`.
impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, body) in self.bodies.iter().enumerate() {
            if index > 0 {
                f.write_str(" | ")?;
            }
            let statements: Vec<_> = body.iter().map(Statement::to_string).collect();
            f.write_str(&statements.join("; "))?;
        }
        Ok(())
    }
}

/// The text that is not a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError(pub String);

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "not a statement: {:?}", self.0)
    }
}

impl std::error::Error for ParseError {}

impl FromStr for Statement {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let error = || ParseError(text.to_string());
        let mut words = text.split_whitespace();
        let name = words.next().ok_or_else(error)?;
        let numbers = words.map(str::parse).collect::<Result<Vec<i64>, _>>().map_err(|_| error())?;
        let at = |index: usize| numbers.get(index).copied().unwrap_or(0);
        let n = usize::try_from(at(0)).unwrap_or(0);
        let (count, statement) = match name {
            "lock" => (1, Statement::Lock(n)),
            "unlock" => (1, Statement::Unlock(n)),
            "try-lock" => (1, Statement::TryLock(n)),
            "read-lock" => (1, Statement::ReadLock(n)),
            "read-unlock" => (1, Statement::ReadUnlock(n)),
            "write-lock" => (1, Statement::WriteLock(n)),
            "write-unlock" => (1, Statement::WriteUnlock(n)),
            "try-read-lock" => (1, Statement::TryReadLock(n)),
            "try-write-lock" => (1, Statement::TryWriteLock(n)),
            "wait" => (1, Statement::Wait(n)),
            "wait-timeout" => (1, Statement::WaitTimeout(n)),
            "notify-one" => (1, Statement::NotifyOne(n)),
            "notify-all" => (1, Statement::NotifyAll(n)),
            "load" => (1, Statement::Load(n)),
            "store" => (2, Statement::Store(n, at(1))),
            "store-next" => (1, Statement::StoreNext(n)),
            "add" => (1, Statement::Add(n)),
            "exchange" => (3, Statement::Exchange(n, at(1), at(2))),
            "exchange-weak" => (3, Statement::ExchangeWeak(n, at(1), at(2))),
            "spawn" => (1, Statement::Spawn(n)),
            "join" => (1, Statement::Join(n)),
            "yield" => (0, Statement::Yield),
            "yields" => (1, Statement::Yields(n as u32)),
            "park" => (0, Statement::Park),
            "park-timeout" => (0, Statement::ParkTimeout),
            "unpark" => (1, Statement::Unpark(n)),
            "choose" => (1, Statement::Choose(n as u32)),
            "read" => (1, Statement::Read(n)),
            "write" => (1, Statement::Write(n)),
            "assert-not" => (1, Statement::AssertNot(at(0))),
            "assume-not" => (1, Statement::AssumeNot(at(0))),
            "unless" => (1, Statement::Unless(at(0))),
            "spin-until" => (2, Statement::SpinUntil(n, at(1))),
            "look-until" => (2, Statement::LookUntil(n, at(1))),
            "choose-until" => (1, Statement::ChooseUntil(n as u32)),
            _ => return Err(error()),
        };
        if numbers.len() == count { Ok(statement) } else { Err(error()) }
    }
}

impl FromStr for Program {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let body = |text: &str| {
            text.split(';').filter(|statement| !statement.trim().is_empty()).map(str::parse).collect()
        };
        Ok(Program { bodies: text.split('|').map(body).collect::<Result<_, _>>()? })
    }
}
