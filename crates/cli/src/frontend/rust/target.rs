//! Which target of which cargo package a file is.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, anyhow, bail};
use serde::Deserialize;

use super::process::output;

/// How a target is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// `cargo run`: it has a `main`.
    Run,
    /// `cargo test`: it has tests.
    Test,
}

/// A target of a cargo package.
#[derive(Clone, Debug)]
pub(super) struct Target {
    pub(super) way: Way,
    /// The option that selects it: `--example`, `--bin`, `--test`, `--lib`.
    kind: &'static str,
    /// Its name; empty for `--lib`, which needs none.
    name: String,
    features: Vec<String>,
    manifest: PathBuf,
}

impl Target {
    /// What to call it in a message.
    pub(super) fn what(&self) -> String {
        match self.kind {
            "--lib" => "the library".to_string(),
            kind => format!("the {} {}", kind.trim_start_matches('-').replace("bin", "binary"), self.name),
        }
    }

    /// Cargo's arguments to run it, or only to build it.
    pub(super) fn arguments(&self, build_only: bool) -> Vec<String> {
        let mut words: Vec<String> = match (self.way, build_only) {
            (Way::Run, false) => vec!["run".into()],
            (Way::Run, true) => vec!["build".into()],
            (Way::Test, false) => vec!["test".into()],
            (Way::Test, true) => vec!["test".into(), "--no-run".into()],
        };
        words.push("--release".into());
        if let Some(manifest) = self.manifest_elsewhere() {
            words.extend(["--manifest-path".into(), manifest.display().to_string()]);
        }
        if !self.features.is_empty() {
            words.extend(["--features".into(), self.features.join(",")]);
        }
        words.push(self.kind.into());
        if !self.name.is_empty() {
            words.push(self.name.clone());
        }
        words
    }

    /// The manifest, unless cargo finds it by itself; relative to the current directory where it is below.
    fn manifest_elsewhere(&self) -> Option<PathBuf> {
        let Some(here) = std::env::current_dir().ok().and_then(|here| here.canonicalize().ok()) else {
            return Some(self.manifest.clone());
        };
        match self.manifest.strip_prefix(&here) {
            Ok(below) if below == Path::new("Cargo.toml") => None,
            Ok(below) => Some(below.to_path_buf()),
            Err(_) => Some(self.manifest.clone()),
        }
    }
}

/// What `cargo metadata` says, as far as it matters here.
#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

#[derive(Deserialize)]
struct Package {
    manifest_path: PathBuf,
    targets: Vec<CargoTarget>,
}

#[derive(Deserialize)]
struct CargoTarget {
    kind: Vec<String>,
    name: String,
    src_path: PathBuf,
    #[serde(default, rename = "required-features")]
    required_features: Vec<String>,
}

/// Cargo, as the one that runs us names itself, or the one on the path.
pub(super) fn cargo() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// An error of starting cargo.
pub(super) fn no_cargo(error: std::io::Error) -> anyhow::Error {
    anyhow!("cannot run cargo: {error}; install Rust, or put cargo on the PATH")
}

/// The target whose root is the file.
pub(super) fn find(file: &Path) -> anyhow::Result<Target> {
    let shown = file.display();
    let file = file
        .canonicalize()
        .map_err(|error| anyhow!("cannot read {shown}: {error}; give the file to check"))?;
    let Some(manifest) =
        file.ancestors().skip(1).map(|directory| directory.join("Cargo.toml")).find(|path| path.is_file())
    else {
        bail!(
            "{shown} is in no cargo package (there is no Cargo.toml above it); \
             put it into examples/ or tests/ of a package that depends on selvedge"
        );
    };
    let mut command = cargo();
    command.args(["metadata", "--no-deps", "--format-version", "1", "--manifest-path"]).arg(&manifest);
    let output = output(command)?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("cargo does not accept {}; mend it first:\n{}", manifest.display(), said.trim_end());
    }
    let metadata: Metadata = serde_json::from_slice(&output.stdout)
        .context("cannot understand `cargo metadata`; use a cargo of version 1.88 or later")?;
    select(metadata, &file, &shown.to_string())
}

fn select(metadata: Metadata, file: &Path, shown: &str) -> anyhow::Result<Target> {
    let same = |path: &Path| path == file || path.canonicalize().is_ok_and(|path| path == file);
    let mut others = Vec::new();
    for package in metadata.packages {
        for target in package.targets {
            let way = way(&target.kind);
            if !same(&target.src_path) {
                if way.is_some() {
                    others.push(target.src_path);
                }
                continue;
            }
            let Some((way, kind)) = way else {
                bail!(
                    "{shown} is a {} target; give an example, a test, a binary or the library's src/lib.rs",
                    target.kind.join(" and ")
                );
            };
            let name = if kind == "--lib" { String::new() } else { target.name };
            let manifest = package.manifest_path.canonicalize().unwrap_or(package.manifest_path);
            return Ok(Target { way, kind, name, features: target.required_features, manifest });
        }
    }
    let shared =
        |path: &PathBuf| path.components().zip(file.components()).take_while(|(a, b)| a == b).count();
    others.sort_by_key(|path| std::cmp::Reverse(shared(path)));
    let list: Vec<String> = others.iter().take(8).map(|path| format!("  {}", relative(path))).collect();
    bail!(
        "{shown} is not an example, a test or a binary of its own; \
         give the file that it is part of, such as one of\n{}",
        list.join("\n")
    )
}

/// How a target of this kind is run and selected; `None` if it is not to be run.
fn way(kinds: &[String]) -> Option<(Way, &'static str)> {
    kinds.iter().find_map(|kind| match &**kind {
        "example" => Some((Way::Run, "--example")),
        "bin" => Some((Way::Run, "--bin")),
        "test" => Some((Way::Test, "--test")),
        "lib" | "rlib" | "dylib" | "cdylib" | "staticlib" => Some((Way::Test, "--lib")),
        _ => None,
    })
}

/// A path as seen from the current directory, if it is below.
fn relative(path: &Path) -> String {
    let here = std::env::current_dir().unwrap_or_default();
    path.strip_prefix(here).unwrap_or(path).display().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_have_their_way() {
        for (kind, expected) in [
            ("example", Some((Way::Run, "--example"))),
            ("bin", Some((Way::Run, "--bin"))),
            ("test", Some((Way::Test, "--test"))),
            ("rlib", Some((Way::Test, "--lib"))),
            ("bench", None),
            ("custom-build", None),
        ] {
            assert_eq!(way(&[kind.to_string()]), expected, "{kind}");
        }
    }
}
