//! From the spool to the receiver: connects, continues where the receiver is, and keeps records until it has them.

use std::collections::VecDeque;
use std::io::{self, ErrorKind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::connection::{Connection, Connector};
use crate::error::Error;
use crate::log::{self, Level};
use crate::source::{Reason, SourceKind};
use crate::spool::{Cursor, MissingRange, ReadResult, Spool};
use crate::wire::{self, FrameKind};

/// Bytes that may be on their way.
const MAX_IN_FLIGHT: usize = 8 << 20;
/// Until an answer is missed.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(60);
/// Idle time after which `alive` is sent.
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(10);
/// Time to wait for acknowledgements before checking for new records.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
const MIN_BACKOFF: Duration = Duration::from_millis(500);
const MAX_BACKOFF: Duration = Duration::from_secs(60);
/// Time to send remaining records after the program is asked to end.
const GRACE: Duration = Duration::from_secs(10);

/// First frame of a forwarder: its identity.
#[derive(Clone, Debug)]
pub struct Hello {
    /// The name of the source.
    pub name: String,
    /// Its kind.
    pub kind: SourceKind,
    /// Token that the receiver requires.
    pub token: Option<String>,
}

impl Hello {
    fn encode(&self, stream: String, check: bool) -> Vec<u8> {
        let mut fields = vec![
            ("version", wire::VERSION.to_owned()),
            ("name", self.name.clone()),
            ("kind", self.kind.as_str().to_owned()),
            ("stream", stream),
        ];
        fields.extend(self.token.iter().map(|token| ("token", token.clone())));
        if check {
            fields.push(("check", "yes".to_owned()));
        }
        let mut bytes = Vec::new();
        wire::encode(&mut bytes, FrameKind::Hello, 0, 0, &wire::text(&fields));
        bytes
    }
}

/// Tries the connection and leaves nothing at the receiver.
///
/// # Errors
/// If it cannot be reached, or refuses.
pub fn check(connector: &Connector, greeting: &Hello) -> Result<(), Error> {
    let greeted = connector
        .connect()
        .and_then(|mut link| handshake(&mut link, &greeting.encode(String::new(), true)));
    greeted
        .map(|_| ())
        .map_err(|error| Error::Check(error.to_string()))
}

/// Identifies this forwarder; returns the number of the record that the receiver needs next.
fn handshake(link: &mut Connection, hello: &[u8]) -> io::Result<u64> {
    link.send(hello)?;
    match link.receive(RESPONSE_TIMEOUT)? {
        Some((head, _)) if head.kind == FrameKind::Welcome => Ok(head.sequence),
        Some((head, payload)) => Err(refusal_error(head.kind, &payload)),
        None => Err(ErrorKind::TimedOut.into()),
    }
}

fn refusal_error(kind: FrameKind, payload: &[u8]) -> io::Error {
    let reason = wire::field(payload, "reason").unwrap_or("unexpected reply");
    let said = if kind == FrameKind::Refused {
        "the receiver refused: "
    } else {
        ""
    };
    io::Error::other(format!("{said}{reason}"))
}

/// Sends a spool to a receiver.
pub struct Sender<'a> {
    /// Makes connections.
    pub connector: &'a Connector,
    /// Identity of the forwarder.
    pub greeting: &'a Hello,
    /// Records to send.
    pub spool: &'a Spool,
    /// Whether the program is asked to end.
    pub stop: &'a AtomicBool,
}

impl Sender<'_> {
    /// Sends until the source ended and everything is with the receiver, or until a while after the program is
    /// asked to end. Whether everything is.
    pub fn run(&self) -> bool {
        let mut retry = MIN_BACKOFF;
        let mut stop_requested_at = None;
        loop {
            let mut session = Session {
                sender: self,
                cursor: self.spool.cursor(0),
                in_flight: VecDeque::new(),
                bytes: 0,
                has_progress: false,
                waiting: None,
                last_sent: Instant::now(),
            };
            match session.run(&mut stop_requested_at) {
                Ok(done) => return done,
                Err(error) => log::line(Level::Warning, "disconnected", &[("error", &error)]),
            }
            if session.has_progress {
                retry = MIN_BACKOFF;
            }
            let until = Instant::now() + retry;
            while Instant::now() < until {
                if self.stop.load(Ordering::Relaxed) {
                    // The receiver is not connected; the spool keeps the records.
                    return false;
                }
                sleep(POLL_INTERVAL);
            }
            retry = (retry * 2).min(MAX_BACKOFF);
        }
    }

    /// Whether the time to end is over.
    fn grace_expired(&self, stop_requested_at: &mut Option<Instant>) -> bool {
        if self.stop.load(Ordering::Relaxed) {
            return stop_requested_at.get_or_insert_with(Instant::now).elapsed() > GRACE;
        }
        false
    }
}

/// One connection.
struct Session<'a> {
    sender: &'a Sender<'a>,
    cursor: Cursor,
    /// The number after each record that is under way, and its bytes.
    in_flight: VecDeque<(u64, usize)>,
    /// The sum of these.
    bytes: usize,
    /// Whether the receiver took anything.
    has_progress: bool,
    /// Since when an answer is waited for.
    waiting: Option<Instant>,
    last_sent: Instant,
}

impl Session<'_> {
    fn run(&mut self, stop_requested_at: &mut Option<Instant>) -> io::Result<bool> {
        let Sender {
            connector,
            greeting,
            spool,
            stop,
        } = self.sender;
        let mut link = connector.connect()?;
        let next = handshake(&mut link, &greeting.encode(spool.stream(), false))?;
        if next > spool.next() {
            return Err(io::Error::other(format!(
                "the receiver has records up to {next} of this spool, which ends at {}: it is an old copy; \
                 remove it to begin a new one",
                spool.next()
            )));
        }
        log::line(Level::Info, "connected", &[("next", &next)]);
        spool.acknowledge(next)?;
        self.cursor = spool.cursor(next);
        loop {
            let is_all = self.send(&mut link)? && self.in_flight.is_empty();
            if is_all && spool.is_ended() && self.cursor.next() == spool.next() {
                if !stop.load(Ordering::Relaxed) {
                    self.end(&mut link)?;
                }
                return Ok(true);
            }
            if self.sender.grace_expired(stop_requested_at) {
                return Ok(false);
            }
            if is_all && stop.load(Ordering::Relaxed) {
                // The source may be blocked for long.
                return Ok(true);
            }
            if is_all && self.waiting.is_none() {
                spool.wait(self.cursor.next(), POLL_INTERVAL * 4);
            } else {
                self.read_acks(&mut link)?;
            }
        }
    }

    /// Sends what may be under way; whether that is all there is.
    fn send(&mut self, link: &mut Connection) -> io::Result<bool> {
        let spool = self.sender.spool;
        while self.bytes < MAX_IN_FLIGHT {
            let bytes = match spool.read(&mut self.cursor)? {
                ReadResult::Frame(bytes) => bytes,
                ReadResult::Missing(hole) => gap(hole),
                ReadResult::Empty => {
                    if self.last_sent.elapsed() > KEEPALIVE_INTERVAL {
                        self.send_control(link, FrameKind::Alive)?;
                    }
                    return Ok(true);
                }
            };
            link.send(&bytes)?;
            self.in_flight.push_back((self.cursor.next(), bytes.len()));
            self.bytes += bytes.len();
            self.last_sent = Instant::now();
            self.waiting.get_or_insert(self.last_sent);
        }
        Ok(false)
    }

    fn send_control(&mut self, link: &mut Connection, kind: FrameKind) -> io::Result<()> {
        let mut bytes = Vec::new();
        wire::encode(&mut bytes, kind, 0, self.cursor.next(), &[]);
        link.send(&bytes)?;
        self.last_sent = Instant::now();
        self.waiting = Some(self.last_sent);
        Ok(())
    }

    fn end(&mut self, link: &mut Connection) -> io::Result<()> {
        self.send_control(link, FrameKind::End)?;
        while self.waiting.is_some() {
            self.read_acks(link)?;
        }
        Ok(())
    }

    /// Takes acknowledgements.
    fn read_acks(&mut self, link: &mut Connection) -> io::Result<()> {
        let Some((head, payload)) = link.receive(POLL_INTERVAL)? else {
            if self
                .waiting
                .is_some_and(|since| since.elapsed() > RESPONSE_TIMEOUT)
            {
                return Err(ErrorKind::TimedOut.into());
            }
            return Ok(());
        };
        if head.kind != FrameKind::Acknowledged || head.sequence > self.cursor.next() {
            return Err(refusal_error(head.kind, &payload));
        }
        while let Some(&(behind, size)) = self.in_flight.front()
            && behind <= head.sequence
        {
            self.in_flight.pop_front();
            self.bytes -= size;
            self.has_progress = true;
        }
        self.waiting = (!self.in_flight.is_empty()).then(Instant::now);
        self.sender.spool.acknowledge(head.sequence)
    }
}

/// The frame that represents missing records.
fn gap(hole: MissingRange) -> Vec<u8> {
    let reason = if hole.damaged {
        Reason::SpoolDamaged
    } else {
        Reason::SpoolFull
    };
    log::line(
        Level::Warning,
        "gap",
        &[
            ("reason", &reason.as_str()),
            ("from", &hole.from),
            ("next", &hole.next),
        ],
    );
    let mut fields = vec![
        ("reason", reason.as_str().to_owned()),
        ("next", hole.next.to_string()),
    ];
    if let Some((sets, bytes)) = hole.lost {
        fields.push(("sets", sets.to_string()));
        fields.push(("bytes", bytes.to_string()));
    }
    let mut bytes = Vec::new();
    wire::encode(
        &mut bytes,
        FrameKind::Gap,
        0,
        hole.from,
        &wire::text(&fields),
    );
    bytes
}
