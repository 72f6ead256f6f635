//! A server from its start to its results.

use std::io;
use std::net::Shutdown;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use ssdlab_disk::{Check, Disk, Seed};
use ssdlab_lab::error::{Error, Kind, Result};
use ssdlab_lab::files::Files;
use ssdlab_lab::input::{Origin, Reading, Requests};
use ssdlab_lab::memory;
use ssdlab_lab::output::Output;
use ssdlab_lab::perf::{self, Moment};
use ssdlab_lab::run::{How, Outputs, Progress, Run, RunOutcome};
use ssdlab_lab::settings;
use ssdlab_lab::text::size;
use ssdlab_lab::theory::Outlook;
use ssdlab_sim::units::Nanos;

use crate::budget::locked;
use crate::client::{self, Shared};
use crate::clock::{Clock, Speed};
use crate::connections::{Connections, Endpoint, Serve, accept_all};
use crate::control;
use crate::data::Image;
use crate::drive::{Bytes, Drive, Session};
use crate::lag::{Lag, Lags};
use crate::message::Message;
use crate::order::Control;
use crate::record::{Recording, Replayed, Times};
use crate::socket::{Address, Listener, Socket};
use crate::wire::Export;

/// How long clients may take to read their last replies.
const LAST_REPLIES: Duration = Duration::from_secs(5);

/// What is served, and how.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The drive.
    pub drive: settings::Settings,
    /// Seed, checks and limit of memory.
    pub how: How,
    /// Where the server listens.
    pub at: Address,
    /// Name of the export.
    pub export: String,
    /// Simulated time in wall time.
    pub speed: Speed,
    /// How late a reply may leave.
    pub max_lag: Duration,
    /// The file of the data, which is created if it is not there. Without one, data is in memory, as far as the limit of [`How`] allows,
    /// and gone at the end.
    pub data: Option<PathBuf>,
    /// The socket that takes orders.
    pub control: Option<PathBuf>,
    /// The recording, as a trace.
    pub record: Option<PathBuf>,
    /// The results.
    pub outputs: Outputs,
}

/// What a session has given.
pub struct Served {
    /// Results of all requests; none if there were none but flushes. Their files are complete and not visible yet ([`RunOutcome::publish`]).
    pub outcome: Option<RunOutcome>,
    /// How late replies left; none if they did not wait for their time.
    pub lag: Option<Lag>,
}

/// Says something to the user, from any thread.
type Tell = Arc<dyn Fn(&str) + Send + Sync>;

/// Ends a server from another thread.
#[derive(Clone, Debug)]
pub struct Stopper(Arc<Mutex<Option<Sender<Message>>>>);

impl Stopper {
    /// Asks the server to finish the requests that it has, and to end. False: it was asked before.
    pub fn stop(&self) -> bool {
        locked(&self.0).take().is_some_and(|to| to.send(Message::Stop).is_ok())
    }
}

/// A server that takes requests.
pub struct Server {
    settings: Settings,
    /// Bytes of the drive.
    pub capacity_bytes: u64,
    /// Where it listens, with the port that the system chose.
    pub address: Address,
    /// What ends it.
    pub stopper: Stopper,
    connections: Arc<Connections>,
    lags: Arc<Lags>,
    drive: JoinHandle<Result<Session>>,
    acceptors: Vec<JoinHandle<()>>,
}

impl Server {
    /// Builds the drive, opens its data and listens. `tell` says things to the user, from any thread.
    ///
    /// # Errors
    /// The configuration can't be served, the drive does not fit into memory, or a file or the address can't be used.
    pub fn start(settings: Settings, tell: impl Fn(&str) + Send + Sync + 'static) -> Result<Server> {
        let tell: Tell = Arc::new(tell);
        check_files(&settings)?;
        let room_bytes = room(&settings)?;
        let disk = disk(&settings)?;
        let capacity_bytes = disk.capacity_bytes();
        let bytes = match &settings.data {
            None => Bytes::Memory(room_bytes),
            Some(path) => {
                let (image, was_killed) = Image::open(path, capacity_bytes)?;
                if was_killed {
                    let name = path.display();
                    tell(&format!(
                        "{name}: the server that had it was killed; it holds what was flushed then, and perhaps later writes"
                    ));
                }
                Bytes::File(image)
            }
        };
        let file = match &bytes {
            Bytes::Memory(_) => None,
            Bytes::File(image) => Some(Arc::clone(&image.file)),
        };
        let recording = Recording::create(settings.record.as_deref())?;
        let listener = Listener::bind(&settings.at)?;
        let controls = settings.control.clone().map(|path| Listener::bind(&Address::Unix(path))).transpose()?;
        let address = listener.address.clone();
        if address.is_open() {
            tell(
                "other machines may reach this address, and anybody who does may read and write: there is no authentication",
            );
        }
        let connections =
            Arc::new(Connections::new(address.clone(), controls.as_ref().map(|endpoint| endpoint.address.clone())));
        let lags = Arc::new(Lags::new(settings.max_lag));
        let export = Export { name: settings.export.clone(), bytes: capacity_bytes };
        let shared = Shared {
            export,
            lags: Arc::clone(&lags),
            file,
            connections: Arc::clone(&connections),
            tell: Arc::clone(&tell),
        };
        let (to_drive, inbox) = channel();
        let drive = {
            let control = Control::new(frozen(&settings)?, drive_bytes(&settings));
            let drive = Drive::new(disk, bytes, Clock::new(settings.speed), recording, control);
            let connections = Arc::clone(&connections);
            spawn("drive", move || drive.run(&inbox, &connections))?
        };
        let shared = Arc::new(shared);
        let clients = serving("client", &to_drive, &tell, move |socket, drive| client::serve(socket, &shared, drive));
        let mut acceptors = vec![acceptor(listener, &connections, &connections.clients, clients, &tell)?];
        if let (Some(listener), Some(endpoint)) = (controls, &connections.controls) {
            let controls = serving("control", &to_drive, &tell, |socket, drive| control::serve(socket, &drive));
            acceptors.push(acceptor(listener, &connections, endpoint, controls, &tell)?);
        }
        let stopper = Stopper(Arc::new(Mutex::new(Some(to_drive))));
        Ok(Server { settings, capacity_bytes, address, stopper, connections, lags, drive, acceptors })
    }

    /// Waits until it is stopped ([`Stopper::stop`]) and all clients have their replies, then replays the recording for the results.
    ///
    /// # Errors
    /// The drive failed, or a result can't be written.
    pub fn finish(self, progress: &mut dyn Progress) -> Result<Served> {
        let session = self.drive.join();
        // A drive that fails takes no more requests.
        self.connections.close();
        for acceptor in self.acceptors {
            let _ = acceptor.join();
        }
        let session = session.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        if session.is_err() {
            self.connections.end(Shutdown::Both);
        }
        self.connections.empty_within(LAST_REPLIES);
        let Session { recorded, times, image } = session?;
        if let (Some(image), Some(path)) = (image, &self.settings.data) {
            image.close(path)?;
        }
        if let Some(file) = recorded.file {
            file.publish()?;
        }
        let outcome = (times.of_data > 0)
            .then(|| replay(&self.settings, recorded.trace, times, recorded.until, progress))
            .transpose()?;
        Ok(Served { outcome, lag: self.lags.summary() })
    }
}

fn spawn<T: Send + 'static>(name: &str, work: impl FnOnce() -> T + Send + 'static) -> Result<JoinHandle<T>> {
    let begun = std::thread::Builder::new().name(name.into()).spawn(work);
    begun.map_err(|error| {
        Error::file("start", Path::new("a thread"), &error).help("raise the limit on processes (ulimit -u)")
    })
}

/// Refuses files that are named twice or can't be written, before anything is served.
fn check_files(settings: &Settings) -> Result<()> {
    let mut files = Files::new();
    settings.drive.sources().read_by(&mut files);
    files.write_all(&[("--data", settings.data.as_deref()), ("--record", settings.record.as_deref())])?;
    for (option, path) in settings.outputs.files() {
        files.write_all(&[(option, Some(path))])?;
        // An output that is dropped leaves nothing.
        Output::create(path)?;
    }
    Ok(())
}

/// Bytes of memory for data beside the drive.
fn room(settings: &Settings) -> Result<u64> {
    let limit = settings.how.memory_limit.or_else(perf::memory_limit);
    let (config, check) = (&settings.drive.config, settings.how.check);
    memory::fits(config, check, limit, |refusal| settings.drive.refuse(refusal))?;
    Ok(limit.map_or(u64::MAX, |limit| limit - drive_bytes(settings)))
}

/// The drive of a configuration.
fn disk(settings: &Settings) -> Result<Disk> {
    let config = &settings.drive.config;
    if config.nvme.arbitrates() {
        let message = "nvme.queues: a served drive has one queue";
        return Err(Error::config("nvme.queues", message).help("leave the queues out"));
    }
    let mut builder = Disk::builder().config(config.clone()).seed(Seed(settings.how.seed)).check(settings.how.check);
    if settings.data.is_some() {
        if settings.how.check == Check::Full {
            return Err(Error::usage("--check full looks at every page, but data in a file is not the drive's")
                .help("use --check sampled, or leave --data out"));
        }
        if !config.faults.write_errors.is_empty() {
            let key = "faults.write_errors";
            let message =
                format!("{key}: a write that fails leaves the old data, but data in a file is not the drive's");
            return Err(Error::config(key, message).help("leave the key or --data out"));
        }
        builder = builder.without_data();
    }
    builder.build().map_err(|error| settings.drive.refuse(&error))
}

/// Accepts connections, in a thread of its own.
fn acceptor(
    listener: Listener,
    connections: &Arc<Connections>,
    endpoint: &Arc<Endpoint>,
    serve: Serve,
    tell: &Tell,
) -> Result<JoinHandle<()>> {
    let (connections, endpoint, tell) = (Arc::clone(connections), Arc::clone(endpoint), Arc::clone(tell));
    spawn("acceptor", move || accept_all(&listener, &connections, &endpoint, &serve, &*tell))
}

/// Serves connections of a kind, and says why one was ended.
fn serving(
    kind: &'static str,
    to_drive: &Sender<Message>,
    tell: &Tell,
    serve: impl Fn(Socket, Sender<Message>) -> io::Result<()> + Send + Sync + 'static,
) -> Serve {
    let (to_drive, tell) = (to_drive.clone(), Arc::clone(tell));
    Arc::new(move |number, socket| {
        if let Err(error) = serve(socket, to_drive.clone()) {
            tell(&format!("{kind} {number}: its connection was ended: {error}"));
        }
    })
}

/// The configuration with the content that its files have now: it may change later.
fn frozen(settings: &Settings) -> Result<settings::Settings> {
    match settings.control {
        Some(_) => settings::Settings::load(&settings.drive.sources().clone().frozen()?),
        None => Ok(settings.drive.clone()),
    }
}

/// Bytes of memory of the drive without its data.
fn drive_bytes(settings: &Settings) -> u64 {
    Outlook::new(&settings.drive.config, settings.how.check == Check::Full).memory.total()
}

/// Replays a session, and writes its results.
fn replay(
    settings: &Settings,
    trace: ssdlab_trace::Trace,
    times: Times,
    until: Nanos,
    progress: &mut dyn Progress,
) -> Result<RunOutcome> {
    let mut requests = Requests::new(Origin::Trace(trace));
    requests.reading = Reading { format: "blkparse".into(), ..Reading::default() };
    // Requests that failed took their time all the same. A run has no data that they could concern.
    let mut drive = settings.drive.clone();
    (drive.config.faults.read_errors, drive.config.faults.write_errors) = (Vec::new(), Vec::new());
    let run = Run::new(drive, settings.how, Moment::now())?.open(&requests)?;
    let replayed = Arc::new(Mutex::new(Times::default()));
    let watch = Box::new(Replayed { times: Arc::clone(&replayed), until });
    let outcome = run.simulate_watched(&settings.outputs, progress, Some(watch))?;
    let replayed = *locked(&replayed);
    if replayed != times {
        let message = format!(
            "the recording of {} requests does not replay to the times of the session ({} requests)",
            replayed.requests, times.requests
        );
        return Err(Error::new(Kind::Invariant, message).help(
            "this is a defect of the simulator: please report it with the configuration and the file of --record",
        ));
    }
    Ok(outcome)
}

impl Settings {
    /// What is served, in a line.
    pub fn about(&self, capacity_bytes: u64, at: &Address) -> String {
        let speed = match self.speed {
            Speed::Max => "no waiting".to_string(),
            Speed::Ratio { numerator, denominator } => {
                format!("speed {}", f64::from(numerator) / f64::from(denominator))
            }
        };
        let data = self.data.as_ref().map_or("memory".to_string(), |path| path.display().to_string());
        format!("serving {} at {} (data in {data}, {speed})", size(capacity_bytes), at.uri())
    }
}
