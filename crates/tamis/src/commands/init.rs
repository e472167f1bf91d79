//! `tamis init`: a first tamis.toml.

use anyhow::{Context as _, Result, bail};
use std::io::Write;

pub(crate) fn init(print: bool) -> Result<i32> {
    let folder = tamis_project::current_folder()?;
    let text = tamis_settings::init(&folder);
    if print {
        crate::terminal::print(&text);
        return Ok(0);
    }
    let file = folder.join(tamis_settings::FILE_NAME);
    let made = std::fs::File::create_new(&file);
    match made.and_then(|mut f| f.write_all(text.as_bytes())) {
        Ok(()) => {}
        Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => bail!(
            "{} is there already; `tamis init --print` shows what would be written",
            file.display()
        ),
        Err(e) => return Err(e).with_context(|| format!("{} cannot be written", file.display())),
    }
    let next = if text.lines().any(|line| line == "[[suite]]") {
        "`tamis select` shows what would run"
    } else {
        "no tests of a known kind were found: fill in the example in it, or run a command by itself, as in `tamis make test`"
    };
    crate::terminal::print(&format!("wrote {}; {next}\n", file.display()));
    Ok(0)
}
