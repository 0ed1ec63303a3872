//! The models, and how large they are made.

use std::path::{Path, PathBuf};

/// A model with its definitions.
#[derive(Clone)]
pub(crate) struct Model {
    pub(crate) path: PathBuf,
    /// `NAME=VALUE`, as after `-D`.
    pub(crate) definitions: Vec<String>,
    /// What Spin is told with `-m`: the longest path that it may follow.
    pub(crate) depth: u64,
}

impl Model {
    /// The file's name without its ending, and the definitions.
    pub(crate) fn name(&self) -> String {
        let stem = self.path.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
        if self.definitions.is_empty() { stem } else { format!("{stem} {}", self.definitions.join(" ")) }
    }
}

fn own(name: &str, definitions: &str, depth: u64) -> Model {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("models").join(format!("{name}.pml"));
    Model { path, definitions: definitions.split_whitespace().map(ToString::to_string).collect(), depth }
}

/// One to twenty million states.
pub(crate) fn large() -> Vec<Model> {
    vec![
        own("window", "W=4 CAP=4", 1_000_000),
        own("window", "W=6 CAP=4", 4_000_000),
        own("philosophers", "N=11", 4_000_000),
        own("counters", "N=5 TOP=8", 1_000_000),
        own("ring", "N=9", 1_000_000),
        own("bakery", "N=3 TOP=12", 4_000_000),
    ]
}

/// About a million and fewer: ours, the corpus, and the examples of Spin's package where it is installed.
pub(crate) fn small() -> Vec<Model> {
    let mut list = vec![
        own("window", "W=3 CAP=3", 1_000_000),
        own("philosophers", "N=9", 1_000_000),
        own("counters", "N=4 TOP=8", 1_000_000),
        own("ring", "N=8", 1_000_000),
        own("bakery", "N=3 TOP=4", 1_000_000),
    ];
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/promela");
    let mut paths: Vec<PathBuf> = std::fs::read_dir(corpus)
        .expect("the corpus is there")
        .map(|entry| entry.expect("the corpus can be read").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "pml"))
        // Without those that Spin's verifier does not survive, and never claims.
        .filter(|path| {
            let text = std::fs::read_to_string(path).expect("a model can be read");
            !text.contains("oracle: none") && !text.contains("never {")
        })
        .collect();
    paths.sort();
    list.extend(paths.into_iter().map(|path| Model { path, definitions: vec![], depth: 1_000_000 }));
    list.extend(examples());
    list
}

/// Examples of Spin's package that are deadlock-free or not, without liveness.
pub(crate) fn examples() -> Vec<Model> {
    let root = Path::new("/usr/share/doc/spin/examples/Examples");
    ["cambridge", "snoopy", "dtp", "abp", "peterson", "sort", "leader0", "rtos1", "hajek"]
        .iter()
        .map(|name| root.join(format!("{name}.pml")))
        .filter(|path| path.is_file())
        .map(|path| Model { path, definitions: vec![], depth: 1_000_000 })
        .collect()
}

/// Models for the bounded searches.
pub(crate) fn bounded() -> Vec<Model> {
    let mut list: Vec<Model> =
        examples().into_iter().filter(|model| model.path.ends_with("cambridge.pml")).collect();
    list.push(own("window", "W=3 CAP=3", 1_000_000));
    list.push(own("philosophers", "N=9", 4_000_000));
    list.push(own("counters", "N=4 TOP=8", 1_000_000));
    list.push(own("ring", "N=8", 1_000_000));
    list.push(own("bakery", "N=3 TOP=4", 4_000_000));
    list
}
