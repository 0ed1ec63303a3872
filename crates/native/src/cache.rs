//! The folder with what programs are linked against, in the user's cache.
//!
//! Whoever can write there decides what runs in the programs that are compiled. So the folder is the user's alone, and what is in
//! it is compared with what belongs there. Nothing above it can be written to by everybody, but for a folder like `/tmp` in which
//! nobody can replace what is another's (sticky), if the cache is in a folder of the user's below it.

use std::fs::{self, DirBuilder, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::launch::RUNTIME;

/// What programs include.
const HEADER: &str = include_str!("../include/selvedge.h");

/// The files, but for the one that the compiler makes: what gcc links into every program that it instruments.
const FILES: [(&str, &[u8]); 3] =
    [("libtsan.so", RUNTIME), ("libselvedge_pthread.so", RUNTIME), ("selvedge.h", HEADER.as_bytes())];
const EMPTY: &str = "libtsan_preinit.o";
/// When this is there, all are; it has the sum of that file.
const COMPLETE: &str = "complete";

/// The folder, made or mended where that is needed, with a compiler.
pub(crate) fn folder(compiler: Command) -> io::Result<PathBuf> {
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let cache = cache.or_else(|| std::env::home_dir().map(|home| home.join(".cache")));
    let Some(cache) = cache.filter(|path| path.is_absolute()) else {
        let message = "there is no folder for what programs are linked against: HOME is not set; name one in XDG_CACHE_HOME";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
    };
    folder_in(&cache, compiler)
}

fn folder_in(cache: &Path, compiler: Command) -> io::Result<PathBuf> {
    // Named after its content, so that versions do not meet.
    let content = FILES.iter().fold(String::new(), |all, (_, bytes)| format!("{all}{:016x}", sum(bytes)));
    let folder = cache.join("selvedge").join(format!("{:016x}", sum(content.as_bytes())));
    let refused = |place: &Path, problem: &str| {
        let message = format!(
            "{}: {problem}, and programs are linked against what is in {}; name another folder in XDG_CACHE_HOME",
            place.display(),
            folder.display()
        );
        io::Error::new(io::ErrorKind::InvalidInput, message)
    };
    // SAFETY: takes nothing.
    let user = unsafe { libc::geteuid() };
    let there = cache.ancestors().find(|above| above.exists()).unwrap_or(cache);
    let there = fs::canonicalize(there).map_err(|error| refused(there, &error.to_string()))?;
    for above in there.ancestors() {
        let found = fs::metadata(above).map_err(|error| refused(above, &error.to_string()))?;
        let is_sticky = found.mode() & 0o1000 != 0 && above != there;
        if found.mode() & 0o002 != 0 && !is_sticky {
            return Err(refused(above, "everybody can write to it"));
        }
        if found.uid() != user && found.uid() != 0 {
            return Err(refused(above, "it is another user's"));
        }
    }
    let made = DirBuilder::new().recursive(true).mode(0o700).create(&folder);
    made.map_err(|error| refused(&folder, &format!("it cannot be made ({error})")))?;
    for own in [cache.join("selvedge"), folder.clone()] {
        let found = fs::symlink_metadata(&own).map_err(|error| refused(&own, &error.to_string()))?;
        if !found.is_dir() || found.uid() != user {
            return Err(refused(&own, "it is not a folder of this user's"));
        }
        if found.mode() & 0o077 != 0 {
            fs::set_permissions(&own, Permissions::from_mode(0o700))
                .map_err(|error| refused(&own, &error.to_string()))?;
        }
    }
    if !is_complete(&folder) {
        fill(&folder, compiler)?;
    }
    Ok(folder)
}

/// Whether everything is there, and as it was made.
fn is_complete(folder: &Path) -> bool {
    let read = |name: &str| {
        let path = folder.join(name);
        fs::symlink_metadata(&path).is_ok_and(|found| found.is_file()).then(|| fs::read(path).ok())?
    };
    FILES.iter().all(|(name, content)| read(name).is_some_and(|found| found == *content))
        && read(EMPTY).is_some_and(|empty| read(COMPLETE) == Some(sum(&empty).to_string().into_bytes()))
}

/// Makes everything anew. Each file appears whole: several compilers may run at once.
fn fill(folder: &Path, mut compiler: Command) -> io::Result<()> {
    let place = |name: &str, content: &[u8]| {
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        file.write_all(content)?;
        file.persist(folder.join(name)).map(|_| ()).map_err(|error| error.error)
    };
    for (name, content) in FILES {
        place(name, content)?;
    }
    // Nothing is needed of it.
    let empty = tempfile::NamedTempFile::new_in(folder)?.into_temp_path();
    let name = compiler.get_program().to_string_lossy().into_owned();
    if !compiler.args(["-x", "c", "-c", "/dev/null", "-o"]).arg(&empty).status()?.success() {
        return Err(io::Error::other(format!("{name} cannot compile")));
    }
    let content = fs::read(&empty)?;
    place(EMPTY, &content)?;
    place(COMPLETE, sum(&content).to_string().as_bytes())
}

pub(crate) fn sum(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xCBF2_9CE4_8422_2325, |sum, byte| (sum ^ u64::from(*byte)).wrapping_mul(0x100_0000_01B3))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn make(cache: &Path) -> io::Result<PathBuf> {
        folder_in(cache, Command::new("gcc"))
    }

    /// A folder that only this user can write to, nor to what is above it.
    fn place() -> tempfile::TempDir {
        let target = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target");
        tempfile::tempdir_in(target).unwrap()
    }

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().mode() & 0o777
    }

    #[test]
    fn the_cache_is_the_users_alone_and_is_mended() {
        let place = place();
        let folder = make(place.path()).unwrap();
        assert_eq!([mode(&folder), mode(&place.path().join("selvedge"))], [0o700; 2]);
        for (name, content) in FILES {
            // Another library would run in every program.
            fs::write(folder.join(name), "another").unwrap();
            fs::set_permissions(&folder, Permissions::from_mode(0o777)).unwrap();
            assert_eq!(make(place.path()).unwrap(), folder);
            assert!(fs::read(folder.join(name)).unwrap() == content, "{name}");
            assert_eq!(mode(&folder), 0o700);
        }
        fs::write(folder.join(EMPTY), "another").unwrap();
        make(place.path()).unwrap();
        assert!(fs::read(folder.join(EMPTY)).unwrap().starts_with(b"\x7fELF"));
    }

    #[test]
    fn what_others_can_write_to_is_no_place_for_the_cache() {
        let place = place();
        let shared = place.path().join("shared");
        fs::create_dir(&shared).unwrap();
        // As temporary folders are.
        fs::set_permissions(&shared, Permissions::from_mode(0o1777)).unwrap();
        let refused = |cache: &Path| make(cache).unwrap_err().to_string();
        assert!(refused(&shared).contains("everybody can write to it"));
        assert!(refused(&shared.join("mine")).contains("everybody can write to it"));
        assert_eq!(fs::read_dir(&shared).unwrap().count(), 0, "nothing was made there");
        // In a folder of this user's there nobody else can replace anything, unless everybody can.
        let own = shared.join("own");
        fs::create_dir(&own).unwrap();
        make(&own.join("cache")).unwrap();
        fs::set_permissions(&shared, Permissions::from_mode(0o777)).unwrap();
        assert!(refused(&own.join("cache")).contains("everybody can write to it"));
        // A link may lead to what is another's, and so may a path.
        let linked = place.path().join("linked");
        fs::create_dir(&linked).unwrap();
        std::os::unix::fs::symlink(&shared, linked.join("selvedge")).unwrap();
        assert!(refused(&linked).contains("not a folder of this user's"));
        assert!(refused(Path::new("/proc/self")).contains("XDG_CACHE_HOME"));
    }
}
