//! From a patched place to [`crate::call::called`] and back.
//!
//! A place that is patched jumps to a piece of code of its own, which puts the call's number in
//! `rax` and the place behind the `syscall` in `rcx`, and jumps here. Like the kernel, this changes
//! `rax`, `rcx` and `r11` only; the red zone below the stack pointer is left alone, too.

use core::arch::global_asm;

unsafe extern "C" {
    fn tamis_patch_enter();
}

pub(crate) fn address() -> u64 {
    tamis_patch_enter as *const () as u64
}

global_asm!(
    ".globl tamis_patch_enter",
    ".hidden tamis_patch_enter",
    "tamis_patch_enter:",
    "  lea rsp, [rsp - 128]",
    "  push rbp",
    "  mov rbp, rsp",
    "  and rsp, -16",
    "  sub rsp, 320",
    "  mov [rsp], rax",
    "  mov [rsp + 8], rdi",
    "  mov [rsp + 16], rsi",
    "  mov [rsp + 24], rdx",
    "  mov [rsp + 32], r10",
    "  mov [rsp + 40], r8",
    "  mov [rsp + 48], r9",
    "  mov [rsp + 56], rcx",
    "  movups [rsp + 64], xmm0",
    "  movups [rsp + 80], xmm1",
    "  movups [rsp + 96], xmm2",
    "  movups [rsp + 112], xmm3",
    "  movups [rsp + 128], xmm4",
    "  movups [rsp + 144], xmm5",
    "  movups [rsp + 160], xmm6",
    "  movups [rsp + 176], xmm7",
    "  movups [rsp + 192], xmm8",
    "  movups [rsp + 208], xmm9",
    "  movups [rsp + 224], xmm10",
    "  movups [rsp + 240], xmm11",
    "  movups [rsp + 256], xmm12",
    "  movups [rsp + 272], xmm13",
    "  movups [rsp + 288], xmm14",
    "  movups [rsp + 304], xmm15",
    "  mov rdi, rsp",
    "  call {called}",
    "  mov rdi, [rsp + 8]",
    "  mov rsi, [rsp + 16]",
    "  mov rdx, [rsp + 24]",
    "  mov r10, [rsp + 32]",
    "  mov r8, [rsp + 40]",
    "  mov r9, [rsp + 48]",
    "  mov rcx, [rsp + 56]",
    "  movups xmm0, [rsp + 64]",
    "  movups xmm1, [rsp + 80]",
    "  movups xmm2, [rsp + 96]",
    "  movups xmm3, [rsp + 112]",
    "  movups xmm4, [rsp + 128]",
    "  movups xmm5, [rsp + 144]",
    "  movups xmm6, [rsp + 160]",
    "  movups xmm7, [rsp + 176]",
    "  movups xmm8, [rsp + 192]",
    "  movups xmm9, [rsp + 208]",
    "  movups xmm10, [rsp + 224]",
    "  movups xmm11, [rsp + 240]",
    "  movups xmm12, [rsp + 256]",
    "  movups xmm13, [rsp + 272]",
    "  movups xmm14, [rsp + 288]",
    "  movups xmm15, [rsp + 304]",
    "  mov rsp, rbp",
    "  pop rbp",
    "  lea rsp, [rsp + 128]",
    "  jmp rcx",
    called = sym crate::call::called,
);
