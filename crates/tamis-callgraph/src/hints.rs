//! What names and descriptors alone say about calls into code that cannot be read.

use crate::descriptor;

/// Types whose objects are handed over to be run, and the method that runs them.
pub(crate) const RUN: [(&[u8], &[u8], &[u8]); 6] = [
    (b"java/lang/Runnable", b"run", b"()V"),
    (b"java/util/concurrent/Callable", b"call", b"()Ljava/lang/Object;"),
    (b"java/security/PrivilegedAction", b"run", b"()Ljava/lang/Object;"),
    (b"java/security/PrivilegedExceptionAction", b"run", b"()Ljava/lang/Object;"),
    (b"org/junit/jupiter/api/function/Executable", b"execute", b"()V"),
    (b"org/junit/jupiter/api/function/ThrowingConsumer", b"accept", b"(Ljava/lang/Object;)V"),
];

/// How newer compilers ask for the text of a part of a concatenation.
const VALUE_OF: &[u8] = b"(Ljava/lang/Object;)Ljava/lang/String;";

/// What the name and descriptor of a method say about calls of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Hints {
    /// May be given something to run.
    pub(crate) runs: bool,
    /// Gives out a field by its name.
    pub(crate) opens: bool,
    /// May make objects by reflection.
    pub(crate) makes: bool,
    /// May look for the providers of a service.
    pub(crate) serves: bool,
}

impl Hints {
    pub(crate) fn of(name: &[u8], descriptor: &[u8]) -> Self {
        let starts = matches!(name, b"start" | b"start0") && descriptor == b"()V";
        let given = descriptor::parameter_types(descriptor)
            .any(|text| RUN.iter().any(|r| r.0 == descriptor::plain(text)));
        let opens = matches!(
            name,
            b"objectFieldOffset"
                | b"findVarHandle"
                | b"findStaticVarHandle"
                | b"newUpdater"
                | b"staticFieldOffset"
        );
        let tells = name == b"valueOf" && descriptor == VALUE_OF;
        Self {
            runs: starts || given || tells || name == b"newProxyInstance",
            opens,
            makes: name == b"newInstance",
            serves: matches!(name, b"load" | b"loadInstalled"),
        }
    }
}
