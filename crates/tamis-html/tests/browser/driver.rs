//! A browser, by WebDriver: chromedriver on this machine, spoken to in plain HTTP.
//!
//! The crates for this bring an asynchronous runtime and an HTTP stack, some hundred crates; what is needed of the
//! protocol are a dozen requests to a server on loopback.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A browser of its own, with a profile of its own.
pub(crate) struct Browser {
    driver: Child,
    port: u16,
    session: String,
    _profile: tempfile::TempDir,
}

impl Browser {
    pub(crate) fn start() -> Self {
        let mut driver = Command::new("chromedriver")
            .arg("--port=0")
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("chromedriver starts");
        let lines = BufReader::new(driver.stdout.take().expect("its output")).lines();
        let port = lines
            .map_while(Result::ok)
            .find_map(|line| {
                let port = line.split_once("successfully on port ")?.1;
                port.trim_end_matches('.').parse().ok()
            })
            .expect("chromedriver names its port");
        let profile = tempfile::tempdir().expect("a folder");
        let arguments = [
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--disable-dev-shm-usage",
            "--force-device-scale-factor=1",
        ];
        let mut arguments: Vec<String> = arguments.map(str::to_owned).to_vec();
        arguments.push(format!("--user-data-dir={}", profile.path().display()));
        let capabilities = json!({ "capabilities": { "alwaysMatch": {
            "goog:chromeOptions": { "args": arguments },
            "goog:loggingPrefs": { "browser": "ALL" },
        } } });
        let mut browser = Self { driver, port, session: String::new(), _profile: profile };
        let answer = browser.request("POST", "/session", &capabilities);
        browser.session = answer["sessionId"].as_str().expect("a session").to_owned();
        browser
    }

    /// One request; the `value` of its answer. An error of the browser is the test's failure.
    fn request(&self, method: &str, path: &str, body: &Value) -> Value {
        let value = self.send(method, path, body).expect("an answer of chromedriver");
        assert!(value["error"].is_null(), "{method} {path} {body}: {value}");
        value
    }

    fn send(&self, method: &str, path: &str, body: &Value) -> std::io::Result<Value> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port))?;
        stream.set_read_timeout(Some(Duration::from_secs(120)))?;
        let body = if method == "POST" { body.to_string() } else { String::new() };
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\nConnection: close\r\n\r\n",
            self.port,
            body.len()
        );
        stream.write_all((head + &body).as_bytes())?;
        let mut reader = BufReader::new(stream);
        let mut length = 0;
        loop {
            let mut line = String::new();
            reader.read_line(&mut line)?;
            if line.trim().is_empty() {
                break;
            }
            if let Some((name, value)) = line.split_once(':')
                && name.eq_ignore_ascii_case("content-length")
            {
                length = value.trim().parse().unwrap_or(0);
            }
        }
        let mut bytes = vec![0; length];
        reader.read_exact(&mut bytes)?;
        let answer: Value = serde_json::from_slice(&bytes)?;
        Ok(answer["value"].clone())
    }

    fn call(&self, method: &str, what: &str, body: &Value) -> Value {
        self.request(method, &format!("/session/{}/{what}", self.session), body)
    }

    pub(crate) fn open(&self, address: &str) {
        self.call("POST", "url", &json!({ "url": address }));
    }

    /// What a piece of script gives; it may be a promise.
    pub(crate) fn ask(&self, script: &str) -> Value {
        let script = format!("return (async () => {{ {script} }})();");
        self.call("POST", "execute/sync", &json!({ "script": script, "args": [] }))
    }

    pub(crate) fn text(&self, script: &str) -> String {
        self.ask(script).as_str().map(str::to_owned).unwrap_or_default()
    }

    pub(crate) fn number(&self, script: &str) -> f64 {
        self.ask(script).as_f64().unwrap_or(f64::NAN)
    }

    /// Waits until a piece of script is true.
    pub(crate) fn until(&self, script: &str) {
        let began = Instant::now();
        while self.ask(script) != Value::Bool(true) {
            assert!(began.elapsed() < Duration::from_secs(60), "never true: {script}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// As a user would: scrolled to where nothing lies over it.
    pub(crate) fn click(&self, css: &str) {
        self.ask(&format!(
            "document.querySelector({}).scrollIntoView({{ block: 'center' }});",
            json!(css)
        ));
        let element =
            self.call("POST", "element", &json!({ "using": "css selector", "value": css }));
        let id = element.as_object().and_then(|o| o.values().next()).and_then(Value::as_str);
        self.call("POST", &format!("element/{}/click", id.expect("an element")), &json!({}));
    }

    /// Keys to what has the focus; WebDriver's characters for special ones.
    pub(crate) fn keys(&self, text: &str) {
        let press = |c: char| {
            [json!({ "type": "keyDown", "value": c }), json!({ "type": "keyUp", "value": c })]
        };
        let actions: Vec<Value> = text.chars().flat_map(press).collect();
        let body = json!({ "actions": [{ "type": "key", "id": "k", "actions": actions }] });
        self.call("POST", "actions", &body);
    }

    pub(crate) fn size(&self, width: u32, height: u32) {
        self.chrome(
            "Emulation.setDeviceMetricsOverride",
            json!({
                "width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600,
            }),
        );
    }

    /// Light or dark, as the system has it; on screen or paper.
    pub(crate) fn media(&self, scheme: &str, media: &str) {
        let features = json!([{ "name": "prefers-color-scheme", "value": scheme }]);
        self.chrome("Emulation.setEmulatedMedia", json!({ "media": media, "features": features }));
    }

    fn chrome(&self, command: &str, parameters: Value) {
        self.call("POST", "goog/cdp/execute", &json!({ "cmd": command, "params": parameters }));
    }

    /// What the console has shown since the last look, warnings and errors.
    pub(crate) fn complaints(&self) -> Vec<String> {
        let log = self.call("POST", "se/log", &json!({ "type": "browser" }));
        let entries = log.as_array().cloned().unwrap_or_default();
        let severe =
            entries.iter().filter(|entry| entry["level"] != "INFO" && entry["level"] != "DEBUG");
        severe.map(|entry| entry["message"].as_str().unwrap_or_default().to_owned()).collect()
    }

    /// A picture, where somebody wants to look: `TAMIS_PICTURES=DIR`.
    pub(crate) fn picture(&self, name: &str) {
        use base64::Engine as _;
        let Some(folder) = std::env::var_os("TAMIS_PICTURES") else { return };
        let picture = self.call("GET", "screenshot", &Value::Null);
        let bytes =
            base64::engine::general_purpose::STANDARD.decode(picture.as_str().unwrap_or_default());
        let file = std::path::PathBuf::from(folder).join(format!("{name}.png"));
        std::fs::write(file, bytes.expect("base64")).expect("a picture");
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // Also after a failure: else the browser would stay.
        if !self.session.is_empty() {
            let _ = self.send("DELETE", &format!("/session/{}", self.session), &Value::Null);
        }
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}
