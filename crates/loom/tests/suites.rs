//! The loom suites of real crates, as cargo takes them from the registry, with loom patched out.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A workspace with a crate's suite, and with the crate itself where it is changed.
struct Workspace {
    folder: tempfile::TempDir,
    name: &'static str,
    version: &'static str,
    /// Where cargo has put the crate.
    source: PathBuf,
}

impl Workspace {
    /// Takes a crate from the registry, or says why it cannot.
    fn new(name: &'static str, version: &'static str) -> Result<Self, String> {
        let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
        let mut workspace = Workspace { folder, name, version, source: PathBuf::new() };
        workspace.write_manifest(None);
        // The versions that this workspace is built with, as far as there are any.
        let lock = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../Cargo.lock");
        fs::copy(lock, workspace.folder.path().join("Cargo.lock")).map_err(|error| error.to_string())?;
        fs::write(workspace.folder.path().join("lib.rs"), "").map_err(|error| error.to_string())?;
        let metadata = workspace.cargo(&["metadata", "--format-version", "1"]);
        if !metadata.status.success() {
            return Err(String::from_utf8_lossy(&metadata.stderr).into_owned());
        }
        let metadata: serde_json::Value = serde_json::from_slice(&metadata.stdout).expect("it is JSON");
        let packages = metadata["packages"].as_array().expect("there are packages");
        let package = packages.iter().find(|package| package["name"] == name).expect("it is a dependency");
        let manifest = Path::new(package["manifest_path"].as_str().expect("it has a manifest"));
        workspace.source = manifest.parent().expect("a manifest is in a folder").to_path_buf();
        workspace.write_manifest(None);
        Ok(workspace)
    }

    /// Writes the manifest, with the crate from the registry or from another folder.
    fn write_manifest(&self, changed: Option<&Path>) {
        let (name, version) = (self.name, self.version);
        let front = Path::new(env!("CARGO_MANIFEST_DIR")).join("patch");
        let suite = self.source.join("tests/loom.rs");
        let patch = changed.map_or_else(String::new, |path| format!("{name} = {{ path = {path:?} }}\n"));
        let manifest = format!(
            "[package]\nname = \"suite\"\nversion = \"0.1.0\"\nedition = \"2021\"\nautotests = false\n\n\
             [lib]\npath = \"lib.rs\"\n\n\
             [[test]]\nname = \"suite\"\npath = {suite:?}\n\n\
             [target.'cfg(loom)'.dependencies]\nloom = \"0.7\"\n{name} = {{ version = \"={version}\", features = [\"loom\"] }}\n\n\
             [patch.crates-io]\nloom = {{ path = {front:?} }}\n{patch}\n\
             [profile.dev.package.\"*\"]\nopt-level = 1\n\n[workspace]\n"
        );
        fs::write(self.folder.path().join("Cargo.toml"), manifest).expect("the folder can be written");
    }

    fn cargo(&self, arguments: &[&str]) -> Output {
        let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("suites");
        let mut command = Command::new(env!("CARGO"));
        command.current_dir(self.folder.path()).args(arguments);
        command.env_remove("CARGO_ENCODED_RUSTFLAGS").env("RUSTFLAGS", "--cfg loom");
        command.env("CARGO_TARGET_DIR", target).env("LOOM_MAX_PREEMPTIONS", "2").env("LOOM_LOG", "1");
        command.output().expect("cargo can be run")
    }

    /// Runs the suite: whether it passes, and what it says.
    fn run(&self) -> (bool, String) {
        let output = self.cargo(&["test", "--test", "suite", "--", "--nocapture"]);
        let text = [&output.stdout[..], &output.stderr[..]].concat();
        (output.status.success(), String::from_utf8_lossy(&text).into_owned())
    }

    /// Runs the suite with every occurrence of some text in a file of the crate replaced.
    fn run_with(&self, file: &str, from: &str, to: &str) -> (bool, String) {
        let copy = self.folder.path().join("changed");
        _ = fs::remove_dir_all(&copy);
        copy_folder(&self.source, &copy);
        let path = copy.join(file);
        let text = fs::read_to_string(&path).expect("the crate has the file");
        assert!(text.contains(from), "{from:?} is not in {file}");
        fs::write(&path, text.replace(from, to)).expect("the copy can be written");
        self.write_manifest(Some(&copy));
        self.run()
    }
}

fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("the folder can be made");
    for entry in fs::read_dir(from).expect("the folder can be read") {
        let entry = entry.expect("the folder can be read");
        let (path, target) = (entry.path(), to.join(entry.file_name()));
        if path.is_dir() {
            copy_folder(&path, &target);
        } else {
            fs::copy(&path, &target).expect("the file can be copied");
        }
    }
}

/// The workspace; without the registry the test is skipped, by name.
#[track_caller]
fn workspace(name: &'static str, version: &'static str, test: &str) -> Option<Workspace> {
    match Workspace::new(name, version) {
        Ok(workspace) => Some(workspace),
        Err(error) => {
            let required = std::env::var("SELVEDGE_REQUIRE_ORACLES").is_ok_and(|value| value == "1");
            assert!(!required, "{test}: {name} cannot be had from the registry: {error}");
            eprintln!("SKIPPED: {test}: {name} cannot be had from the registry");
            None
        }
    }
}

#[test]
fn the_suite_of_concurrent_queue() {
    let Some(workspace) = workspace("concurrent-queue", "2.5.0", "the_suite_of_concurrent_queue") else {
        return;
    };
    let (passes, text) = workspace.run();
    assert!(passes, "{text}");
    assert!(text.contains("2 passed"), "{text}");
    let guarantees = text.matches("every execution with at most 2 preemptions has been checked").count();
    assert_eq!(guarantees, 6, "two tests, three queues each: {text}");
    let release = "self.state.fetch_and(!LOCKED, Ordering::Release)";
    let relaxed = "self.state.fetch_and(!LOCKED, Ordering::Relaxed)";
    for (file, from, to) in [
        ("src/single.rs", release, relaxed),
        (
            "src/bounded.rs",
            "slot.stamp.store(tail + 1, Ordering::Release)",
            "slot.stamp.store(tail + 1, Ordering::Relaxed)",
        ),
    ] {
        let (passes, text) = workspace.run_with(file, from, to);
        assert!(!passes && text.contains("data race on cell"), "{file}: {text}");
    }
}
