//! Logs the read-only file calls of the process that loads it, without leaving the process.
//!
//! tamis preloads this library into programs that use the GNU C library. It replaces the
//! instruction before a `syscall` in that library (`mov $number,%eax`, five bytes) by a jump of
//! the same length. A jump to the `syscall` itself finds it where it was; what is not patched stops
//! at the seccomp filter and is reported from there, so that nothing that goes wrong here can hide
//! a call. The patched call appends a record to a ring that tamis reads, and then makes the call
//! from an address that the filter lets pass.
//!
//! When anything is unusual (a ring that is full, a lock that is taken by a signal's victim, a
//! directory descriptor, a name in /proc, another thread that is changing a file), the call is
//! made in the way that stops at the filter.
//!
//! Nothing of a C library is used: the code runs inside of one, in signal handlers, on small stacks
//! and between fork and exec. Calls leave every register alone that the kernel leaves alone.
//!
//! The library is built by itself, with `--cfg tamis_library`; in the workspace this crate is only
//! checked.

#![no_std]
#![cfg(target_arch = "x86_64")]

mod call;
mod enter;
mod environment;
mod exec;
mod kernel;
pub mod layout;
mod memory;
mod pages;
mod patch;
mod read;
mod ring;
mod start;

pub use start::start;

#[cfg(tamis_library)]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    // There is no panic in this code; better no program than a wrong one.
    // SAFETY: an instruction that ends the process.
    unsafe { core::arch::asm!("ud2", options(noreturn)) }
}

/// glibc calls it with the arguments of `main` before the program starts.
#[cfg(tamis_library)]
#[used]
#[unsafe(link_section = ".init_array")]
static START: unsafe extern "C" fn(i32, *const *const u8, *mut *mut u8) = start;

// What the compiler may call. Hidden: the program must not get them instead of its own.
#[cfg(tamis_library)]
core::arch::global_asm!(
    ".globl memcpy, memmove, memset, memcmp, bcmp",
    ".hidden memcpy, memmove, memset, memcmp, bcmp",
    "memmove:",
    "  cmp rdi, rsi",
    "  jbe memcpy",
    "  mov rax, rdi",
    "  lea rdi, [rdi + rdx - 1]",
    "  lea rsi, [rsi + rdx - 1]",
    "  mov rcx, rdx",
    "  std",
    "  rep movsb",
    "  cld",
    "  ret",
    "memcpy:",
    "  mov rax, rdi",
    "  mov rcx, rdx",
    "  rep movsb",
    "  ret",
    "memset:",
    "  mov r8, rdi",
    "  mov eax, esi",
    "  mov rcx, rdx",
    "  rep stosb",
    "  mov rax, r8",
    "  ret",
    "memcmp:",
    "bcmp:",
    "  xor ecx, ecx",
    "2:",
    "  cmp rcx, rdx",
    "  je 3f",
    "  movzx eax, byte ptr [rdi + rcx]",
    "  movzx r8d, byte ptr [rsi + rcx]",
    "  inc rcx",
    "  sub eax, r8d",
    "  je 2b",
    "  ret",
    "3:",
    "  xor eax, eax",
    "  ret",
);
