//! The connection to a receiver: TCP, and TLS over it.

use std::fs;
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::net::{IpAddr, TcpStream, ToSocketAddrs as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use crate::error::Error;
use crate::wire::{self, FrameError, FrameHeader};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Until a receiver takes more: it may be waiting for its disk.
const WRITE_TIMEOUT: Duration = Duration::from_secs(60);

/// Address of the receiver, and how both sides authenticate.
#[derive(Clone, Debug, Default)]
pub struct ReceiverConfig {
    /// Its name or address.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// The name in its certificate, if that is not the host.
    pub server_name: Option<String>,
    /// The certificates that may have signed its own, in PEM; without them there is no TLS.
    pub ca: Option<PathBuf>,
    /// The forwarder's certificate and its key, in PEM.
    pub identity: Option<(PathBuf, PathBuf)>,
}

/// Makes connections to a receiver.
#[derive(Debug)]
pub struct Connector {
    host: String,
    port: u16,
    tls: Option<(Arc<ClientConfig>, ServerName<'static>)>,
}

impl Connector {
    /// Reads certificates.
    ///
    /// # Errors
    /// If they cannot be used, or are missing and the receiver is another machine.
    pub fn new(receiver: &ReceiverConfig) -> Result<Self, Error> {
        let ReceiverConfig {
            host,
            port,
            server_name,
            ca,
            identity,
        } = receiver;
        let tls = match ca {
            Some(ca) => {
                let name = server_name.as_ref().unwrap_or(host).clone();
                let name = ServerName::try_from(name.clone())
                    .map_err(|_| Error::Usage(format!("{name} cannot be the name of a server")))?;
                Some((Arc::new(config(ca, identity.as_ref())?), name))
            }
            None if is_loopback(host) && identity.is_none() => None,
            None => {
                return Err(Error::Usage(
                    "a remote receiver requires TLS; specify --ca".to_owned(),
                ));
            }
        };
        Ok(Self {
            host: host.clone(),
            port: *port,
            tls,
        })
    }

    /// Connects.
    ///
    /// # Errors
    /// If no address of the receiver answers.
    pub fn connect(&self) -> io::Result<Connection> {
        let mut last = io::Error::new(ErrorKind::NotFound, "the receiver has no address");
        for address in (self.host.as_str(), self.port).to_socket_addrs()? {
            match TcpStream::connect_timeout(&address, CONNECT_TIMEOUT) {
                Ok(stream) => return self.wrap(stream),
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    fn wrap(&self, stream: TcpStream) -> io::Result<Connection> {
        stream.set_nodelay(true)?;
        stream.set_write_timeout(Some(WRITE_TIMEOUT))?;
        stream.set_read_timeout(Some(WRITE_TIMEOUT))?;
        let stream = match &self.tls {
            None => Stream::Plain(stream),
            Some((config, name)) => {
                let client = ClientConnection::new(Arc::clone(config), name.clone())
                    .map_err(io::Error::other)?;
                Stream::Tls(Box::new(StreamOwned::new(client, stream)))
            }
        };
        Ok(Connection {
            stream,
            input: Vec::new(),
            used: 0,
        })
    }
}

/// Whether a host is this machine, whatever names mean.
fn is_loopback(host: &str) -> bool {
    host == "localhost"
        || host
            .parse::<IpAddr>()
            .is_ok_and(|address| address.is_loopback())
}

fn config(ca: &Path, identity: Option<&(PathBuf, PathBuf)>) -> Result<ClientConfig, Error> {
    let unusable = |path: &Path, reason: &dyn std::fmt::Display| Error::File {
        path: path.to_owned(),
        reason: format!("{reason}; expected a PEM file"),
    };
    let mut roots = RootCertStore::empty();
    for certificate in certificates(ca)? {
        roots
            .add(certificate)
            .map_err(|error| unusable(ca, &error))?;
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| Error::Usage(error.to_string()))?
        .with_root_certificates(roots);
    match identity {
        None => Ok(builder.with_no_client_auth()),
        Some((certificate, key)) => {
            let chain = certificates(certificate)?;
            let bytes = read(key)?;
            let secret =
                PrivateKeyDer::from_pem_slice(&bytes).map_err(|error| unusable(key, &error))?;
            builder
                .with_client_auth_cert(chain, secret)
                .map_err(|error| unusable(certificate, &error))
        }
    }
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, Error> {
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&read(path)?).collect();
    found
        .ok()
        .filter(|found| !found.is_empty())
        .ok_or_else(|| Error::File {
            path: path.to_owned(),
            reason: "has no certificate; expected a PEM file".to_owned(),
        })
}

/// Reads a small file that options name.
///
/// # Errors
/// If it cannot be read.
pub fn read(path: &Path) -> Result<Vec<u8>, Error> {
    fs::read(path).map_err(|error| Error::File {
        path: path.to_owned(),
        reason: format!("cannot be read: {error}"),
    })
}

enum Stream {
    Plain(TcpStream),
    Tls(Box<StreamOwned<ClientConnection, TcpStream>>),
}

/// A connection.
pub struct Connection {
    stream: Stream,
    input: Vec<u8>,
    /// Bytes of the input that were returned.
    used: usize,
}

impl Connection {
    /// Sends bytes; waits while the receiver does not take them.
    ///
    /// # Errors
    /// If the connection is lost, or nothing was taken for a minute.
    pub fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        match &mut self.stream {
            Stream::Plain(stream) => stream.write_all(bytes),
            Stream::Tls(stream) => stream.write_all(bytes).and_then(|()| stream.flush()),
        }
    }

    /// The next frame of the receiver, if one arrives in time.
    ///
    /// # Errors
    /// If the connection is lost, or something else speaks there.
    pub fn receive(&mut self, time: Duration) -> io::Result<Option<(FrameHeader, Vec<u8>)>> {
        loop {
            let bytes = &self.input[self.used..];
            let found = wire::decode(bytes).map_err(|fault: FrameError| io::Error::other(fault))?;
            if let Some((head, payload)) = found {
                let payload = payload.to_vec();
                self.used += wire::HEADER + payload.len();
                return Ok(Some((head, payload)));
            }
            self.input.drain(..self.used);
            self.used = 0;
            let mut buffer = [0; 4096];
            match self.read(&mut buffer, time) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(count) => self.input.extend(&buffer[..count]),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error)
                    if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) =>
                {
                    return Ok(None);
                }
                Err(error) => return Err(error),
            }
        }
    }

    fn read(&mut self, buffer: &mut [u8], time: Duration) -> io::Result<usize> {
        match &mut self.stream {
            Stream::Plain(stream) => {
                stream.set_read_timeout(Some(time))?;
                stream.read(buffer)
            }
            Stream::Tls(stream) => {
                stream.sock.set_read_timeout(Some(time))?;
                stream.read(buffer)
            }
        }
    }
}
