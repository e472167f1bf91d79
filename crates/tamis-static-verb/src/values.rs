//! What the static selection finds, as values of `tamis_report::json`.

use tamis_report::json::static_graph::{
    ChangeDetail, ChangedType, PathStep, SelectedTest, SelectionReason, TypeChange,
};
use tamis_select_static::diff::Change;
use tamis_select_static::{Changed, Reason, Step, TestDecision};

pub(crate) fn selected(decision: TestDecision) -> SelectedTest {
    SelectedTest { name: decision.name, run: decision.run.map(reason) }
}

fn reason(reason: Reason) -> SelectionReason {
    let of = |reason| SelectionReason { reason, ..SelectionReason::default() };
    match reason {
        Reason::New => of("new"),
        Reason::Requested => of("requested"),
        Reason::DidNotPass => of("did-not-pass"),
        Reason::Reaches { path, change } => SelectionReason {
            path: Some(path.into_iter().map(step).collect()),
            change: Some(type_change(change)),
            ..of("reaches")
        },
        Reason::Environment => of("environment"),
        Reason::Configuration => of("configuration"),
        Reason::Unknown { why } => SelectionReason { why: Some(why), ..of("unknown") },
        Reason::OtherRules => of("other-rules"),
    }
}

fn step(step: Step) -> PathStep {
    PathStep { name: step.name, by: step.by }
}

pub(crate) fn changed(changed: Changed) -> ChangedType {
    ChangedType { name: changed.name, change: type_change(changed.change) }
}

fn type_change(change: Change) -> TypeChange {
    let (change, detail) = match change {
        Change::Added => ("added", None),
        Change::Removed => ("removed", None),
        Change::Header(methods) => ("header", Some(ChangeDetail::Methods(methods))),
        Change::Methods(methods) => ("methods", Some(ChangeDetail::Methods(methods))),
        Change::Overridden => ("overridden", None),
        Change::OnlyOrder => ("only-order", None),
        Change::OnlyDebug => ("only-debug", None),
        Change::Content => ("content", None),
        Change::Unreadable(why) => ("unreadable", Some(ChangeDetail::Why(why))),
    };
    TypeChange { change, detail }
}
