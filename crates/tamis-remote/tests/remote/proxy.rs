//! A proxy before the server that fails in the ways in which servers and networks do.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

#[derive(Debug, Clone, Copy)]
pub(crate) enum Fault {
    None,
    /// An answer of the server's instead of the real one.
    Status(u16),
    /// Nothing is heard any more.
    Silence,
    /// The connection ends after so many bytes of the request.
    CutRequest(usize),
    /// The request arrives, and its answer does not.
    CutAnswer,
    Slow,
}

pub(crate) struct Proxy {
    pub(crate) port: u16,
    stop: Arc<AtomicBool>,
    pub(crate) faults: Arc<AtomicU64>,
}

impl Proxy {
    /// Each connection gets the next fault.
    pub(crate) fn start(server: u16, next: impl Fn() -> Fault + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let (stop, faults) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let (stopped, counted) = (Arc::clone(&stop), Arc::clone(&faults));
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                if stopped.load(Ordering::Relaxed) {
                    return;
                }
                let fault = next();
                if !matches!(fault, Fault::None) {
                    counted.fetch_add(1, Ordering::Relaxed);
                }
                std::thread::spawn(move || serve(client, server, fault));
            }
        });
        Self { port, stop, faults }
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let _ = TcpStream::connect(("127.0.0.1", self.port));
    }
}

fn serve(mut client: TcpStream, server: u16, fault: Fault) {
    match fault {
        Fault::Silence => return std::thread::sleep(Duration::from_secs(6)),
        Fault::Status(status) => {
            let mut some = [0; 4096];
            let _ = client.read(&mut some);
            let answer =
                format!("HTTP/1.1 {status} X\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
            let _ = client.write_all(answer.as_bytes());
            return;
        }
        Fault::Slow => std::thread::sleep(Duration::from_millis(300)),
        _ => {}
    }
    let Ok(mut upstream) = TcpStream::connect(("127.0.0.1", server)) else { return };
    let (Ok(mut from_server), Ok(mut to_client)) = (upstream.try_clone(), client.try_clone())
    else {
        return;
    };
    let answers = std::thread::spawn(move || {
        if matches!(fault, Fault::CutAnswer) {
            let mut some = [0; 1];
            let _ = from_server.read(&mut some);
        } else {
            let _ = std::io::copy(&mut from_server, &mut to_client);
        }
        let _ = to_client.shutdown(Shutdown::Both);
    });
    let _ = match fault {
        Fault::CutRequest(bytes) => {
            std::io::copy(&mut (&mut client).take(bytes as u64), &mut upstream)
        }
        _ => std::io::copy(&mut client, &mut upstream),
    };
    let _ = upstream.shutdown(Shutdown::Both);
    let _ = client.shutdown(Shutdown::Both);
    let _ = answers.join();
}
