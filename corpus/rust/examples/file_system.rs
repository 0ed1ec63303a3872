//! A model of a file system: processes create files, for each of which an inode and a block are needed.
//!
//! After Figure 7 of Flanagan and Godefroid's *Dynamic Partial-Order Reduction* (POPL 2005), one of the programs
//! of Musuvathi and Qadeer's *Iterative Context Bounding* (PLDI 2007). Each inode and each block has a lock of
//! its own. There is no bug in it: whoever needs two locks takes the inode's first, and holds one block's lock
//! at a time.

//@ fixed: holds, 3 preemptions
//@ fixed at 0: 4 executions, 4 orders, 104 states
//@ fixed at 1: 4 executions, 4 orders, 104 states
//@ fixed at 2: 4 executions, 4 orders, 104 states
//@ fixed at 3: 4 executions, 4 orders, 104 states

use selvedge::sync::{Arc, Mutex};
use selvedge_corpus::{Variant, start};

const PROCESSES: usize = 3;
const INODES: usize = 2;
const BLOCKS: usize = 2;

#[derive(Default)]
struct FileSystem {
    /// The block of each file, once it has one.
    inodes: [Mutex<Option<usize>>; INODES],
    /// Whether a block is in use.
    blocks: [Mutex<bool>; BLOCKS],
}

impl FileSystem {
    /// Creates a file, unless there is one with this inode.
    fn create(&self, inode: usize) {
        let mut file = self.inodes[inode].lock().unwrap();
        if file.is_none() {
            *file = Some(self.allocate(inode * 2));
        }
    }

    /// Finds a block that is free, and takes it. The search begins at the block that is given.
    fn allocate(&self, from: usize) -> usize {
        let mut candidates = (0..BLOCKS).map(|offset| (from + offset) % BLOCKS);
        let free = candidates.find(|&block| {
            let mut in_use = self.blocks[block].lock().unwrap();
            !std::mem::replace(&mut *in_use, true)
        });
        free.expect("there are as many blocks as inodes")
    }
}

/// Several processes create files, some of them the same.
fn create_files() {
    let system = Arc::new(FileSystem::default());
    let processes: Vec<_> = (0..PROCESSES)
        .map(|process| {
            let system = system.clone();
            start(&format!("process {process}"), move || system.create(process % INODES))
        })
        .collect();
    for process in processes {
        process.join().unwrap();
    }
    let mut used: Vec<_> = system.inodes.iter().map(|file| file.lock().unwrap().unwrap()).collect();
    used.dedup();
    assert_eq!(used.len(), INODES, "two files have the same block");
    for (block, in_use) in system.blocks.iter().enumerate() {
        assert_eq!(*in_use.lock().unwrap(), used.contains(&block));
    }
}

/// The model has no bug.
pub(crate) const VARIANTS: &[Variant] = &[("fixed", create_files)];

fn main() {
    selvedge_corpus::check("file_system", VARIANTS);
}
