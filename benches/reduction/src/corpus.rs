//! The corpus's programs with bugs.

macro_rules! programs {
    ($($name:ident: $path:literal,)*) => {
        $(
            #[allow(dead_code, reason = "its main function is not called")]
            #[path = $path]
            mod $name;
        )*

        /// Every variant that has a bug, by name.
        pub(crate) fn bugs() -> Vec<(String, fn())> {
            let mut bugs = Vec::new();
            $(
                for &(variant, test) in $name::VARIANTS {
                    if !variant.starts_with("fixed") {
                        bugs.push((format!("{}: {variant}", stringify!($name)), test));
                    }
                }
            )*
            bugs
        }
    };
}

programs! {
    ape: "../../../corpus/rust/examples/ape.rs",
    bluetooth: "../../../corpus/rust/examples/bluetooth.rs",
    dryad_channels: "../../../corpus/rust/examples/dryad_channels.rs",
    transaction_manager: "../../../corpus/rust/examples/transaction_manager.rs",
    work_stealing_queue: "../../../corpus/rust/examples/work_stealing_queue.rs",
}
