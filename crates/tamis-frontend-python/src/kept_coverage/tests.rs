use super::*;
use std::fs;

fn covered(lines: &[i64], arcs: &[(i64, i64)]) -> Covered {
    let mut covered = Covered::default();
    if !lines.is_empty() {
        covered.add("a.py", &CoveredLines::Lines(lines.to_vec()));
    }
    if !arcs.is_empty() {
        covered.add("a.py", &CoveredLines::Arcs(arcs.to_vec()));
    }
    covered
}

const SOURCE: &str = "x = 1\n\n\ndef f():\n    return 1\n\n\ndef g():\n    return 2\n";

/// What was covered in the source, after an edit of it.
fn after(kept: Covered, from: &str, to: &str) -> Option<Vec<(i64, Option<i64>)>> {
    after_in(SOURCE, kept, from, to)
}

fn after_in(source: &str, kept: Covered, from: &str, to: &str) -> Option<Vec<(i64, Option<i64>)>> {
    assert!(source.contains(from), "{from}");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.py");
    fs::write(&file, source).unwrap();
    let measurement = Measurement::new("s".into(), &[]);
    let sources = Sources::new(folder.path());
    let kept = KeptCover::new(&sources, &measurement, kept, true, BTreeSet::new()).unwrap();
    let kept: KeptCover = tamis_wire::from_bytes(&kept.to_bytes().unwrap()).unwrap();
    fs::write(&file, source.replacen(from, to, 1)).unwrap();
    let sources = Sources::new(folder.path());
    let mut found = Covered::default();
    kept.add_to(&sources, &mut found).ok()?;
    found.0.remove("a.py").map(|found| found.into_iter().collect())
}

#[test]
fn lines_move_with_what_stands_above_them() {
    let lines = |lines: &[i64]| Some(lines.iter().map(|line| (*line, None)).collect::<Vec<_>>());
    assert_eq!(after(covered(&[5, 9], &[]), "x = 1", "x = 1"), lines(&[5, 9]));
    assert_eq!(after(covered(&[9], &[]), "return 1", "y = 1\n    return y"), lines(&[10]));
    assert_eq!(after(covered(&[5, 9], &[]), "return 1", "y = 1\n    return y"), None);
    // A module that changed is one that nothing is added to where its own lines count.
    assert_eq!(after(covered(&[5], &[]), "x = 1", "# a\nx = 2"), lines(&[6]));
    assert_eq!(after(covered(&[1, 5], &[]), "x = 1", "# a\nx = 2"), None);
}

#[test]
fn borders_of_code_move_too() {
    let arcs = [(-4, 5), (5, -4)];
    let moved = vec![(-5, Some(6)), (6, Some(-5))];
    assert_eq!(after(covered(&[], &arcs), "def f", "# a\ndef f"), Some(moved));
    let function = "def h():\n    return 3\n";
    let arcs = [(-1, 2), (2, -1)];
    let moved = vec![(-2, Some(3)), (3, Some(-2))];
    assert_eq!(after_in(function, covered(&[], &arcs), "def h", "# a\ndef h"), Some(moved));
    // Whether line one is the module's border or that of a lambda in it is not known.
    let module = [(-1, 1), (1, -1)];
    let same = vec![(-1, Some(1)), (1, Some(-1))];
    assert_eq!(after(covered(&[], &module), "\n\n\ndef f", "\n\n\n\ndef f"), Some(same));
    assert_eq!(after(covered(&[], &module), "x = 1", "# a\nx = 1"), None);
}

#[test]
fn what_was_written_by_another_version_is_none() {
    let measurement = Measurement::new("s".into(), &["t".into()]);
    let folder = tempfile::tempdir().unwrap();
    let sources = Sources::new(folder.path());
    let kept = KeptCover::new(&sources, &measurement, Covered::default(), true, BTreeSet::new());
    let bytes = kept.unwrap().to_bytes().unwrap();
    assert!(tamis_wire::from_bytes::<KeptCover>(&bytes[..1]).is_err());
    // A file that is gone can be neither kept nor found.
    assert!(
        KeptCover::new(&sources, &measurement, covered(&[1], &[]), true, BTreeSet::new()).is_none()
    );
}
