//! Places of the JDK and of test frameworks where any code can put something for any other.
//!
//! One test calls what puts something there, another one calls what gets it out, and neither is connected
//! with the other by a field or a call of the project. Both are known by the methods that their code names:
//! a test that ran code which names a *setter* of a shelf is a maker for every later test of the JVM that
//! runs code which names an *asker*, or uses a class of a library that names the type. All that the maker ran
//! counts, since what was put there can have come from anywhere.
//!
//! What is not seen here: a library or the JDK that sets such a thing by itself. System properties, the
//! default locale and time zone, the standard streams and what belongs to threads are looked at by the agent
//! ([`globals`](crate::globals)).

/// One bit per shelf.
pub(crate) type Shelves = u32;

/// Beginnings of names of a class and of its methods.
type Pattern = (&'static str, &'static [&'static str]);

struct Shelf {
    sets: &'static [Pattern],
    asks: &'static [Pattern],
    /// Whole names of classes and methods that ask for nothing of this, although `asks` says so. Of a
    /// library's class it is not known which methods it calls.
    but: &'static [Pattern],
}

const ANY: &[&str] = &[""];

const NONE: &[Pattern] = &[];

/// Addresses as texts and numbers: nothing is opened, and no proxy, cookie or key is asked for.
const NAMES_ALONE: &[Pattern] = &[
    (
        "java/net/URL",
        &[
            "<init>",
            "equals",
            "getAuthority",
            "getDefaultPort",
            "getFile",
            "getHost",
            "getPath",
            "getPort",
            "getProtocol",
            "getQuery",
            "getRef",
            "getUserInfo",
            "hashCode",
            "of",
            "sameFile",
            "toExternalForm",
            "toString",
            "toURI",
        ],
    ),
    ("java/net/BindException", ANY),
    ("java/net/ConnectException", ANY),
    ("java/net/HttpCookie", ANY),
    ("java/net/IDN", ANY),
    ("java/net/Inet4Address", ANY),
    ("java/net/Inet6Address", ANY),
    ("java/net/InetAddress", ANY),
    ("java/net/InetSocketAddress", ANY),
    ("java/net/MalformedURLException", ANY),
    ("java/net/NoRouteToHostException", ANY),
    ("java/net/ProtocolException", ANY),
    ("java/net/Proxy", ANY),
    ("java/net/Proxy$Type", ANY),
    ("java/net/SocketException", ANY),
    ("java/net/SocketTimeoutException", ANY),
    ("java/net/URI", ANY),
    ("java/net/URISyntaxException", ANY),
    ("java/net/URLDecoder", ANY),
    ("java/net/URLEncoder", ANY),
    ("java/net/UnknownHostException", ANY),
];

const SHELVES: &[Shelf] = &[
    // What a test framework keeps from test class to test class.
    Shelf {
        sets: &[
            (
                "org/junit/jupiter/api/extension/ExtensionContext$Store",
                &["put", "getOr", "compute"],
            ),
            ("org/junit/platform/engine/support/store/", &["put", "getOr", "compute"]),
            ("org/testng/", &["setAttribute"]),
        ],
        asks: &[
            ("org/junit/jupiter/api/extension/ExtensionContext$Store", ANY),
            ("org/junit/platform/engine/support/store/", ANY),
            ("org/testng/", &["getAttribute", "removeAttribute"]),
        ],
        but: NONE,
    },
    Shelf {
        sets: &[
            ("java/util/logging/Log", &["set", "add", "remove", "reset", "read", "update"]),
            ("java/util/logging/", &["set"]),
        ],
        asks: &[("java/util/logging/", ANY)],
        but: NONE,
    },
    Shelf {
        sets: &[
            ("java/security/Security", &["set", "add", "insert", "remove"]),
            ("java/security/Provider", &["put", "set", "remove", "clear"]),
        ],
        asks: &[("java/security/", ANY), ("javax/crypto/", ANY), ("javax/net/", ANY)],
        but: NONE,
    },
    Shelf {
        sets: &[(
            "javax/management/MBeanServer",
            &["register", "create", "unregister", "set", "add", "invoke"],
        )],
        asks: &[("javax/management/", ANY), ("java/lang/management/", ANY)],
        but: NONE,
    },
    Shelf {
        sets: &[("java/sql/DriverManager", &["register", "deregister", "set"])],
        asks: &[("java/sql/", ANY), ("javax/sql/", ANY)],
        but: NONE,
    },
    // Whoever opens an address can meet any of these.
    Shelf {
        sets: &[
            ("java/net/ProxySelector", &["setDefault"]),
            ("java/net/Authenticator", &["setDefault"]),
            ("java/net/CookieHandler", &["setDefault"]),
            ("java/net/CookieStore", &["add", "remove"]),
            ("java/net/ResponseCache", &["setDefault"]),
            ("java/net/URLConnection", &["setContentHandler", "setFileNameMap", "setDefault"]),
            (
                "java/net/HttpURLConnection",
                &["setFollowRedirects", "setContentHandler", "setFileNameMap", "setDefault"],
            ),
            ("java/net/Socket", &["setSocketImplFactory"]),
            ("java/net/ServerSocket", &["setSocketFactory"]),
            ("javax/net/ssl/", &["setDefault"]),
        ],
        asks: &[("java/net/", ANY), ("javax/net/", ANY)],
        but: NAMES_ALONE,
    },
    // How an address is read and written.
    Shelf {
        sets: &[("java/net/URL", &["setURLStream"])],
        asks: &[("java/net/", ANY), ("javax/net/", ANY)],
        but: NONE,
    },
    Shelf { sets: &[("java/beans/", ANY)], asks: &[("java/beans/", ANY)], but: NONE },
    Shelf {
        sets: &[("java/util/ResourceBundle", ANY), ("java/util/spi/ResourceBundle", ANY)],
        asks: &[("java/util/ResourceBundle", ANY)],
        but: NONE,
    },
    Shelf {
        sets: &[("java/util/prefs/", &["put", "remove", "clear", "import", "node"])],
        asks: &[("java/util/prefs/", ANY)],
        but: NONE,
    },
    // Threads that somebody finds by looking for them.
    Shelf {
        sets: &[
            ("java/lang/Thread", &["start", "set"]),
            ("java/lang/ThreadGroup", &["<init>", "set"]),
            ("java/util/Timer", &["<init>"]),
            ("java/util/concurrent/", &["execute", "submit", "schedule", "invoke", "start"]),
        ],
        asks: &[
            (
                "java/lang/Thread",
                &["enumerate", "getAllStackTraces", "activeCount", "getThreadGroup"],
            ),
            ("java/lang/ThreadGroup", ANY),
            ("java/lang/management/Thread", ANY),
        ],
        but: NONE,
    },
    Shelf {
        sets: &[(
            "java/lang/ClassLoader",
            &["setDefaultAssertion", "setPackageAssertion", "setClassAssertion", "clearAssertion"],
        )],
        asks: &[("java/lang/Class", &["desiredAssertionStatus"])],
        but: NONE,
    },
    // Objects of the JDK that stand for something outside of the heap, or for a class.
    Shelf {
        sets: &[
            ("sun/misc/Unsafe", &["put", "set", "copy", "compareAnd", "getAnd"]),
            ("java/lang/foreign/", ANY),
        ],
        asks: &[("sun/misc/Unsafe", &["get", "copy"]), ("java/lang/foreign/", ANY)],
        but: NONE,
    },
    Shelf {
        sets: &[
            ("java/rmi/", &["bind", "rebind", "export", "create"]),
            ("javax/naming/", &["bind", "rebind", "set", "create"]),
        ],
        asks: &[("java/rmi/", ANY), ("javax/naming/", ANY)],
        but: NONE,
    },
];

/// The shelves that a call of this method puts something on.
pub(crate) fn set_by(class: &[u8], method: &[u8]) -> Shelves {
    find(|shelf| shelf.sets, class, Some(method))
}

/// The shelves that a call of this method can get something from.
pub(crate) fn asked_by(class: &[u8], method: &[u8]) -> Shelves {
    let is_it = |&(owner, names): &Pattern| {
        class == owner.as_bytes()
            && (names == ANY || names.iter().any(|name| method == name.as_bytes()))
    };
    let nothing = SHELVES.iter().enumerate().filter(|(_, shelf)| shelf.but.iter().any(is_it));
    let nothing = nothing.fold(0, |all, (bit, _)| all | 1 << bit);
    find(|shelf| shelf.asks, class, Some(method)) & !nothing
}

/// The shelves that a class which uses this one can get something from.
pub(crate) fn asked_with(class: &[u8]) -> Shelves {
    find(|shelf| shelf.asks, class, None)
}

fn find(
    side: impl Fn(&Shelf) -> &'static [Pattern],
    class: &[u8],
    method: Option<&[u8]>,
) -> Shelves {
    let is_it = |&(owner, names): &Pattern| {
        class.starts_with(owner.as_bytes())
            && match method {
                Some(method) => names.iter().any(|name| method.starts_with(name.as_bytes())),
                // Which of its methods a library calls is not known: only types that are there for this.
                None => names == ANY,
            }
    };
    let bits = SHELVES.iter().enumerate().filter(|(_, shelf)| side(shelf).iter().any(is_it));
    bits.fold(0, |all, (bit, _)| all | 1 << bit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn setters_and_askers_of_a_shelf_meet() {
        for (setter, asker) in [
            (("java/util/logging/Logger", "setLevel"), ("java/util/logging/Logger", "getLevel")),
            (("java/security/Security", "addProvider"), ("javax/crypto/Cipher", "getInstance")),
            (("java/net/ProxySelector", "setDefault"), ("java/net/URL", "openStream")),
            (("java/lang/Thread", "start"), ("java/lang/Thread", "getAllStackTraces")),
        ] {
            let (set, asked) = (
                set_by(setter.0.as_bytes(), setter.1.as_bytes()),
                asked_by(asker.0.as_bytes(), asker.1.as_bytes()),
            );
            assert_ne!(set & asked, 0, "{setter:?} {asker:?}");
        }
    }

    /// One who reads or writes an address meets who changed how that is done, not who changed how
    /// addresses are opened. One who opens it meets both.
    #[test]
    fn addresses_that_are_not_opened_meet_no_proxy() {
        let set = |class: &str, method: &str| set_by(class.as_bytes(), method.as_bytes());
        let asked = |class: &str, method: &str| asked_by(class.as_bytes(), method.as_bytes());
        let opening = set("java/net/Authenticator", "setDefault");
        let reading = set("java/net/URL", "setURLStreamHandlerFactory");
        assert!(opening != 0 && reading != 0 && opening & reading == 0);
        for name in ["<init>", "toExternalForm", "getHost", "toURI"] {
            assert_eq!(asked("java/net/URL", name) & opening, 0, "{name}");
            assert_ne!(asked("java/net/URL", name) & reading, 0, "{name}");
        }
        assert_ne!(asked("java/net/URI", "toURL") & reading, 0);
        assert_eq!(asked("java/net/URLEncoder", "encode") & opening, 0);
        for (class, method) in [
            ("java/net/URL", "openConnection"),
            ("java/net/URL", "openStream"),
            ("java/net/URL", "getContent"),
            ("java/net/URL", "toBeAddedToTheJdk"),
            ("java/net/URLConnection", "<init>"),
            ("java/net/URLClassLoader", "<init>"),
            ("java/net/HttpURLConnection", "getFollowRedirects"),
            ("java/net/Socket", "connect"),
            ("java/net/ProxySelector", "getDefault"),
            ("java/net/http/HttpClient", "send"),
        ] {
            assert_ne!(asked(class, method) & opening, 0, "{class} {method}");
        }
        // Which methods a library calls is not known.
        assert_ne!(asked_with(b"java/net/URL") & opening, 0);
    }

    #[test]
    fn what_only_looks_sets_nothing() {
        assert_eq!(set_by(b"java/util/logging/Logger", b"info"), 0);
        assert_eq!(set_by(b"java/net/URL", b"openStream"), 0);
        assert_eq!(asked_by(b"java/lang/Thread", b"sleep"), 0);
        assert_eq!(asked_with(b"java/lang/Thread"), 0);
        assert_ne!(asked_with(b"java/sql/Connection"), 0);
        assert!(SHELVES.len() <= Shelves::BITS as usize);
    }
}
