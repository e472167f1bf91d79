//! Which code of the project ran in the open window.
//!
//! From 3.12 on by sys.monitoring with two tools. The first one is called for every code object once in its life,
//! and asks Python whether it is the project's. The second one is called for starts and resumptions of the project's code
//! only. A code object that runs often in one window is switched off until the next, so that what is called a million
//! times costs as usual. Code that is not the project's costs nothing after its first call.
//!
//! On 3.11 by a function in the place of the interpreter's evaluation of a frame (PEP 523). It makes calls from
//! Python to Python deeper in C: where somebody sets a higher limit of recursion, it takes itself away, and
//! `is_watching` says so.
//!
//! All that is here is used with the GIL held.

use crate::python::*;
use crate::table::Map;
use std::cell::{Cell, RefCell};
use std::ffi::{c_int, c_long, c_void};

/// So often in one window, and then not again until the next. Switching off and on again costs as much as some hundred calls:
/// the interpreter goes through all instructions of the code each time.
const OFTEN: u32 = 500;
/// Above it the stack of C could be too small for frames that the interpreter does not put in one.
const DEEPEST: c_int = 3000;
const STARTS: c_long = 1;
const RESUMES: c_long = 2;

#[derive(Debug, Clone, Copy)]
struct Code {
    /// The number that Python gave it; `None` for code that is not the project's.
    number: Option<u32>,
    window: u32,
    count: u32,
}

#[derive(Debug, Default)]
struct Watching {
    codes: Map<Code>,
    window: u32,
    ran: Vec<u32>,
    off: Vec<usize>,
    tools: Option<Tools>,
    know: Option<Strong>,
    /// Code that ran while Python was asked about other code.
    pending: Vec<Strong>,
    /// Recursion got deeper than frames in C may be.
    gave_up: bool,
}

#[derive(Debug)]
struct Tools {
    set_local_events: Strong,
    disable: Strong,
    all: Strong,
    nothing: Strong,
    local: Strong,
}

/// Only touched while the GIL is held, and never over a call into the interpreter.
struct Held(RefCell<Option<Watching>>);
// SAFETY: the GIL is held by whoever comes here.
unsafe impl Sync for Held {}
static WATCHING: Held = Held(RefCell::new(None));

thread_local! {
    static ASKS: Cell<bool> = const { Cell::new(false) };
}

fn with<T>(work: impl FnOnce(&mut Watching) -> T) -> Option<T> {
    WATCHING.0.try_borrow_mut().ok()?.as_mut().map(work)
}

/// Notes that code ran; what is to be done about it then.
enum Next {
    Nothing,
    Ask,
    SwitchOff,
}

fn note(code: Obj) -> Next {
    let noted = with(|watching| {
        let Some(known) = watching.codes.get_mut(&(code as usize)) else { return Next::Ask };
        let Some(number) = known.number else { return Next::Nothing };
        if known.window != watching.window {
            known.window = watching.window;
            known.count = 0;
            watching.ran.push(number);
        }
        known.count += 1;
        if known.count >= OFTEN { Next::SwitchOff } else { Next::Nothing }
    });
    noted.unwrap_or(Next::Nothing)
}

/// Asks Python whose code this is, and notes that it ran. Code that runs for the first time while Python is asked
/// is asked about after it.
unsafe fn ask(code: Obj) {
    if ASKS.get() {
        // SAFETY: it runs just now.
        let code = unsafe { Strong::borrowed(code) };
        with(|watching| watching.pending.push(code));
        return;
    }
    ASKS.set(true);
    // SAFETY: as the caller says; what waits is held.
    unsafe {
        ask_about(code);
        while let Some(next) = with(|watching| watching.pending.pop()).flatten() {
            if matches!(note(next.get()), Next::Ask) {
                ask_about(next.get());
            }
        }
    }
    ASKS.set(false);
}

unsafe fn ask_about(code: Obj) {
    let know = with(|watching| watching.know.as_ref().map(Strong::get)).flatten();
    // SAFETY: the function is kept until the end, and keeps the code.
    let answer = know.and_then(|know| unsafe { call(know, &[code]) });
    let number = answer.filter(|answer| !is_none(answer.get())).map(|answer| {
        // SAFETY: an object; what is no number is an error, which is cleared.
        let number = unsafe { PyLong_AsLong(answer.get()) };
        // SAFETY: the GIL is held.
        unsafe { PyErr_Clear() };
        number.max(0) as u32
    });
    with(|watching| {
        watching.codes.insert(code as usize, Code { number, window: u32::MAX, count: 0 });
    });
    if number.is_some() {
        // SAFETY: as above.
        unsafe { set_events(code, true) };
        note(code);
    }
}

unsafe fn set_events(code: Obj, on: bool) {
    let words = with(|watching| {
        let tools = watching.tools.as_ref()?;
        let events = if on { tools.all.get() } else { tools.nothing.get() };
        Some((tools.set_local_events.get(), tools.local.get(), events))
    });
    if let Some((function, tool, events)) = words.flatten() {
        // SAFETY: these objects are kept until the end; an error means that the event stays as it is.
        drop(unsafe { call(function, &[tool, code, events]) });
    }
}

/// A code object runs for the first time.
pub(crate) unsafe extern "C" fn first(_: Obj, arguments: *const Obj, count: isize) -> Obj {
    if count < 1 {
        return none();
    }
    // SAFETY: as many arguments as `count` says.
    let code = unsafe { *arguments };
    if matches!(note(code), Next::Ask) {
        // SAFETY: the interpreter's own argument.
        unsafe { ask(code) };
    }
    let disable = with(|w| w.tools.as_ref().map(|tools| tools.disable.get())).flatten();
    match disable {
        // SAFETY: kept until the end.
        Some(disable) if count == 2 => unsafe { Strong::borrowed(disable) }.into_raw(),
        _ => none(),
    }
}

/// Code of the project runs.
pub(crate) unsafe extern "C" fn again(_: Obj, arguments: *const Obj, count: isize) -> Obj {
    if count < 1 {
        return none();
    }
    // SAFETY: as many arguments as `count` says.
    let code = unsafe { *arguments };
    if matches!(note(code), Next::SwitchOff) {
        with(|watching| watching.off.push(code as usize));
        // SAFETY: the interpreter's own argument.
        unsafe { set_events(code, false) };
    }
    none()
}

/// `begin(know, set_local_events, tool, disable)` or, on 3.11, `begin(know)`: whether it watches now.
pub(crate) unsafe extern "C" fn begin(_: Obj, arguments: *const Obj, count: isize) -> Obj {
    // SAFETY: as many arguments as `count` says; all are objects.
    let given = |n: usize| unsafe { Strong::borrowed(*arguments.add(n)) };
    let number = |n: c_long| {
        // SAFETY: a small number.
        unsafe { Strong::owned(PyLong_FromLong(n)) }
    };
    let mut watching = Watching::default();
    if count == 4 {
        let (Some(all), Some(nothing)) = (number(STARTS | RESUMES), number(0)) else {
            return raise(c"no memory");
        };
        let tools =
            Tools { set_local_events: given(1), local: given(2), disable: given(3), all, nothing };
        watching.tools = Some(tools);
    } else if count != 1 {
        return raise(c"begin takes one or four arguments");
    }
    watching.know = Some(given(0));
    *WATCHING.0.borrow_mut() = Some(watching);
    // SAFETY: the GIL is held.
    let works = count == 4 || unsafe { frames::install() };
    // SAFETY: a small number.
    unsafe { PyLong_FromLong(works.into()) }
}

/// A new window; the numbers of the code that ran in the last one, as the bits of bytes.
pub(crate) unsafe extern "C" fn border(_: Obj, _: *const Obj, _: isize) -> Obj {
    let taken = with(|watching| {
        watching.window = watching.window.wrapping_add(1);
        (std::mem::take(&mut watching.ran), std::mem::take(&mut watching.off))
    });
    let (ran, off) = taken.unwrap_or_default();
    for code in off {
        // SAFETY: Python keeps all code that it was asked about.
        unsafe { set_events(code as Obj, true) };
    }
    let mut bits = vec![0_u8; ran.iter().max().map_or(0, |most| *most as usize / 8 + 1)];
    for number in ran {
        if let Some(byte) = bits.get_mut(number as usize / 8) {
            *byte |= 1 << (number % 8);
        }
    }
    // SAFETY: as many bytes as it has.
    unsafe { PyBytes_FromStringAndSize(bits.as_ptr().cast(), bits.len() as isize) }
}

/// Whether nothing took its place. (3.11; from 3.12 on Python looks at the tools.)
pub(crate) unsafe extern "C" fn is_watching(_: Obj, _: *const Obj, _: isize) -> Obj {
    let gave_up = with(|watching| watching.gave_up).unwrap_or(true);
    let by_tools = with(|watching| watching.tools.is_some()).unwrap_or(false);
    // SAFETY: the GIL is held.
    let there = by_tools || unsafe { frames::is_installed() };
    // SAFETY: a small number.
    unsafe { PyLong_FromLong((there && !gave_up).into()) }
}

pub(crate) unsafe extern "C" fn stop(_: Obj, _: *const Obj, _: isize) -> Obj {
    // SAFETY: the GIL is held.
    unsafe { frames::remove() };
    none()
}

/// The evaluation of frames on 3.11.
mod frames {
    use super::*;

    type Eval = unsafe extern "C" fn(*mut c_void, *mut c_void, c_int) -> Obj;
    type Get = unsafe extern "C" fn(*mut c_void) -> Option<Eval>;
    type SetEval = unsafe extern "C" fn(*mut c_void, Eval);

    /// Where a frame of 3.11 has its code.
    const CODE: usize = 32;
    static mut DEFAULT: Option<Eval> = None;
    static mut HIGHEST: c_int = 0;

    fn functions() -> Option<(Get, SetEval, Eval)> {
        let get = symbol(c"_PyInterpreterState_GetEvalFrameFunc")?;
        let set = symbol(c"_PyInterpreterState_SetEvalFrameFunc")?;
        let default = symbol(c"_PyEval_EvalFrameDefault")?;
        // SAFETY: these have had these types since 3.9; only 3.11 comes here.
        Some(unsafe {
            (
                std::mem::transmute::<*mut c_void, Get>(get),
                std::mem::transmute::<*mut c_void, SetEval>(set),
                std::mem::transmute::<*mut c_void, Eval>(default),
            )
        })
    }

    /// Only where nothing else evaluates frames.
    pub(super) unsafe fn install() -> bool {
        let Some((get, set, default)) = functions() else { return false };
        // SAFETY: with the GIL, in the interpreter that runs.
        unsafe {
            let interpreter = PyInterpreterState_Get();
            if get(interpreter).is_none_or(|now| !std::ptr::fn_addr_eq(now, default)) {
                return false;
            }
            DEFAULT = Some(default);
            HIGHEST = Py_GetRecursionLimit().max(DEEPEST);
            set(interpreter, evaluate);
        }
        true
    }

    pub(super) unsafe fn is_installed() -> bool {
        let Some((get, _, _)) = functions() else { return false };
        // SAFETY: with the GIL.
        unsafe {
            get(PyInterpreterState_Get())
                .is_some_and(|now| std::ptr::fn_addr_eq(now, evaluate as Eval))
        }
    }

    pub(super) unsafe fn remove() {
        let Some((_, set, default)) = functions() else { return };
        // SAFETY: with the GIL.
        unsafe {
            if is_installed() {
                set(PyInterpreterState_Get(), default);
            }
        }
    }

    unsafe extern "C" fn evaluate(thread: *mut c_void, frame: *mut c_void, throws: c_int) -> Obj {
        // SAFETY: the layout of 3.11, which `layout.rs` checked before this was installed.
        unsafe {
            let code = *frame.cast::<u8>().add(CODE).cast::<Obj>();
            if matches!(note(code), Next::Ask) {
                let mut kind = std::ptr::null_mut();
                let mut value = std::ptr::null_mut();
                let mut trace = std::ptr::null_mut();
                PyErr_Fetch(&raw mut kind, &raw mut value, &raw mut trace);
                ask(code);
                PyErr_Restore(kind, value, trace);
            }
            if Py_GetRecursionLimit() > HIGHEST {
                remove();
                with(|watching| watching.gave_up = true);
            }
            match DEFAULT {
                Some(default) => default(thread, frame, throws),
                None => std::ptr::null_mut(),
            }
        }
    }
}
