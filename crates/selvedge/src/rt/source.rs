//! What the source of the program calls an object.
//!
//! `self.stopping.load(SeqCst)` in a counterexample is better called a load of `stopping` than of atomic #0.
//! The place of an operation, which `#[track_caller]` gives, is that of the method's name, so that the object is
//! what stands before it. Only counterexamples are worth reading files for; where the source is not at hand, or
//! says something that is not understood, the object has a number as before.

use std::panic::Location;
use std::path::{Path, PathBuf};

/// The name of the object whose method is called at a place.
pub(crate) fn receiver(place: &Location<'_>) -> Option<String> {
    let text = std::fs::read_to_string(find(Path::new(place.file()))?).ok()?;
    let line = text.lines().nth(place.line() as usize - 1)?;
    let before: String = line.chars().take(place.column() as usize - 1).collect();
    name(&before).map(str::to_string)
}

/// The file. Its name is relative to the folder that it was built in, which is here or above.
fn find(file: &Path) -> Option<PathBuf> {
    let here = std::env::current_dir().ok()?;
    here.ancestors().map(|folder| folder.join(file)).find(|path| path.is_file())
}

/// The last name in the expression that ends with the dot before a method: `is_set` of `*self.is_set.`, and
/// `slot` of `self.slot(position).`.
fn name(before: &str) -> Option<&str> {
    let mut expression = before.strip_suffix('.')?;
    while let Some(close) = expression.chars().next_back().filter(|last| ")]".contains(*last)) {
        let open = if close == ')' { '(' } else { '[' };
        let mut depth = 0;
        let start = expression.char_indices().rev().find(|&(_, character)| {
            depth += i32::from(character == close) - i32::from(character == open);
            depth == 0
        })?;
        expression = &expression[..start.0];
    }
    let is_part = |character: char| character.is_alphanumeric() || character == '_';
    let start = expression.rfind(|character| !is_part(character)).map_or(0, |at| at + 1);
    let last = &expression[start..];
    if last.starts_with(|first: char| first.is_ascii_digit()) {
        // A field of a tuple, which its own name does not tell.
        let tuple = expression[..start].strip_suffix('.')?;
        let start = tuple.rfind(|character| !is_part(character)).map_or(0, |at| at + 1);
        return (start < tuple.len()).then(|| &expression[start..]);
    }
    (!last.is_empty() && last != "self" && last != "unwrap").then_some(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_has_the_last_name_before_the_method() {
        for (before, expected) in [
            ("        if self.stopping.", Some("stopping")),
            ("*self.is_set.", Some("is_set")),
            ("drop(self.changed.", Some("changed")),
            ("self.slot(last - (1)).", Some("slot")),
            ("(&self.items[index]).", None),
            ("self.items[index].", Some("items")),
            ("COUNTER.", Some("COUNTER")),
            ("shared.0.", Some("shared.0")),
            ("self.", None),
            ("            .", None),
            ("let x = ", None),
        ] {
            assert_eq!(name(before), expected, "{before:?}");
        }
    }

    #[test]
    fn the_place_of_a_call_is_that_of_the_method() {
        struct Object;
        impl Object {
            #[track_caller]
            fn method(&self) -> Option<String> {
                receiver(Location::caller())
            }
        }
        let object = Object;
        assert_eq!(object.method().as_deref(), Some("object"));
    }
}
