//! Takes the library out of the environment, so that the program finds what its parent gave it.

use crate::layout::OWN_PRELOAD;

const VARIABLE: &[u8] = b"LD_PRELOAD=";

/// Takes the library's path out, and writes `LD_PRELOAD=` and the path to `kept`. False, and nothing
/// is changed, where there is none.
///
/// # Safety
/// `environment` must be the process's, ended by a null pointer.
pub(crate) unsafe fn take_out(environment: *mut *mut u8, kept: &mut Kept) -> bool {
    // SAFETY: as the caller promises.
    unsafe {
        let mut count = 0;
        let mut found = None;
        while !(*environment.add(count)).is_null() {
            if starts(*environment.add(count), VARIABLE) {
                found = Some(count);
            }
            count += 1;
        }
        let Some(at) = found else { return false };
        let variable = *environment.add(at);
        // The library is the last of the list.
        let mut start = VARIABLE.len();
        let mut end = start;
        while *variable.add(end) != 0 {
            if *variable.add(end) == b':' {
                start = end + 1;
            }
            end += 1;
        }
        let path = variable.add(start);
        let length = end - start;
        if !starts(path, b"/proc/") || VARIABLE.len() + length >= kept.len() {
            return false;
        }
        kept[..VARIABLE.len()].copy_from_slice(VARIABLE);
        core::ptr::copy_nonoverlapping(path, kept.as_mut_ptr().add(VARIABLE.len()), length);
        let alone = start == VARIABLE.len();
        let erase = if alone { 0 } else { start - 1 };
        core::ptr::write_bytes(variable.add(erase), 0, end - erase);
        if alone {
            for n in at..count {
                *environment.add(n) = *environment.add(n + 1);
            }
        }
        true
    }
}

pub(crate) type Kept = [u8; OWN_PRELOAD];

unsafe fn starts(string: *const u8, with: &[u8]) -> bool {
    for (n, &byte) in with.iter().enumerate() {
        // SAFETY: read up to the first difference, which the string's end is at the latest.
        if unsafe { *string.add(n) } != byte {
            return false;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::ffi::CString;
    use std::string::{String, ToString};
    use std::vec::Vec;

    /// What is left of an environment, and the library's path.
    fn taken(variables: &[&str]) -> (Vec<String>, Option<String>) {
        let strings = variables.iter().map(|v| CString::new(*v).unwrap().into_raw());
        let strings: Vec<*mut u8> = strings.map(|s| s.cast()).collect();
        let mut array: Vec<*mut u8> = strings.clone();
        array.push(core::ptr::null_mut());
        let mut kept = [0; OWN_PRELOAD];
        // SAFETY: an array of strings that ends with null.
        let found = unsafe { take_out(array.as_mut_ptr(), &mut kept) };
        let text = |s: *mut u8| {
            // SAFETY: one of the strings above.
            unsafe { core::ffi::CStr::from_ptr(s.cast()) }.to_str().unwrap().to_string()
        };
        let left = array.iter().take_while(|s| !s.is_null()).map(|&s| text(s)).collect();
        let path = core::ffi::CStr::from_bytes_until_nul(&kept).unwrap();
        (left, found.then(|| path.to_str().unwrap().to_string()))
    }

    #[test]
    fn nothing_is_left_of_it() {
        let (left, path) = taken(&["A=1", "LD_PRELOAD=/proc/7/fd/9", "B=2"]);
        assert_eq!(left, ["A=1", "B=2"]);
        assert_eq!(path.unwrap(), "LD_PRELOAD=/proc/7/fd/9");
    }

    #[test]
    fn the_user_s_own_list_stays() {
        let (left, path) = taken(&["LD_PRELOAD=/lib/a.so b.so:/proc/7/fd/9", "B=2"]);
        assert_eq!(left, ["LD_PRELOAD=/lib/a.so b.so", "B=2"]);
        assert_eq!(path.unwrap(), "LD_PRELOAD=/proc/7/fd/9");
    }

    #[test]
    fn what_is_not_ours_is_left_alone() {
        for variables in [&["A=1"][..], &["LD_PRELOAD=/lib/a.so"], &["LD_PRELOAD="], &[]] {
            let (left, path) = taken(variables);
            assert_eq!(left, variables);
            assert_eq!(path, None);
        }
    }
}
