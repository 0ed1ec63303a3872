use std::any::Any;
use std::borrow::Cow;
use std::ffi::{CString, OsString};
use std::fmt::Display;
use std::mem::MaybeUninit;
use std::path::PathBuf;

use selvedge::sync::{Arc, Mutex, unsize};

use crate::both;

#[test]
fn slices_and_texts_become_shared() {
    both(|| {
        let numbers: Arc<[u16]> = Arc::from(vec![1, 2, 3]);
        assert_eq!((&*numbers, &*numbers.clone()), (&[1, 2, 3][..], &[1, 2, 3][..]));
        assert_eq!(*Arc::<[u16]>::from(&[4, 5][..]), [4, 5]);
        assert_eq!(*Arc::<[u16]>::from([6, 7]), [6, 7]);
        assert_eq!(*(0..3_u8).collect::<Arc<[u8]>>(), [0, 1, 2]);
        assert_eq!(*Arc::<[String]>::default(), [] as [String; 0]);
        assert_eq!((&*Arc::<str>::from("abc"), &*Arc::<str>::from(String::from("de"))), ("abc", "de"));
        assert_eq!((&*Arc::<str>::from(Cow::from("f")), &*Arc::<str>::default()), ("f", ""));
        assert_eq!(*Arc::<[u8]>::from(Arc::<str>::from("ab")), *b"ab");
        assert_eq!(&*Arc::<std::path::Path>::from(PathBuf::from("a/b")), std::path::Path::new("a/b"));
        assert_eq!(&*Arc::<std::ffi::OsStr>::from(OsString::from("x")), "x");
        let text = CString::new("c").unwrap();
        assert_eq!(*Arc::<std::ffi::CStr>::from(text.clone()), *text);
        assert_eq!(*Arc::from(5), 5);
    });
}

#[test]
fn boxes_become_shared() {
    both(|| {
        let display: Arc<dyn Display> = Arc::from(Box::new(5) as Box<dyn Display>);
        assert_eq!(display.to_string(), "5");
        assert_eq!(*Arc::<()>::from(Box::new(())), ());
        assert_eq!(Arc::<String>::from(Box::new(String::from("x"))).len(), 1);
        let dropped = Arc::new(());
        let boxed: Box<dyn Any> = Box::new(vec![dropped.clone(), dropped.clone()]);
        let shared: Arc<dyn Any> = Arc::from(boxed);
        assert_eq!(Arc::strong_count(&dropped), 3);
        drop(shared);
        assert_eq!(Arc::strong_count(&dropped), 1);
    });
}

#[test]
fn sizes_can_be_forgotten_and_found_again() {
    both(|| {
        let any: Arc<dyn Any + Send + Sync> = unsize!(Arc::new(Mutex::new(5)));
        let other = any.clone();
        let any = any.downcast::<u32>().unwrap_err();
        assert_eq!(*any.downcast::<Mutex<i32>>().unwrap().lock().unwrap(), 5);
        assert_eq!(Arc::strong_count(&other), 1);
        let slice: Arc<[i32]> = unsize!(Arc::new([1, 2]));
        let slice = Arc::<[i32; 3]>::try_from(slice).unwrap_err();
        assert_eq!(*Arc::<[i32; 2]>::try_from(slice).unwrap(), [1, 2]);
        let weak = Arc::downgrade(&other);
        assert!(weak.upgrade().is_some_and(|any| any.is::<Mutex<i32>>()));
    });
}

#[test]
fn a_value_can_be_initialised_later() {
    both(|| {
        let mut five = Arc::<u32>::new_uninit();
        Arc::get_mut(&mut five).unwrap().write(5);
        // SAFETY: it has just been written.
        assert_eq!(*unsafe { five.assume_init() }, 5);
        let mut many = Arc::<[u32]>::new_uninit_slice(3);
        Arc::get_mut(&mut many).unwrap().fill(MaybeUninit::new(7));
        // SAFETY: as above.
        assert_eq!(*unsafe { many.assume_init() }, [7, 7, 7]);
    });
}
