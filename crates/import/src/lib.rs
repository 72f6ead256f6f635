//! Files of other simulators: a configuration, the requests, and an account of every key.
//!
//! One file a simulator holds its mapping table, as data, and the few values that several keys decide together. Every key that
//! is read gets exactly one [`Verdict`](account::Verdict). Numbers are carried over exactly or refused, with the place in the
//! user's own file. Paths in a file are never opened.

mod common;
mod disksim;
mod femu;
mod fio;
mod flashsim;
mod keys;
mod mqsim;
mod mqsim_flows;
mod nvmevirt;
mod pairs;
mod shell;
mod simplessd;
mod ssdsim;
mod table;
mod xml;

use std::io::Read;
use std::path::Path;
use std::str::FromStr;

use ssdlab_lab::error::{Error, Result};
use ssdlab_lab::files::Document;
use ssdlab_lab::foreign::account::{Account, Entry, Verdict};
use ssdlab_lab::foreign::flows::Flow;
use ssdlab_lab::foreign::{Imported, base_name};
use ssdlab_lab::settings;
use ssdlab_lab::theory::{Outlook, expected};
use ssdlab_sim::config::Config;

use fio::Jobs;
use keys::Given;
use mqsim_flows::Workload;
use pairs::Form;
use table::Drive;

/// A simulator whose files can be imported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Simulator {
    /// MQSim: `ssdconfig.xml` and `workload.xml`.
    Mqsim,
    /// SSDsim: `page.parameters`.
    Ssdsim,
    /// SimpleSSD 2.0: INI files.
    Simplessd,
    /// FEMU: `-device femu,...`, scripts with it, and configuration files.
    Femu,
    /// FlashSim: `ssd.conf`.
    Flashsim,
    /// DiskSim with its SSD extension: `.parv`.
    Disksim,
    /// NVMeVirt: `ssd_config.h`.
    Nvmevirt,
    /// fio: job files, which describe requests only.
    Fio,
}

/// The names of options, in the order of help texts.
pub const SIMULATORS: [(&str, Simulator); 8] = [
    ("mqsim", Simulator::Mqsim),
    ("ssdsim", Simulator::Ssdsim),
    ("simplessd", Simulator::Simplessd),
    ("femu", Simulator::Femu),
    ("flashsim", Simulator::Flashsim),
    ("disksim", Simulator::Disksim),
    ("nvmevirt", Simulator::Nvmevirt),
    ("fio", Simulator::Fio),
];

impl FromStr for Simulator {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Simulator, String> {
        let found = SIMULATORS.iter().find(|(name, _)| *name == text);
        let names = || SIMULATORS.map(|(name, _)| name).join(", ");
        found.map(|(_, simulator)| *simulator).ok_or_else(|| format!("expected auto, {}", names()))
    }
}

impl Simulator {
    fn name(self) -> &'static str {
        SIMULATORS.into_iter().find(|(_, other)| *other == self).map_or("", |(name, _)| name)
    }
}

/// How files are imported.
#[derive(Clone, Copy, Debug)]
pub struct How {
    /// The simulator they are from; none: their content says.
    pub from: Option<Simulator>,
    /// Which scenario of a `workload.xml`, from 1.
    pub scenario: usize,
}

impl Default for How {
    fn default() -> How {
        How { from: None, scenario: 1 }
    }
}

/// Reads files of one device. Those of flows come after those of the device, whatever their order.
///
/// # Errors
/// A file can't be read, its content is not that of a known simulator, or a value can't be carried over.
pub fn read(documents: &[Document], how: How) -> Result<Imported> {
    let (mut paths, mut texts) = (Vec::new(), Vec::new());
    for document in documents {
        texts.push(match document {
            Document::File(path) => {
                paths.push(path.clone());
                (path.display().to_string(), foreign_text(path)?)
            }
            Document::Text { name, text } => (name.clone(), text.clone()),
        });
    }
    let mut files = Vec::new();
    for (index, (name, text)) in texts.iter().enumerate() {
        files.push((index, Parsed::read(name, text, how.from)?));
    }
    files.sort_by_key(|(index, parsed)| (matches!(parsed, Parsed::Flows(_) | Parsed::Jobs(_)), *index));
    one_device(&files, &texts)?;
    if how.scenario != 1 && !files.iter().any(|(_, parsed)| matches!(parsed, Parsed::Flows(_))) {
        return Err(Error::usage(format!("--scenario {}: no file has scenarios", how.scenario))
            .help("leave it out, or add a workload.xml of MQSim"));
    }
    let (mut drive, mut account, mut flows) = (Drive::default(), Account::default(), Vec::new());
    for (index, parsed) in &files {
        let shown = base_name(&texts[*index].0);
        let (entries, assumed, more) = parsed.carry(*index, &shown, how.scenario, &mut drive)?;
        if entries.is_empty() && more.is_empty() {
            return Err(Error::usage(format!("{}: no key in it", ssdlab_lab::names::clip(&texts[*index].0)))
                .help("expected a configuration file of another simulator"));
        }
        account.entries.extend(entries);
        account.assumed.extend(assumed);
        flows.extend(more);
        if let Parsed::Flows(workload) = parsed
            && workload.scenarios() > 1
        {
            let all = workload.scenarios();
            let remark = format!("scenario {} of {all} is imported; --scenario chooses another", how.scenario);
            account.remarks.push(remark);
        }
    }
    for entry in &mut account.entries {
        let ours = |key: &String| Some(format!("{key} = {}", drive.get(key)?));
        entry.becomes = entry.becomes.iter().filter_map(ours).collect();
    }
    if !flows.is_empty() && flows.iter().all(Flow::is_closed) {
        for entry in account.entries.iter_mut().filter(|entry| entry.key == "IO_Queue_Depth") {
            entry.verdict = Verdict::NotModelled;
            entry.becomes.clear();
            entry.note =
                "the flows keep their own numbers of requests outstanding, and these set device.queue_depth".into();
        }
    }
    let mut imported = Imported { account, files: paths, texts, settings: drive.settings, flows };
    remark(&mut imported);
    Ok(imported)
}

/// What to know of the result as a whole.
fn remark(imported: &mut Imported) {
    let read = || settings::config(imported.toml().parse().ok()?).ok();
    let config = read().filter(|config| config.check().is_ok());
    imported.account.remarks.extend(config.as_ref().and_then(expectation));
    if imported.flows.len() > 1 {
        let flows = imported.flows.len();
        let remark = format!(
            "{flows} flows run as tenants, each with a queue of its class, in a part of the addresses of its own"
        );
        imported.account.remarks.push(remark);
    }
}

/// Refuses files of several simulators, and several devices.
fn one_device(files: &[(usize, Parsed)], texts: &[(String, String)]) -> Result<()> {
    let name = |index: usize| ssdlab_lab::names::clip(&texts[index].0);
    let Some((first, of)) = files.first().map(|(index, parsed)| (*index, parsed.simulator())) else { return Ok(()) };
    // The load of fio goes with any device.
    let others = |parsed: &Parsed| parsed.simulator() != of && parsed.simulator() != Simulator::Fio;
    if let Some((other, parsed)) = files.iter().find(|(_, parsed)| others(parsed)) {
        let (one, two) = (of.name(), parsed.simulator().name());
        return Err(Error::usage(format!("{} is of {one}, {} of {two}", name(first), name(*other)))
            .help("import files of one simulator at a time"));
    }
    let workloads: Vec<usize> =
        files.iter().filter(|(_, parsed)| parsed.has_flows()).map(|(index, _)| *index).collect();
    if let [first, second, ..] = workloads[..] {
        return Err(Error::usage(format!("{} and {} each describe requests", name(first), name(second)))
            .help("import one file of requests at a time"));
    }
    let devices: Vec<usize> = files.iter().filter(|(_, parsed)| parsed.is_device()).map(|(index, _)| *index).collect();
    if let [first, second, ..] = devices[..] {
        return Err(Error::usage(format!("{} and {} each describe a device", name(first), name(second)))
            .help("import one device at a time"));
    }
    Ok(())
}

enum Parsed {
    Drive(Simulator, Given),
    Flows(Workload),
    Jobs(Jobs),
}

impl Parsed {
    fn read(name: &str, text: &str, from: Option<Simulator>) -> Result<Parsed> {
        let simulator = match from {
            Some(simulator) => simulator,
            None => detect(name, text)?,
        };
        let given = match simulator {
            Simulator::Mqsim if xml::root(text).as_deref() == Some("MQSim_IO_Scenarios") => {
                return Ok(Parsed::Flows(Workload::read(name, text)?));
            }
            Simulator::Mqsim => mqsim::read(name, text)?,
            Simulator::Ssdsim => pairs::read(name, text, Form::Semicolon)?,
            Simulator::Simplessd => pairs::read(name, text, Form::Ini)?,
            Simulator::Femu => femu::read(name, text)?,
            Simulator::Flashsim => pairs::read(name, text, Form::Blank)?,
            Simulator::Disksim => disksim::read(name, text)?,
            Simulator::Nvmevirt => nvmevirt::read(name, text)?,
            Simulator::Fio => return Ok(Parsed::Jobs(Jobs::read(name, text)?)),
        };
        Ok(Parsed::Drive(simulator, given))
    }

    fn simulator(&self) -> Simulator {
        match self {
            Parsed::Drive(simulator, _) => *simulator,
            Parsed::Flows(_) => Simulator::Mqsim,
            Parsed::Jobs(_) => Simulator::Fio,
        }
    }

    /// Whether it describes the flash array. (SimpleSSD has files of its request generator, too.)
    fn is_device(&self) -> bool {
        match self {
            Parsed::Drive(Simulator::Simplessd, given) => given.keys.iter().any(|key| key.path().starts_with("pal/")),
            Parsed::Drive(..) => true,
            Parsed::Flows(_) | Parsed::Jobs(_) => false,
        }
    }

    fn has_flows(&self) -> bool {
        match self {
            Parsed::Drive(Simulator::Simplessd, given) => given.keys.iter().any(|key| key.section == "generator"),
            Parsed::Drive(..) => false,
            Parsed::Flows(_) | Parsed::Jobs(_) => true,
        }
    }

    /// Carries the file over; returns its account, the defaults that were used, and its flows.
    fn carry(
        &self,
        file: usize,
        shown: &str,
        scenario: usize,
        drive: &mut Drive,
    ) -> Result<(Vec<Entry>, Vec<String>, Vec<Flow>)> {
        let (simulator, given) = match self {
            Parsed::Flows(workload) => {
                return workload.carry(file, shown, scenario, drive);
            }
            Parsed::Jobs(jobs) => return jobs.carry(file, shown, drive),
            Parsed::Drive(simulator, given) => (simulator, given),
        };
        let (desk, flows) = match simulator {
            Simulator::Mqsim => (mqsim::drive(given, file, drive)?, Vec::new()),
            Simulator::Ssdsim => (ssdsim::drive(given, file, drive)?, Vec::new()),
            Simulator::Simplessd => simplessd::drive(given, file, drive)?,
            Simulator::Femu => (femu::drive(given, file, drive)?, Vec::new()),
            Simulator::Flashsim => (flashsim::drive(given, file, drive)?, Vec::new()),
            Simulator::Disksim => (disksim::drive(given, file, drive)?, Vec::new()),
            Simulator::Nvmevirt => (nvmevirt::drive(given, file, drive)?, Vec::new()),
            Simulator::Fio => unreachable!("its files are jobs"),
        };
        let (entries, assumed) = desk.account(shown);
        Ok((entries, assumed, flows))
    }
}

fn detect(name: &str, text: &str) -> Result<Simulator> {
    let refuse = |message: String, help: &str| {
        Err(Error::usage(format!("{}: {message}", ssdlab_lab::names::clip(name))).help(help.to_string()))
    };
    let names = SIMULATORS.map(|(name, _)| name).join("|");
    if let Some(root) = xml::root(text) {
        return match root.as_str() {
            "Execution_Parameter_Set" | "MQSim_IO_Scenarios" => Ok(Simulator::Mqsim),
            "simplessd" | "standalone" => refuse(
                "a configuration of SimpleSSD 2.1, which is XML".into(),
                "only the INI files of SimpleSSD 2.0 are imported",
            ),
            other => refuse(
                format!("XML with the root <{}>, which is of no known simulator", ssdlab_lab::names::clip(other)),
                "expected Execution_Parameter_Set (ssdconfig.xml) or MQSim_IO_Scenarios (workload.xml) of MQSim",
            ),
        };
    }
    let any = |test: &dyn Fn(&str) -> bool| text.lines().map(str::trim).any(test);
    let starts = |words: &'static [&'static str]| move |line: &str| words.iter().any(|word| line.starts_with(word));
    let femu_keys = ["nchs", "luns_per_ch", "blks_per_pl", "pgs_per_blk"];
    let femu_line = |line: &str| line.split_once('=').is_some_and(|(key, _)| femu_keys.contains(&key.trim()));
    let simplessd = starts(&["[pal]", "[ftl]", "[icl]", "[generator]"]);
    let flashsim =
        starts(&["SSD_SIZE ", "SSD_SIZE\t", "PACKAGE_SIZE ", "PACKAGE_SIZE\t", "PLANE_SIZE ", "PLANE_SIZE\t"]);
    let fits: Vec<Simulator> = [
        (Simulator::Femu, femu::has_device(text) || any(&femu_line)),
        (Simulator::Disksim, any(&starts(&["ssdmodel_ssd", "disksim_"]))),
        (Simulator::Simplessd, any(&simplessd)),
        (Simulator::Ssdsim, any(&starts(&["page capacity", "chip number["]))),
        (Simulator::Flashsim, any(&flashsim)),
        (Simulator::Nvmevirt, nvmevirt::fits(text)),
        (Simulator::Fio, fio::fits(text) && !any(&simplessd)),
    ]
    .into_iter()
    .filter_map(|(simulator, fits)| fits.then_some(simulator))
    .collect();
    // SimpleSSD has sections `ftl` and `nvme`, too, and FEMU other ones.
    let ours: Vec<String> = ssdlab_lab::schema::keys().into_iter().map(|(section, _)| format!("[{section}]")).collect();
    let is_ours = |line: &str| line != "[ftl]" && line != "[nvme]" && ours.iter().any(|section| section == line);
    if fits.iter().all(|fit| *fit == Simulator::Simplessd) && !any(&starts(&["[pal]"])) && any(&is_ours) {
        return refuse("a configuration of this program".into(), "run it as it is: ssdlab run CONFIG.toml");
    }
    match fits[..] {
        [one] => Ok(one),
        [] => refuse(
            "not a configuration of a known simulator".into(),
            &format!("name it with --from {names} if it is one of these"),
        ),
        _ => refuse("two simulators have such files".into(), &format!("name one with --from {names}")),
    }
}

/// Limit on files of other simulators.
const LONGEST: u64 = 4 << 20;

/// The text of a file. Comments may be in any encoding; bytes that are not UTF-8 become replacement characters.
fn foreign_text(path: &Path) -> Result<String> {
    let cannot = |error: std::io::Error| Error::file("read the import", path, &error);
    let mut bytes = Vec::new();
    match path.as_os_str() == "-" {
        true => std::io::stdin().lock().take(LONGEST + 1).read_to_end(&mut bytes).map_err(cannot)?,
        false => ssdlab_lab::files::open("import", path)?.take(LONGEST + 1).read_to_end(&mut bytes).map_err(cannot)?,
    };
    let shown = path.display();
    if bytes.len() as u64 > LONGEST {
        return Err(Error::usage(format!("{shown} is longer than {} MiB", LONGEST >> 20))
            .help("this is no configuration of a simulator; traces are given with --trace"));
    }
    if bytes.contains(&0) {
        return Err(
            Error::usage(format!("{shown} is not text")).help("expected a configuration file of another simulator")
        );
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// What over-provisioning and threshold lead to together, where that surprises.
fn expectation(config: &Config) -> Option<String> {
    let outlook = Outlook::new(config, false);
    let (pages, exported) = (outlook.pages_per_plane as f64, outlook.exported_per_plane as f64);
    let met = outlook.write_amplification?;
    let hoped = expected(&config.schemes.victim, exported / pages, config.geometry.pages_per_block)?;
    // Within a fifth nobody is surprised.
    if met < 1.2 * hoped {
        return None;
    }
    let percent = |share: f64| format!("{} %", (share * 1000.0).round() / 10.0);
    let about = |wa: f64| if wa < 5.0 { format!("{wa:.1}") } else { format!("{wa:.0}") };
    let range = if met < 10.0 { about(met) } else { format!("{:.0} to {:.0}", met.floor(), met.floor() + 1.0) };
    Some(format!(
        "{} spare with collection below {} free leaves {} in play: expect write amplification {range}, not {}",
        percent(1.0 - exported / pages),
        percent(outlook.kept_free as f64 / pages),
        percent(outlook.effective_spare),
        about(hoped)
    ))
}
