//! How a model is read: which files it may include, how much text it may be, and when to give up.
//!
//! A model may come from a stranger. It includes regular files below its own folder, or below folders that the user names;
//! other files are refused without a word of whether they exist. What a file contains is told in an error only if it is
//! named as a model is.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

/// The endings of the names of models.
pub const ENDINGS: [&str; 7] = ["pml", "promela", "prom", "spin", "pm", "prm", "pr"];
/// Those of files that models include.
const PARTS: [&str; 2] = ["h", "inc"];
/// Bytes of a model with everything that it includes, and of the texts that its macros make.
pub(crate) const MOST_BYTES: usize = 8 << 20;

/// What a model is read with.
#[derive(Clone, Copy)]
pub struct Reading<'a> {
    /// Macros: `NAME` or `NAME=VALUE`.
    pub definitions: &'a [String],
    /// Folders below which included files may lie, besides the model's own.
    pub folders: &'a [PathBuf],
    /// One more property of the model: a formula, as in an `ltl` block. Its text is its name.
    pub formula: Option<&'a str>,
    /// Asked now and then; `false` ends the reading with [`Error::Stopped`](crate::Error::Stopped).
    pub go_on: &'a dyn Fn() -> bool,
}

impl Default for Reading<'_> {
    fn default() -> Self {
        Reading { definitions: &[], folders: &[], formula: None, go_on: &|| true }
    }
}

/// Whether what a file contains may be quoted in an error.
pub(crate) fn is_named_as_a_model(path: &Path) -> bool {
    let ending = path.extension().and_then(|ending| ending.to_str());
    ending.is_some_and(|ending| ENDINGS.contains(&ending) || PARTS.contains(&ending))
}

/// The text of a regular file of at most so many bytes.
pub(crate) fn text(path: &Path, most: usize) -> Result<String, String> {
    // To open a pipe would wait for somebody who writes to it.
    let regular = |metadata: std::fs::Metadata| match metadata.is_file() {
        true => Ok(()),
        false => Err("it is not a regular file".to_string()),
    };
    let reason = |error: std::io::Error| error.to_string();
    regular(std::fs::metadata(path).map_err(reason)?)?;
    let file = File::open(path).map_err(reason)?;
    regular(file.metadata().map_err(reason)?)?;
    let mut bytes = Vec::new();
    file.take(most as u64 + 1).read_to_end(&mut bytes).map_err(reason)?;
    if bytes.len() > most {
        return Err(format!("a model and what it includes are at most {} MiB", MOST_BYTES >> 20));
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The file that an `#include` names: a regular file below one of the folders, found from the folder of the including file
/// or from one of those that the user gave.
pub(crate) fn included(name: &str, from: &Path, root: &Path, folders: &[PathBuf]) -> Option<PathBuf> {
    let roots: Vec<PathBuf> =
        [root].into_iter().chain(folders.iter().map(PathBuf::as_path)).filter_map(real).collect();
    let mut candidates = [from]
        .into_iter()
        .chain(folders.iter().map(PathBuf::as_path))
        .filter_map(|base| real(&base.join(name)));
    candidates.find(|path| path.is_file() && roots.iter().any(|root| path.starts_with(root)))
}

/// A path without links and `..`.
fn real(path: &Path) -> Option<PathBuf> {
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    path.canonicalize().ok()
}
