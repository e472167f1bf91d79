//! Folders and files of one user alone.
//!
//! Records decide which tests are skipped, and they name commands, files and variables of the user. So
//! what tamis makes for itself is 0700 and 0600 whatever the umask is, and what it finds is used only
//! if only this user or root can have put it there.
//!
//! Not seen: access control lists, and what a privileged process does.

mod make;
mod temp;
mod trust;

pub use make::{create_file, make_folder, tighten, write};
pub use temp::TempFolder;
pub use trust::{Distrust, check, check_below};
