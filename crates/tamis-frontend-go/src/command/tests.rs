use super::*;

fn at(goflags: &str) -> Surroundings {
    let variables = [("GOFLAGS", goflags), ("GOENV", "off")];
    Surroundings::new("/p", variables.map(|(n, v)| (n.into(), v.into())))
}

fn words(text: &str) -> Vec<OsString> {
    text.split(' ').filter(|w| !w.is_empty()).map(OsString::from).collect()
}

fn test_of(text: &str) -> GoTest {
    with_goflags("", text)
}

fn with_goflags(goflags: &str, text: &str) -> GoTest {
    match claim(&words(text), &at(goflags)) {
        Claim::Packages(test) => test,
        other => panic!("{text}: {other:?}"),
    }
}

fn why(text: &str) -> String {
    match claim(&words(text), &at("")) {
        Claim::Whole { why } => why,
        other => panic!("{text}: {other:?}"),
    }
}

fn command(text: &str, packages: &[&str]) -> String {
    let packages: Vec<String> = packages.iter().map(|p| (*p).to_owned()).collect();
    let shim = ["/s/tamis".to_owned(), "shim".to_owned()];
    let words = test_of(text).command(&packages, &shim).unwrap();
    words.iter().map(|w| w.to_str().unwrap()).collect::<Vec<_>>().join("|")
}

#[test]
fn only_go_test_is_claimed() {
    for text in [
        "go",
        "go vet ./...",
        "go build",
        "go -x test",
        "mvn test",
        "gofmt test",
        "go tool test",
        "go list",
        "env go test",
        "go -C test",
        "gopls test",
        "go1 test",
    ] {
        assert_eq!(claim(&words(text), &at("")), Claim::Other, "{text}");
    }
    assert_eq!(claim(&[], &at("")), Claim::Other);
    for text in [
        "go test",
        "/usr/local/go/bin/go test ./...",
        "go1.22.3 test",
        "go -C d test",
        "go test -C d",
    ] {
        assert!(matches!(claim(&words(text), &at("")), Claim::Packages(_)), "{text}");
    }
}

#[test]
fn packages_are_the_first_run_of_plain_words() {
    for (text, expected) in [
        ("go test", vec![]),
        ("go test -v", vec![]),
        ("go test ./...", vec!["./..."]),
        ("go test -v ./a ./b -race", vec!["./a", "./b"]),
        ("go test -run X ./a", vec!["./a"]),
        ("go test -run=X ./a -v ./b", vec!["./a"]),
        ("go test ./a -run X", vec!["./a"]),
        ("go test ./a -- ./b", vec!["./a"]),
        ("go test -- ./b", vec![]),
        ("go test ./a -args ./b", vec!["./a"]),
        ("go test -args ./b", vec![]),
        ("go test ./a -custom ./b", vec!["./a"]),
        ("go test -custom=1 x", vec![]),
        ("go test -custom x", vec![]),
        ("go test -short all", vec!["all"]),
        ("go test -tags a,b ex.org/m/...", vec!["ex.org/m/..."]),
        ("go test -count 1 . ./sub", vec![".", "./sub"]),
        ("go test -timeout 30s -p 4 -parallel 2 ./...", vec!["./..."]),
        ("go test -C dir -v ./...", vec!["./..."]),
        ("go test -test.v ./...", vec!["./..."]),
        ("go test -test.run X ./...", vec!["./..."]),
        ("go test -json -cover -covermode atomic ./...", vec!["./..."]),
    ] {
        assert_eq!(test_of(text).packages(), expected, "{text}");
    }
}

#[test]
fn words_of_the_test_binary() {
    for (text, expected) in [
        ("go test ./a -run X", vec!["-test.run=X"]),
        ("go test -v ./a", vec!["-test.v=true"]),
        ("go test ./a -custom x -short", vec!["-custom", "x", "-test.short=true"]),
        ("go test ./a -custom=1 x -short", vec!["-custom=1", "x", "-short"]),
        ("go test ./a -args -v -run y", vec!["-v", "-run", "y"]),
        ("go test ./a -- -v", vec!["--", "-v"]),
        ("go test ./a -v b -run y", vec!["-test.v=true", "b", "-run", "y"]),
        ("go test -race -tags x ./a", vec![]),
    ] {
        assert_eq!(test_of(text).test_words, expected, "{text}");
    }
}

#[test]
fn commands_that_run_as_one() {
    for (text, part) in [
        ("go test -exec x ./...", "-exec"),
        ("go test -c ./a", "-c "),
        ("go test -o /dev/null ./a", "-o "),
        ("go test -n ./a", "-n "),
        ("go test -x ./a", "-x "),
        ("go test -work ./a", "work folder"),
        ("go test -coverprofile=c.out ./...", "one file"),
        ("go test -test.coverprofile=c.out ./...", "one file"),
        ("go test -coverpkg ./... ./a", "-coverpkg"),
        ("go test -fuzz Fuzz ./a", "-fuzz"),
        ("go test -cpuprofile p ./a", "profile"),
        ("go test -memprofile p ./a", "profile"),
        ("go test -mutexprofile p ./a", "profile"),
        ("go test -blockprofile p ./a", "profile"),
        ("go test -trace t ./a", "profile"),
        ("go test -artifacts ./a", "-artifacts"),
        ("go test -list . ./a", "lists"),
        ("go test -overlay o.json ./a", "-overlay"),
        ("go test -toolexec t ./a", "-toolexec"),
        ("go test -compiler gccgo ./a", "compiler"),
        ("go test -linkshared ./a", "-linkshared"),
        ("go test -v -C d ./a", "first flag"),
        ("go -C d test -C e ./a", "first flag"),
        ("go test a.go a_test.go", "files"),
        ("go test std", "std"),
        ("go test ex.org/m@v1.0.0", "version"),
        ("go test -h", "help"),
        ("go test ./a -run", "needs a value"),
        ("go test -short=perhaps ./a", "boolean"),
        ("go test -custom ./...", "does not know"),
    ] {
        let why = why(text);
        assert!(why.contains(part), "{text}: {why}");
    }
}

#[test]
fn a_switch_that_is_off_asks_for_nothing() {
    for text in [
        "go test -c=false ./a",
        "go test -coverprofile= ./a",
        "go test -fuzz= ./a",
        "go test -x=0 ./a",
    ] {
        assert_eq!(test_of(text).packages(), ["./a"], "{text}");
    }
}

#[test]
fn goflags_count_and_the_command_line_overrules_them() {
    let test = with_goflags("-tags=a -race -run=X", "go test -tags b -run Y ./a");
    assert_eq!(test.build_flag("tags"), Some("b"));
    assert_eq!(test.build_flag("race"), Some("true"));
    assert!(test.test_defaults.is_empty());
    let test = with_goflags("-run=X '-ldflags=-s -w'", "go test ./a");
    assert_eq!(test.test_flag("run").as_deref(), Some("X"));
    assert_eq!(test.build_flag("ldflags"), Some("-s -w"));
    assert!(test.for_list.is_empty(), "go list reads GOFLAGS itself");
}

#[test]
fn goflags_that_make_one_command_of_it() {
    for goflags in ["-exec=x", "-c", "-coverprofile=x", "'-tags=a", "-toolexec=t", "-short=x"] {
        let claimed = claim(&words("go test ./a"), &at(goflags));
        assert!(matches!(claimed, Claim::Whole { .. }), "{goflags}: {claimed:?}");
    }
    // A flag of another go command.
    assert_eq!(with_goflags("-insecure -m", "go test ./a").packages(), ["./a"]);
}

#[test]
fn flags_are_facts() {
    let test_flags = |text| test_of(text).test_flags();
    let build_flags = |text| test_of(text).build_flags();
    let plain = "go test ./a";
    for text in [
        "go test -run X ./a",
        "go test -v ./a",
        "go test ./a -args x",
        "go test -json ./a",
        "go test -count=2 ./a",
    ] {
        assert_ne!(test_flags(text), test_flags(plain), "{text}");
        assert_eq!(build_flags(text), build_flags(plain), "{text}");
    }
    for text in [
        "go test -race ./a",
        "go test -cover ./a",
        "go test -gcflags=-N ./a",
        "go test -vet=off ./a",
    ] {
        assert_eq!(test_flags(text), test_flags(plain), "{text}");
        assert_ne!(build_flags(text), build_flags(plain), "{text}");
    }
    for text in ["go test -p 3 ./a", "go test -a ./a", "go test ./b"] {
        assert_eq!(test_flags(text), test_flags(plain), "{text}");
        assert_eq!(build_flags(text), build_flags(plain), "{text}");
    }
    assert_eq!(with_goflags("-race", plain).build_flags(), build_flags("go test -race ./a"));
    assert_ne!(
        build_flags("go test -gcflags=-N -gcflags=-l ./a"),
        build_flags("go test -gcflags=-l ./a")
    );
}

#[test]
fn what_go_list_is_asked() {
    let test = test_of("go -C d test -race -tags a,b -run X -vet=off ./a -mod=mod -v");
    assert_eq!(test.ask("list"), ["list", "-C=d", "-race", "-tags", "a,b", "-mod=mod"]);
    assert_eq!(test.ask("env"), ["env", "-C=d"]);
    assert_eq!(test.folder(Path::new("/p")), Path::new("/p/d"));
}

#[test]
fn the_command_for_some_packages() {
    for (text, packages, expected) in [
        (
            "go test -v ./... -run X",
            &["m/a", "m/b"][..],
            "go|test|-exec=/s/tamis shim|-v|m/a|m/b|-run|X",
        ),
        ("go -C d test ./...", &["m/a"], "go|-C|d|test|-exec=/s/tamis shim|m/a"),
        ("go test -C d -v ./...", &["m/a"], "go|test|-C|d|-exec=/s/tamis shim|-v|m/a"),
        ("go test -v", &["m"], "go|test|-exec=/s/tamis shim|-v"),
        ("go test", &["m"], "go|test|-exec=/s/tamis shim"),
        ("go test ./a -args ./b", &["m/a"], "go|test|-exec=/s/tamis shim|m/a|-args|./b"),
        ("go test -custom x", &["m"], "go|test|-exec=/s/tamis shim|-custom|x"),
    ] {
        assert_eq!(command(text, packages), expected, "{text}");
    }
}

#[test]
fn a_shim_in_a_folder_with_blanks() {
    let test = test_of("go test ./a");
    let words = test.command(&["m/a".into()], &["/a b/tamis".into(), "shim".into()]).unwrap();
    assert_eq!(words[2], "-exec='/a b/tamis' shim");
    assert_eq!(test.command(&[], &["/a 'b' \"c\"".into()]), None);
}

#[test]
fn runs_that_are_never_skipped() {
    assert!(test_of("go test -bench . ./a").always_runs().is_some());
    assert!(test_of("go test -shuffle=on ./a").always_runs().is_some());
    assert!(with_goflags("-shuffle=on", "go test ./a").always_runs().is_some());
    assert!(with_goflags("-shuffle=on", "go test -shuffle off ./a").always_runs().is_none());
    assert!(test_of("go test -shuffle=7 -count=1 ./a").always_runs().is_none());
    assert!(test_of("go test -bench= ./a").always_runs().is_none());
    assert!(test_of("go test -buildvcs ./a").always_runs().is_some());
    assert!(test_of("go test -buildvcs=auto ./a").always_runs().is_none());
}

#[test]
fn nothing_selected_is_no_command() {
    let shim = ["/s/tamis".to_owned()];
    assert_eq!(test_of("go test ./...").command(&[], &shim), None);
    assert!(test_of("go test").command(&[], &shim).is_some());
}

#[test]
fn patterns_as_go_list_repeats_them() {
    for (pattern, expected) in [
        ("./a/", "./a"),
        ("././a", "./a"),
        ("./", "."),
        (".", "."),
        ("..", ".."),
        ("../x/", "../x"),
        ("./../x", "./../x"),
        ("./a/../b", "./b"),
        ("./...", "./..."),
        ("a//b", "a/b"),
        ("/p/./a/", "/p/a"),
        ("ex.org/m/...", "ex.org/m/..."),
    ] {
        assert_eq!(clean(pattern), expected);
    }
}
