//! Whether the engine can work here, without loading it.

use super::PROGRAM;
use super::bpf::{self, ProgramAttributes, RAW_TRACEPOINT};
use super::object::KERNEL_TYPES;
use std::fs;

const CAP_SYS_ADMIN: u64 = 1 << 21;
const CAP_PERFMON: u64 = 1 << 38;
const CAP_BPF: u64 = 1 << 39;
const RIGHTS: &str = "the eBPF engine needs CAP_BPF and CAP_PERFMON, for instance as root";

/// Whether the engine can work here; if not, why. Takes well under a millisecond.
pub fn available() -> Result<(), String> {
    PROGRAM.map_err(str::to_owned)?;
    let capabilities = crate::proc::capabilities("self", "CapEff").unwrap_or(0);
    let has = |capability| capabilities & (capability | CAP_SYS_ADMIN) != 0;
    if !has(CAP_BPF) || !has(CAP_PERFMON) {
        return Err(RIGHTS.to_owned());
    }
    if !fs::exists(KERNEL_TYPES).unwrap_or(false) {
        return Err("the kernel does not describe its types: /sys/kernel/btf/vmlinux is missing \
                    (CONFIG_DEBUG_INFO_BTF)"
            .to_owned());
    }
    let lockdown = fs::read_to_string("/sys/kernel/security/lockdown").unwrap_or_default();
    if lockdown.contains("[confidentiality]") {
        return Err("the kernel is locked down to confidentiality: no program may read its memory"
            .to_owned());
    }
    load_smallest_program()
}

/// Loads a program that calls the newest helpers which the real one needs. That tells whether
/// bpf(2) is there, allowed (containers often forbid it to root, too) and new enough.
fn load_smallest_program() -> Result<(), String> {
    const MOVE_R1_R0: u64 = 0x01bf;
    const ZERO_R0: u64 = 0x00b7;
    const EXIT: u64 = 0x0095;
    let call = |helper: u64| 0x0085 | helper << 32;
    // bpf_task_pt_regs(bpf_get_current_task_btf())
    let code = [call(158), MOVE_R1_R0, call(175), ZERO_R0, EXIT];
    let attributes = ProgramAttributes {
        kind: RAW_TRACEPOINT,
        instruction_count: code.len() as u32,
        instructions: code.as_ptr() as u64,
        license: c"Dual MIT/GPL".as_ptr() as u64,
        ..ProgramAttributes::default()
    };
    // SAFETY: the kernel reads the attributes and what they point to, which is there.
    let Err(error) = (unsafe { bpf::open(bpf::Call::LoadProgram, &attributes) }) else {
        return Ok(());
    };
    Err(match error.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => {
            format!("{RIGHTS}; here bpf(2) is not permitted (a container?)")
        }
        Some(libc::ENOSYS) => "this kernel has no bpf(2)".to_owned(),
        Some(libc::EINVAL) => "the eBPF engine needs Linux 5.15 or newer".to_owned(),
        _ => format!("bpf(2) does not work here: {error}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_capabilities_can_be_read() {
        assert!(crate::proc::capabilities("self", "CapEff").is_some());
    }

    #[test]
    fn the_answer_is_yes_or_a_reason() {
        if let Err(reason) = available() {
            assert!(!reason.is_empty());
        }
    }
}
