//! Table 2 of Musuvathi and Qadeer, *Iterative Context Bounding* (PLDI 2007): each bug is found with as many
//! preemptions as it needs and not with fewer; the mended programs hold. What is expected stands in each
//! program's directives. So do programs that are not in the table.

mod directives;

use std::path::Path;

/// A test for each program.
macro_rules! programs {
    ($($name:ident: $path:literal,)*) => {
        $(
            #[allow(dead_code, reason = "its main function is not called")]
            #[path = $path]
            mod $name;

            #[test]
            fn $name() {
                let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join($path);
                directives::compare(&file, $name::VARIANTS);
            }
        )*

        /// The programs that are tested here.
        const PROGRAMS: &[&str] = &[$(stringify!($name)),*];
    };
}

programs! {
    ape: "../examples/ape.rs",
    bluetooth: "../examples/bluetooth.rs",
    dryad_channels: "../examples/dryad_channels.rs",
    file_system: "../examples/file_system.rs",
    mailbox: "../examples/mailbox.rs",
    transaction_manager: "../examples/transaction_manager.rs",
    work_stealing_queue: "../examples/work_stealing_queue.rs",
}

#[test]
fn every_example_with_directives_is_tested() {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    for entry in std::fs::read_dir(examples).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap();
        let has_directives = std::fs::read_to_string(&path).unwrap().contains("\n//@ ");
        assert_eq!(has_directives, PROGRAMS.contains(&name), "{name}");
    }
}
