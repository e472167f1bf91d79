//! What kind of file system an open file is on.

use std::fs::File;
use std::os::fd::AsRawFd;

/// Whether times here say when a content changed. Not on file systems that make up their content
/// when it is read.
pub(crate) fn times_are_meaningful(file: &File) -> bool {
    magic(file).is_some_and(|magic| !MADE_UP.contains(&magic))
}

/// Whether only this machine can take the bytes of an open file away.
pub(crate) fn is_local(file: &File) -> bool {
    magic(file).is_some_and(|magic| LOCAL.contains(&magic))
}

/// `f_type`, the values of which are in linux/magic.h.
fn magic(file: &File) -> Option<u64> {
    let mut found = std::mem::MaybeUninit::<libc::statfs>::uninit();
    // SAFETY: the descriptor is open and the buffer is of the type that the call fills.
    let result = unsafe { libc::fstatfs(file.as_raw_fd(), found.as_mut_ptr()) };
    // SAFETY: the buffer is filled when the call succeeded. Some platforms have a signed field.
    (result == 0).then(|| unsafe { found.assume_init() }.f_type as u64 & 0xffff_ffff)
}

const MADE_UP: [u64; 17] = [
    0x0000_9fa0, // proc
    0x6265_6572, // sysfs
    0x6462_6720, // debugfs
    0x7472_6163, // tracefs
    0x7363_6673, // securityfs
    0xf97c_ff8c, // selinuxfs
    0x4341_5d53, // smackfs
    0x0027_e0eb, // cgroup
    0x6367_7270, // cgroup2
    0x6265_6570, // configfs
    0xcafe_4a11, // bpf
    0xde5e_81e4, // efivarfs
    0x0000_1cd1, // devpts
    0x0765_5821, // resctrl
    0x4249_4e4d, // binfmt_misc
    0x6165_676c, // pstore
    0x6e73_6673, // nsfs
];

const LOCAL: [u64; 7] = [
    0x0000_ef53, // ext2, ext3, ext4
    0x5846_5342, // xfs
    0x9123_683e, // btrfs
    0xf2f5_2010, // f2fs
    0x2fc1_2fc1, // zfs
    0x0102_1994, // tmpfs
    0x794c_7630, // overlayfs
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn made_up_file_systems_are_known() {
        for path in ["/proc/self/status", "/sys"] {
            let file = File::open(path).unwrap();
            assert!(!times_are_meaningful(&file) && !is_local(&file), "{path}");
        }
        let dir = tempfile::tempdir().unwrap();
        assert!(times_are_meaningful(&File::open(dir.path()).unwrap()));
    }
}
