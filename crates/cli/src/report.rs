//! `ssdlab plot` and `ssdlab report`

use std::path::Path;

use ssdlab_figures::figure::Figure;
use ssdlab_figures::svg::{self, Look, Theme};
use ssdlab_lab::error::{Error, Result};
use ssdlab_lab::output::{Finished, Output};
use ssdlab_report::charts::{self, Wanted};
use ssdlab_report::inputs::Inputs;
use ssdlab_report::page::{self, Page};
use ssdlab_sweep::store::unchecked_note;

#[cfg(feature = "figures")]
use crate::args::shared::INCH;
use crate::args::{PlotArgs, ReportArgs, ReportOptions};
use crate::output;

/// A report that a command has begun.
pub struct Begun {
    file: Output,
    page: Page,
}

impl Begun {
    /// Creates the file before anything runs, so that a mistake is reported at once.
    pub fn create(options: &ReportOptions, line: &str) -> Result<Option<Begun>> {
        let Some(wanted) = options.wanted(line) else { return Ok(None) };
        wanted.page.check()?;
        Ok(Some(Begun { file: Output::create(&wanted.path)?, page: wanted.page }))
    }

    /// Writes the page.
    pub fn finish(self, inputs: &Inputs, quiet: bool) -> Result<Finished> {
        let written = page::write(inputs, &self.page)?;
        if !quiet {
            written.remarks.iter().for_each(output::remark);
        }
        self.file.complete(written.html.as_bytes())
    }
}

/// Writes a page from files of results.
pub fn report(args: &ReportArgs) -> Result<()> {
    let page = Page {
        lite: args.lite,
        title: args.title.clone(),
        sections: args.sections.clone(),
        most_bytes: args.max_size,
        command: None,
    };
    page.check()?;
    let inputs = Inputs::read(&args.inputs, args.timeline_window)?;
    let written = page::write(&inputs, &page)?;
    written.remarks.iter().for_each(output::remark);
    output::write(&args.output, written.html.as_bytes())
}

/// Limit on font files.
#[cfg(feature = "figures")]
const MOST_FONT: u64 = 64 << 20;
/// Least font size in points: smaller text cannot be read.
const LEAST_FONT: f64 = 6.0;

/// Draws a figure, or lists the figures.
pub fn plot(args: &PlotArgs) -> Result<()> {
    // With --list, the first word is an input too.
    if args.list {
        let paths: Vec<_> = args.figure.iter().map(Into::into).chain(args.inputs.iter().cloned()).collect();
        return output::print(&listed(&Inputs::read(&paths, None)?, paths.is_empty()));
    }
    let (Some(name), Some(to)) = (&args.figure, &args.output) else {
        return Err(Error::usage("a figure and -o FILE are needed")
            .help("for example `ssdlab plot percentiles run.histograms.csv -o fig.svg`; `ssdlab plot --list` names the figures"));
    };
    let inputs = Inputs::read(&args.inputs, args.timeline_window)?;
    let unchecked = inputs.sweep.as_ref().and_then(|sweep| unchecked_note(sweep.unchecked));
    unchecked.iter().for_each(|said| output::remark(format_args!("note: {said}")));
    let wanted = Wanted {
        op: args.op,
        measure: args.y.clone(),
        x: args.x.clone(),
        hue: args.hue.clone(),
        log_x: args.log.as_deref().is_some_and(|axes| axes.contains('x')),
        log_y: args.log.as_deref().is_some_and(|axes| axes.contains('y')),
        title: args.title.clone(),
        ..Wanted::default()
    };
    let figure = charts::make(name, &inputs, &wanted)?;
    output::write(to, &drawn(&figure, args, to)?)
}

/// The bytes of the form that the name of the file asks for; SVG on standard output.
fn drawn(figure: &Figure, args: &PlotArgs, to: &Path) -> Result<Vec<u8>> {
    let ending = if to.as_os_str() == "-" { Some("svg") } else { to.extension().and_then(|ending| ending.to_str()) };
    match ending {
        Some("svg") => Ok((svg::draw(figure, &look(args)?) + "\n").into_bytes()),
        Some("csv") => Ok(figure.csv().into_bytes()),
        Some("json") => Ok(figure.json().into_bytes()),
        Some(form @ ("pdf" | "png")) => exported(figure, args, to, form),
        _ => {
            Err(Error::usage(format!("-o {}: the name ends in none of .svg, .pdf, .png, .csv and .json", to.display()))
                .help("give a name that ends in .svg"))
        }
    }
}

#[cfg(feature = "figures")]
fn exported(figure: &Figure, args: &PlotArgs, to: &Path, form: &str) -> Result<Vec<u8>> {
    use crate::export;
    let mut look = look(args)?;
    let font = args.font.as_deref().map(|path| ssdlab_lab::files::read("font", path, MOST_FONT));
    let font = font.transpose()?;
    if let (Some(font), Some(path)) = (&font, &args.font) {
        look.font = export::family(font).ok_or_else(|| {
            Error::usage(format!("--font {}: not a font", path.display())).help("give a .ttf or .otf file")
        })?;
    }
    let svg = svg::draw(figure, &look);
    let scale = args.dpi as f32 / INCH as f32;
    let made =
        if form == "pdf" { export::pdf(&svg, font.as_deref()) } else { export::png(&svg, font.as_deref(), scale) };
    made.map_err(|error| Error::usage(format!("-o {}: {error}", to.display())).help("give a smaller --width or --dpi"))
}

#[cfg(not(feature = "figures"))]
fn exported(_figure: &Figure, _args: &PlotArgs, to: &Path, form: &str) -> Result<Vec<u8>> {
    Err(Error::usage(format!("-o {}: this build cannot write {}", to.display(), form.to_uppercase()))
        .help(format!("write {}, or build ssdlab without `--no-default-features`", to.with_extension("svg").display())))
}

fn look(args: &PlotArgs) -> Result<Look> {
    if args.font_size.0 < LEAST_FONT {
        return Err(Error::usage(format!(
            "--font-size {}pt: text below {LEAST_FONT} pt cannot be read",
            args.font_size.0
        ))
        .help(format!("give at least {LEAST_FONT}pt")));
    }
    // A paper's figure has the size that it is printed at, so nothing is scaled and no line becomes too thin.
    Ok(Look {
        width: args.width.0,
        height: args.height.map(|height| height.0),
        font_size: args.font_size.0,
        theme: args.theme,
        unit: "pt",
        title: args.title.is_some() || args.theme != Theme::Paper,
        ..Look::default()
    })
}

/// All figures with what they need; with inputs, which of them can be drawn.
fn listed(inputs: &Inputs, bare: bool) -> String {
    let mut rows = vec![["figure", "shows", if bare { "from" } else { "these inputs" }].map(String::from).to_vec()];
    for (name, about, needs, can) in charts::list(inputs) {
        let state = match (bare, can) {
            (true, _) => needs.to_string(),
            (false, true) => "yes".into(),
            (false, false) => format!("no: needs {needs}"),
        };
        rows.push(vec![name, about.into(), state]);
    }
    let mut out = String::new();
    ssdlab_lab::layout::left(&mut out, &rows);
    out
}
