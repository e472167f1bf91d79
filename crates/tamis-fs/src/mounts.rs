//! What tells two file systems apart that are mounted at one place, one after the other.
//!
//! A file system that is written here moves the times of its files with the clock of this machine.
//! An image that was made elsewhere does not: two builds of it can agree in device, inode, size and
//! times. So on file systems that cannot be written, and on images (loop devices), the mount itself
//! counts: its number, which the kernel never gives again, and the boot since which it counts. So it does
//! where an overlay lies over others, which can be images: before Linux 6.8 has names for mounts, what is in
//! an overlay is recognised by its times all the same.

use std::collections::HashMap;
use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::{OnceLock, PoisonError, RwLock};
use tamis_core::Hash;

/// What the mount of a device adds to what its files are recognised by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stamp {
    /// Nothing: times tell.
    Plain,
    Mount(Hash),
    /// The kernel does not name the mount: nothing of it can be recognised.
    Unknown,
}

/// Asked once for each device.
#[derive(Debug, Default)]
pub(crate) struct Mounts {
    known: RwLock<HashMap<u64, Stamp>>,
}

impl Mounts {
    /// The stamp of the device on which `path` is.
    pub(crate) fn stamp(&self, device: u64, path: &Path) -> Stamp {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner).get(&device).copied();
        known.unwrap_or_else(|| {
            let stamp = look(device, path);
            self.known.write().unwrap_or_else(PoisonError::into_inner).insert(device, stamp);
            stamp
        })
    }
}

const LOOP_DEVICE: u32 = 7;
const OVERLAY: libc::c_long = 0x794c_7630;

fn look(device: u64, path: &Path) -> Stamp {
    let Ok(path) = CString::new(path.as_os_str().as_bytes()) else { return Stamp::Unknown };
    // SAFETY: plain data that the call fills.
    let mut found: libc::statvfs = unsafe { std::mem::zeroed() };
    // SAFETY: the path ends with a zero byte.
    let done = unsafe { libc::statvfs(path.as_ptr(), &raw mut found) };
    let closed = done != 0 || found.f_flag & libc::ST_RDONLY != 0;
    let overlay = is_overlay(&path);
    if !closed && !overlay && libc::major(device) != LOOP_DEVICE {
        return Stamp::Plain;
    }
    match (unique_number(&path), boot()) {
        (Some(number), Some(boot)) => {
            Stamp::Mount(Hash::of_parts([boot.as_bytes(), &number.to_le_bytes()]))
        }
        _ if overlay && !closed => Stamp::Plain,
        _ => Stamp::Unknown,
    }
}

fn is_overlay(path: &CString) -> bool {
    // SAFETY: plain data that the call fills.
    let mut found: libc::statfs = unsafe { std::mem::zeroed() };
    // SAFETY: the path ends with a zero byte.
    let done = unsafe { libc::statfs(path.as_ptr(), &raw mut found) };
    done == 0 && found.f_type == OVERLAY
}

/// The number of the mount that is never given again (Linux 6.8).
fn unique_number(path: &CString) -> Option<u64> {
    const MOUNT_ID_UNIQUE: u32 = 0x4000;
    // SAFETY: plain data that the call fills.
    let mut found: libc::statx = unsafe { std::mem::zeroed() };
    let flags = libc::AT_SYMLINK_NOFOLLOW;
    // SAFETY: the path ends with a zero byte.
    let done = unsafe {
        libc::statx(libc::AT_FDCWD, path.as_ptr(), flags, MOUNT_ID_UNIQUE, &raw mut found)
    };
    (done == 0 && found.stx_mask & MOUNT_ID_UNIQUE != 0).then_some(found.stx_mnt_id)
}

fn boot() -> Option<&'static str> {
    static BOOT: OnceLock<Option<String>> = OnceLock::new();
    BOOT.get_or_init(|| std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()).as_deref()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::MetadataExt;

    fn device(path: &Path) -> u64 {
        std::fs::symlink_metadata(path).unwrap().dev()
    }

    #[test]
    fn what_is_written_here_needs_no_stamp() {
        let dir = tempfile::tempdir().unwrap();
        let stamp = Mounts::default().stamp(device(dir.path()), dir.path());
        assert_eq!(stamp, Stamp::Plain);
    }

    #[test]
    fn an_image_is_recognised_by_its_mount() {
        let dir = tempfile::tempdir().unwrap();
        let on_loop = libc::makedev(LOOP_DEVICE, 3);
        let mounts = Mounts::default();
        let stamp = mounts.stamp(on_loop, dir.path());
        assert_ne!(stamp, Stamp::Plain);
        assert_eq!(mounts.stamp(on_loop, dir.path()), stamp);
        let elsewhere = Mounts::default().stamp(on_loop, Path::new("/proc"));
        assert!(elsewhere != stamp || stamp == Stamp::Unknown);
    }

    #[test]
    fn two_overlays_at_one_place_differ() {
        let dir = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let at = |name: &str| dir.path().join(name);
        for name in ["a", "b", "upper", "work", "there"] {
            std::fs::create_dir(at(name)).unwrap();
        }
        let stamp = |lower: &str| {
            let shown = |name: &str| at(name).display().to_string();
            let options = format!(
                "lowerdir={},upperdir={},workdir={}",
                shown(lower),
                shown("upper"),
                shown("work")
            );
            let mut mount = std::process::Command::new("mount");
            mount.args(["-t", "overlay", "overlay", "-o", &options, &shown("there")]);
            let done = mount.stderr(std::process::Stdio::null()).status();
            if !done.is_ok_and(|done| done.success()) {
                return None;
            }
            let stamp = Mounts::default().stamp(device(&at("there")), &at("there"));
            let done = std::process::Command::new("umount").arg(at("there")).status().unwrap();
            assert!(done.success());
            Some(stamp)
        };
        let (Some(one), Some(other)) = (stamp("a"), stamp("b")) else {
            return println!("not tried: this user may not mount");
        };
        let has_numbers = unique_number(&CString::new("/").unwrap()).is_some();
        assert!(one != other || !has_numbers && one == Stamp::Plain);
    }

    #[test]
    fn what_cannot_be_asked_is_unknown() {
        assert_eq!(look(0, Path::new("a\0b")), Stamp::Unknown);
    }
}
