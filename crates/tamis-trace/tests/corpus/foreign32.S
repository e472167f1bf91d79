/* A whole 32-bit program without a library: access("/etc/hostname"), exit. */
    .globl _start
_start:
    movl $33, %eax
    movl $name, %ebx
    xorl %ecx, %ecx
    int $0x80
    movl $1, %eax
    xorl %ebx, %ebx
    int $0x80
name:
    .asciz "/etc/hostname"
