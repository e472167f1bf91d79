//! The methods of test runners and build tools that are hooked, known by name and descriptor.
//!
//! Where a runner of its own kind overrides or implements a method of a framework, the method has
//! the framework's types in its descriptor, so most hooks do not ask for the class.

use tamis_classfile::rewrite::Argument;

pub(crate) const HOOKS: &str = "java/lang/TamisHooks";
pub(crate) const LAUNCHER: &str = "java/lang/TamisLauncher";
const ANT: &str = "java/lang/TamisAnt";
const COVERAGE: &str = "java/lang/TamisCoverage";
const MAVEN: &str = "java/lang/TamisMaven";

#[derive(Debug, Clone, Copy)]
pub(crate) enum Hook {
    /// `TamisHooks.enter` and `leave` around the method, with this kind.
    Around(&'static str),
    /// The same for a void method of a runner that may be left at once: what need not run.
    AroundOrLeave(&'static str),
    /// A call at the start of the method.
    AtStart { owner: &'static str, name: &'static str, arguments: &'static [Argument<'static>] },
    /// A call at the start of the method that may put something else in place of its first parameter,
    /// which is of this class.
    Replace { owner: &'static str, name: &'static str, kind: &'static str },
}

fn call(name: &'static str, arguments: &'static [Argument<'static>]) -> Option<Hook> {
    Some(Hook::AtStart { owner: HOOKS, name, arguments })
}

/// Runners of tests.
pub(crate) fn of_tests(class: &[u8], name: &[u8], descriptor: &[u8]) -> Option<Hook> {
    match (name, descriptor) {
        (b"run", b"(Lorg/junit/runner/notification/RunNotifier;)V") => {
            Some(Hook::AroundOrLeave("junit4"))
        }
        (
            b"runChild",
            b"(Lorg/junit/runners/model/FrameworkMethod;Lorg/junit/runner/notification/RunNotifier;)V",
        ) => Some(Hook::AroundOrLeave("junit4-method")),
        (b"run", b"(Ljunit/framework/TestResult;)V") => Some(Hook::AroundOrLeave("junit3")),
        (b"fireTestFailure", b"(Lorg/junit/runner/notification/Failure;)V")
        | (b"addError", b"(Ljunit/framework/Test;Ljava/lang/Throwable;)V")
        | (b"addFailure", b"(Ljunit/framework/Test;Ljunit/framework/AssertionFailedError;)V") => {
            call("failed", &[])
        }
        _ => match class {
            b"org/junit/platform/engine/support/hierarchical/NodeTestTask" => {
                (name == b"execute" && descriptor == b"()V").then_some(Hook::Around("platform"))
            }
            b"org/junit/platform/launcher/core/DefaultLauncher" => (name == b"execute")
                .then_some(Hook::AtStart { owner: LAUNCHER, name: "platformRuns", arguments: &[] }),
            b"org/junit/platform/launcher/core/ExecutionListenerAdapter" => match name {
                b"executionStarted" => Some(Hook::Around("platform-start")),
                b"executionFinished" => call("platformEnds", &[Argument::Local(1)]),
                _ => None,
            },
            b"org/junit/platform/engine/TestExecutionResult" if name == b"<init>" => descriptor
                .starts_with(b"(Lorg/junit/platform/engine/TestExecutionResult$Status;")
                .then(|| call("platformResult", &[Argument::Local(1)]))?,
            b"org/apache/tools/ant/types/CommandlineJava" => {
                (name == b"getCommandline" && descriptor == b"()[Ljava/lang/String;").then_some(
                    Hook::AtStart { owner: ANT, name: "forks", arguments: &[Argument::Local(0)] },
                )
            }
            b"org/apache/tools/ant/taskdefs/optional/junit/JUnitTestRunner"
            | b"org/apache/tools/ant/taskdefs/optional/junitlauncher/LauncherSupport" => {
                (matches!(name, b"run" | b"launch") && descriptor == b"()V")
                    .then_some(Hook::AtStart { owner: ANT, name: "testsBegin", arguments: &[] })
            }
            _ if is_jacoco(class) => match name {
                b"getExecutionData" => of_jacoco("asked"),
                b"collect" | b"reset" => of_jacoco("collects"),
                _ => None,
            },
            _ if is_ant_task(class) => (name == b"execute" && descriptor == b"()V")
                .then_some(Hook::AtStart { owner: ANT, name: "taskBegins", arguments: &[] }),
            b"org/testng/TestRunner" | b"org/testng/SuiteRunner" => match name {
                b"run" if descriptor == b"()V" => Some(Hook::Around("testng")),
                // Which tests it has is known when this returns.
                b"init" if class.ends_with(b"SuiteRunner") => Some(Hook::Around("testng-suite")),
                _ => None,
            },
            b"org/testng/internal/TestMethodWorker"
            | b"org/testng/internal/invokers/TestMethodWorker" => match name {
                b"invokeTestMethods" if descriptor.starts_with(b"(Lorg/testng/ITestNGMethod;") => {
                    Some(Hook::AroundOrLeave("testng-methods"))
                }
                b"invokeAfterClassMethods"
                    if descriptor == b"(Lorg/testng/ITestClass;Lorg/testng/IMethodInstance;)V" =>
                {
                    Some(Hook::Around("testng-after-class"))
                }
                _ => None,
            },
            b"org/junit/runner/JUnitCore" => (name == b"run"
                && descriptor.starts_with(b"(Lorg/junit/runner/Runner;)"))
            .then_some(Hook::AtStart {
                owner: LAUNCHER,
                name: "junit4Batch",
                arguments: &[Argument::Local(1)],
            }),
            b"org/testng/internal/ExitCodeListener" => {
                matches!(name, b"noTestsFound" | b"hasTests").then_some(Hook::AtStart {
                    owner: LAUNCHER,
                    name: "testngFound",
                    arguments: &[Argument::Local(0)],
                })
            }
            b"org/testng/internal/TestResult" => (name == b"setStatus" && descriptor == b"(I)V")
                .then_some(Hook::Around("testng-status")),
            b"org/testng/internal/MethodInvocationHelper"
            | b"org/testng/internal/invokers/MethodInvocationHelper" => {
                let invokes = name == b"invokeMethod"
                    && (descriptor.starts_with(b"(Ljava/lang/reflect/Method;Ljava/lang/Object;")
                        || descriptor.starts_with(
                            b"(Lorg/testng/internal/ConstructorOrMethod;Ljava/lang/Object;",
                        ));
                invokes.then(|| call("testngInvokes", &[Argument::Local(0), Argument::Local(1)]))?
            }
            _ => None,
        },
    }
}

/// Whether a class can have a method with a hook of [`of_tests`]: it names the types in question.
pub(crate) fn may_be_in_tests(class: &[u8], file: &[u8]) -> bool {
    const NAMED: [&[u8]; 2] = [b"org/junit/runner/notification/", b"junit/framework/Test"];
    class.starts_with(b"org/junit/")
        || class.starts_with(b"org/testng/")
        || NAMED.iter().any(|name| file.windows(name.len()).any(|w| w == *name))
}

/// Where JaCoCo keeps what it counts; its agent has it in a package of each version's own.
fn is_jacoco(class: &[u8]) -> bool {
    class.starts_with(b"org/jacoco/") && class.ends_with(b"/core/runtime/RuntimeData")
}

fn of_jacoco(name: &'static str) -> Option<Hook> {
    Some(Hook::AtStart { owner: COVERAGE, name, arguments: &[Argument::Local(0)] })
}

/// Ant's tasks that run tests.
fn is_ant_task(class: &[u8]) -> bool {
    class.strip_prefix(b"org/apache/tools/ant/taskdefs/optional/junit").is_some_and(|rest| {
        matches!(
            rest,
            b"/JUnitTask" | b"launcher/JUnitLauncherTask" | b"launcher/confined/JUnitLauncherTask"
        )
    })
}

/// Whether a class of a build tool has a method with a hook, by its name alone.
pub(crate) fn in_build(class: &[u8]) -> bool {
    class == b"org/apache/maven/plugin/DefaultBuildPluginManager"
        || class.ends_with(b"/AbstractSurefireMojo")
        || (class.starts_with(b"org/apache/maven/") && class.ends_with(b"/DefaultScanResult"))
}

/// Build tools.
pub(crate) fn of_build(class: &[u8], name: &[u8], descriptor: &[u8]) -> Option<Hook> {
    match (name, descriptor) {
        (
            b"executeMojo",
            b"(Lorg/apache/maven/execution/MavenSession;Lorg/apache/maven/plugin/MojoExecution;)V",
        ) => Some(Hook::Around("maven-execution")),
        (b"execute", b"()V") if class.ends_with(b"/AbstractSurefireMojo") => {
            Some(Hook::Around("maven-goal"))
        }
        (b"<init>", b"(Ljava/util/List;)V") if class.ends_with(b"/DefaultScanResult") => {
            Some(Hook::AtStart { owner: MAVEN, name: "scanned", arguments: &[Argument::Local(1)] })
        }
        _ => None,
    }
}
