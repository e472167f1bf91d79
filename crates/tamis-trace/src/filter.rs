//! The seccomp filter: which calls stop the process and come to us.
//!
//! Classic BPF, written by hand. Calls that are always allowed are answered by the kernel from a
//! bitmap without running the filter at all. Calls of a foreign architecture all come to us: they
//! cannot be decoded, and the run is marked so.

use crate::syscalls::{self, NATIVE_ARCHITECTURE, Watch, X32};
use std::io;

/// A filter, built before the fork and installed after it.
#[derive(Debug, Clone)]
pub(crate) struct Filter {
    verdict: Verdict,
    program: Vec<libc::sock_filter>,
    handoff: i32,
}

pub(crate) struct Installed {
    pub(crate) listener: Option<i32>,
    pub(crate) no_new_privileges: bool,
}

const RETURN_ALLOW: u32 = 0x7fff_0000;
const RETURN_NOTIFY: u32 = 0x7fc0_0000;
const RETURN_TRACE: u32 = 0x7ff0_0000;

/// What a watched call is turned into.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    Notify,
    Trace,
}

/// Calls that pass when they come from one place.
#[derive(Debug, Clone)]
pub(crate) struct Exemption {
    /// The address behind the instruction that makes the call.
    pub(crate) instruction_pointer: u64,
    pub(crate) numbers: Vec<i64>,
}

impl Filter {
    pub(crate) fn new(verdict: Verdict, watch_stdin: bool) -> Self {
        let handoff = handoff_number();
        Self { verdict, program: assemble(verdict, watch_stdin, handoff, None), handoff }
    }

    /// Notifies of all but some calls from one place.
    pub(crate) fn with_exemption(watch_stdin: bool, exemption: &Exemption) -> Self {
        let handoff = handoff_number();
        let program = assemble(Verdict::Notify, watch_stdin, handoff, Some(exemption));
        Self { verdict: Verdict::Notify, program, handoff }
    }

    /// The descriptor number on which `sendmsg` passes, so that the listener can be handed over.
    pub(crate) fn handoff(&self) -> i32 {
        self.handoff
    }

    /// Installs the filter in this process; for notifications, asks for a listener. Safe between
    /// fork and exec.
    pub(crate) fn install(&self) -> Result<Installed, i32> {
        let new_listener = 1 << 3;
        // Without it a signal would restart calls for ever in a program that is sent many (Go).
        let wait_killable = 1 << 5;
        // Speculation mitigations that seccomp brings along would slow the test down.
        let allow_speculation = 1 << 2;
        let (base, optional) = match self.verdict {
            Verdict::Notify => (new_listener | allow_speculation, wait_killable),
            Verdict::Trace => (allow_speculation, 0),
        };
        let mut no_new_privileges = false;
        let mut flags = base | optional;
        loop {
            match self.load(flags) {
                Ok(listener) => {
                    let listener = (self.verdict == Verdict::Notify).then_some(listener);
                    return Ok(Installed { listener, no_new_privileges });
                }
                Err(libc::EACCES) if !no_new_privileges => {
                    set_no_new_privileges()?;
                    no_new_privileges = true;
                }
                Err(libc::EINVAL) if flags != base => flags = base,
                Err(errno) => return Err(errno),
            }
        }
    }

    fn load(&self, flags: libc::c_ulong) -> Result<i32, i32> {
        let program = libc::sock_fprog {
            len: self.program.len() as u16,
            filter: self.program.as_ptr().cast_mut(),
        };
        // SAFETY: the program outlives the call; the kernel checks it.
        let done = unsafe {
            libc::syscall(
                libc::SYS_seccomp,
                libc::SECCOMP_SET_MODE_FILTER,
                flags,
                &raw const program,
            )
        };
        if done >= 0 { Ok(done as i32) } else { Err(errno()) }
    }
}

fn errno() -> i32 {
    io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO)
}

fn set_no_new_privileges() -> Result<(), i32> {
    // SAFETY: sets a flag of this process.
    match unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) } {
        0 => Ok(()),
        _ => Err(errno()),
    }
}

/// High enough that no program meets it by chance.
fn handoff_number() -> i32 {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: fills plain data.
    unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) };
    (limit.rlim_cur as i64).clamp(16, 1022) as i32 - 1
}

fn statement(code: u32, k: u32) -> libc::sock_filter {
    libc::sock_filter { code: code as u16, jt: 0, jf: 0, k }
}

fn jump(condition: u32, k: u32, jt: u8, jf: u8) -> libc::sock_filter {
    libc::sock_filter { code: (libc::BPF_JMP | condition | libc::BPF_K) as u16, jt, jf, k }
}

fn load(offset: u32) -> libc::sock_filter {
    statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, offset)
}

fn ret(value: u32) -> libc::sock_filter {
    statement(libc::BPF_RET | libc::BPF_K, value)
}

/// Offset of the low half of an argument in `seccomp_data`.
fn argument_low(n: u32) -> u32 {
    16 + 8 * n
}

/// Offset of the low half of the instruction pointer.
const INSTRUCTION_POINTER: u32 = 8;

fn assemble(
    verdict: Verdict,
    watch_stdin: bool,
    handoff: i32,
    exemption: Option<&Exemption>,
) -> Vec<libc::sock_filter> {
    let (catch, first) = match verdict {
        Verdict::Notify if exemption.is_some() => (RETURN_NOTIFY, syscalls::watched_when_patched()),
        Verdict::Notify => (RETURN_NOTIFY, [].as_slice()),
        Verdict::Trace => (RETURN_TRACE, syscalls::watched_when_traced()),
    };
    let exempt = |number: i64| exemption.filter(|e| e.numbers.contains(&number));
    let mut code = vec![
        load(4),
        jump(libc::BPF_JEQ, NATIVE_ARCHITECTURE, 1, 0),
        ret(catch),
        load(0),
        // x32 numbers (an ABI of its own) cannot be decoded either. -1 is no call at all: a tracer
        // inside made none of it.
        jump(libc::BPF_JGE, X32, 0, 3),
        jump(libc::BPF_JEQ, u32::MAX, 0, 1),
        ret(RETURN_ALLOW),
        ret(catch),
    ];
    for (number, watch) in first.iter().chain(syscalls::watched()) {
        let body = match watch {
            Watch::Always => match exempt(*number) {
                Some(exemption) => vec![
                    load(INSTRUCTION_POINTER),
                    jump(libc::BPF_JEQ, exemption.instruction_pointer as u32, 0, 3),
                    load(INSTRUCTION_POINTER + 4),
                    jump(libc::BPF_JEQ, (exemption.instruction_pointer >> 32) as u32, 0, 1),
                    ret(RETURN_ALLOW),
                    ret(catch),
                ],
                None => vec![ret(catch)],
            },
            Watch::Equals { argument, value } => vec![
                load(argument_low(*argument)),
                jump(libc::BPF_JEQ, *value, 0, 1),
                ret(catch),
                ret(RETURN_ALLOW),
            ],
            Watch::OneOf { argument, values } => {
                let mut body = vec![load(argument_low(*argument))];
                for (n, value) in values.iter().enumerate() {
                    body.push(jump(libc::BPF_JEQ, *value, (values.len() - n) as u8, 0));
                }
                body.extend([ret(RETURN_ALLOW), ret(catch)]);
                body
            }
            Watch::FlagSet { argument, mask } => vec![
                load(argument_low(*argument)),
                jump(libc::BPF_JSET, *mask, 0, 1),
                ret(catch),
                ret(RETURN_ALLOW),
            ],
            Watch::PointerGiven { argument } => vec![
                load(argument_low(*argument)),
                jump(libc::BPF_JEQ, 0, 0, 2),
                load(argument_low(*argument) + 4),
                jump(libc::BPF_JEQ, 0, 1, 0),
                ret(catch),
                ret(RETURN_ALLOW),
            ],
            Watch::MessageSent => vec![
                load(argument_low(0)),
                jump(libc::BPF_JEQ, handoff as u32, 1, 0),
                ret(catch),
                ret(RETURN_ALLOW),
            ],
            Watch::StandardInput { argument } => {
                if !watch_stdin {
                    continue;
                }
                vec![
                    load(argument_low(*argument)),
                    jump(libc::BPF_JEQ, 0, 0, 1),
                    ret(catch),
                    ret(RETURN_ALLOW),
                ]
            }
        };
        code.push(jump(libc::BPF_JEQ, *number as u32, 0, body.len() as u8));
        code.extend(body);
    }
    code.push(ret(RETURN_ALLOW));
    code
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs the filter as the kernel would.
    fn interpret(code: &[libc::sock_filter], arch: u32, number: u32, args: [u64; 6]) -> u32 {
        interpret_at(code, arch, number, args, 0)
    }

    fn interpret_at(
        code: &[libc::sock_filter],
        arch: u32,
        number: u32,
        args: [u64; 6],
        instruction_pointer: u64,
    ) -> u32 {
        let mut data = Vec::new();
        data.extend(number.to_ne_bytes());
        data.extend(arch.to_ne_bytes());
        data.extend(instruction_pointer.to_ne_bytes());
        for a in args {
            data.extend(a.to_ne_bytes());
        }
        let (mut at, mut acc) = (0, 0);
        loop {
            let i = &code[at];
            at += 1;
            let op = u32::from(i.code);
            if op == libc::BPF_LD | libc::BPF_W | libc::BPF_ABS {
                let k = i.k as usize;
                acc = u32::from_ne_bytes(data[k..k + 4].try_into().unwrap());
            } else if op == libc::BPF_RET | libc::BPF_K {
                return i.k;
            } else {
                let yes = match op & 0xf0 {
                    c if c == libc::BPF_JEQ => acc == i.k,
                    c if c == libc::BPF_JGE => acc >= i.k,
                    c if c == libc::BPF_JSET => acc & i.k != 0,
                    other => panic!("unexpected jump {other:#x}"),
                };
                at += usize::from(if yes { i.jt } else { i.jf });
            }
        }
    }

    fn verdict(number: i64, args: [u64; 6], stdin: bool) -> u32 {
        let code = assemble(Verdict::Notify, stdin, 1021, None);
        interpret(&code, NATIVE_ARCHITECTURE, number as u32, args)
    }

    #[test]
    fn file_calls_are_caught_and_others_pass() {
        assert_eq!(verdict(libc::SYS_openat, [0; 6], false), RETURN_NOTIFY);
        assert_eq!(verdict(libc::SYS_execve, [0; 6], false), RETURN_NOTIFY);
        assert_eq!(verdict(libc::SYS_write, [0; 6], false), RETURN_ALLOW);
        assert_eq!(verdict(libc::SYS_mmap, [0; 6], false), RETURN_ALLOW);
    }

    #[test]
    fn foreign_calls_are_caught() {
        let code = assemble(Verdict::Notify, false, 1021, None);
        assert_eq!(interpret(&code, 0x4000_0003, 4, [0; 6]), RETURN_NOTIFY);
        assert_eq!(interpret(&code, NATIVE_ARCHITECTURE, X32 + 1, [0; 6]), RETURN_NOTIFY);
        assert_eq!(interpret(&code, NATIVE_ARCHITECTURE, u32::MAX, [0; 6]), RETURN_ALLOW);
    }

    #[test]
    fn arguments_are_looked_at() {
        let newns = libc::CLONE_NEWNS as u64;
        assert_eq!(verdict(libc::SYS_unshare, [newns, 0, 0, 0, 0, 0], false), RETURN_NOTIFY);
        assert_eq!(verdict(libc::SYS_unshare, [0; 6], false), RETURN_ALLOW);
        assert_eq!(verdict(libc::SYS_sendto, [3, 0, 0, 0, 0, 0], false), RETURN_ALLOW);
        assert_eq!(verdict(libc::SYS_sendto, [3, 0, 0, 0, 8, 0], false), RETURN_NOTIFY);
        assert_eq!(verdict(libc::SYS_sendto, [3, 0, 0, 0, 1 << 40, 0], false), RETURN_NOTIFY);
        assert_eq!(verdict(libc::SYS_sendmsg, [1021, 0, 0, 0, 0, 0], false), RETURN_ALLOW);
        assert_eq!(verdict(libc::SYS_sendmsg, [4, 0, 0, 0, 0, 0], false), RETURN_NOTIFY);
    }

    #[test]
    fn standard_input_is_watched_only_when_asked() {
        assert_eq!(verdict(libc::SYS_read, [0; 6], false), RETURN_ALLOW);
        assert_eq!(verdict(libc::SYS_read, [0; 6], true), RETURN_NOTIFY);
        assert_eq!(verdict(libc::SYS_read, [5, 0, 0, 0, 0, 0], true), RETURN_ALLOW);
    }

    #[test]
    fn the_tracer_s_own_reading_of_the_table_agrees_with_the_filter() {
        let ones = [1 << 3 | 0x8002_0000, 1 << 3 | 0x8082_0000, 1, 1, 1, 1];
        for number in 0..500 {
            for args in [[0; 6], ones] {
                for stdin in [false, true] {
                    let code = assemble(Verdict::Trace, stdin, 1021, None);
                    let filter = interpret(&code, NATIVE_ARCHITECTURE, number as u32, args);
                    let read = syscalls::watches_traced(number, &args, stdin);
                    assert_eq!(filter == RETURN_TRACE, read, "{number} {args:?} {stdin}");
                }
            }
        }
    }

    #[test]
    fn only_some_calls_from_one_place_pass() {
        let exemption = Exemption {
            instruction_pointer: 0x5123_4567_8002,
            numbers: vec![libc::SYS_newfstatat, libc::SYS_openat],
        };
        let code = assemble(Verdict::Notify, false, 1021, Some(&exemption));
        let verdict =
            |number: i64, at| interpret_at(&code, NATIVE_ARCHITECTURE, number as u32, [0; 6], at);
        for number in exemption.numbers.iter().copied() {
            assert_eq!(verdict(number, 0x5123_4567_8002), RETURN_ALLOW);
            for other in [0, 0x5123_4567_8000, 0x4567_8002, 0x5124_4567_8002, 0x5123_4567_8012] {
                assert_eq!(verdict(number, other), RETURN_NOTIFY);
            }
        }
        assert_eq!(verdict(libc::SYS_unlink, 0x5123_4567_8002), RETURN_NOTIFY);
        assert_eq!(verdict(libc::SYS_getpid, 0), RETURN_ALLOW);
    }

    #[test]
    fn filters_of_the_test_s_own_are_heard_of_where_calls_are_patched() {
        let exemption = Exemption { instruction_pointer: 2, numbers: Vec::new() };
        let code = assemble(Verdict::Notify, false, 1021, Some(&exemption));
        let verdict = |number: i64, first| {
            interpret(&code, NATIVE_ARCHITECTURE, number as u32, [first, 0, 0, 0, 0, 0])
        };
        assert_eq!(verdict(libc::SYS_seccomp, 1), RETURN_NOTIFY);
        assert_eq!(verdict(libc::SYS_prctl, libc::PR_SET_SECCOMP as u64), RETURN_NOTIFY);
        assert_eq!(verdict(libc::SYS_prctl, libc::PR_SET_NAME as u64), RETURN_ALLOW);
    }

    #[test]
    fn the_program_fits() {
        assert!(assemble(Verdict::Notify, true, 1021, None).len() < 4096);
    }
}
