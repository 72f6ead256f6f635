//! The figures of a bundle: how they are asked for, and drawn from its own records.

use std::path::Path;

use ssdlab_figures::figure::Figure;
use ssdlab_figures::svg::{Look, Theme, draw};
use ssdlab_lab::error::{Error, Result};
use ssdlab_lab::names::{clip, suggest};
use ssdlab_report::charts::{self, Op, Wanted};
use ssdlab_report::inputs::Inputs;

/// A figure as it is asked for: its name, then options of `ssdlab plot` as `NAME=VALUE`, with commas between them.
#[derive(Clone, Debug)]
pub struct Spec {
    /// As it was given.
    pub text: String,
    name: String,
    wanted: Wanted,
}

/// The options of a figure.
const OPTIONS: [&str; 6] = ["x", "y", "hue", "op", "log", "title"];

impl Spec {
    /// From a text such as `sweep-lines,x=device.over_provisioning,y=latency_ns.read.p99`.
    ///
    /// # Errors
    /// It is none.
    pub fn parse(text: &str) -> Result<Spec> {
        let wrong = |message: String| Error::usage(format!("--figure {}: {message}", clip(text)));
        let (name, mut rest) = text.split_once(',').unwrap_or((text, ""));
        if name.is_empty() {
            return Err(wrong("no name".into()).help("`ssdlab plot --list` names the figures"));
        }
        let mut wanted = Wanted::default();
        let mut given: Vec<&str> = Vec::new();
        while !rest.is_empty() {
            let Some((option, value)) = rest.split_once('=') else {
                let one = rest.split(',').next().unwrap_or(rest);
                return Err(wrong(format!("`{}` is not NAME=VALUE", clip(one)))
                    .help("such as sweep-lines,x=device.over_provisioning,y=latency_ns.read.p99"));
            };
            // A title may have commas, so it is the last.
            let (value, next) =
                if option == "title" { (value, "") } else { value.split_once(',').unwrap_or((value, "")) };
            rest = next;
            if value.is_empty() {
                return Err(wrong(format!("`{}` has no value", clip(option))).help("leave it out, or give it one"));
            }
            if given.contains(&option) {
                return Err(wrong(format!("`{}` is given twice", clip(option))).help("give it once"));
            }
            given.push(option);
            match (option, value) {
                ("x", key) => wanted.x = Some(key.into()),
                ("y", measure) => wanted.measure = Some(measure.into()),
                ("hue", key) => wanted.hue = Some(key.into()),
                ("op", "read") => wanted.op = Some(Op::Read),
                ("op", "write") => wanted.op = Some(Op::Write),
                ("op", "all") => wanted.op = Some(Op::All),
                ("op", _) => return Err(wrong("op is none of read, write and all".into()).help("give one of them")),
                ("log", "x" | "y" | "xy") => (wanted.log_x, wanted.log_y) = (value != "y", value != "x"),
                ("log", _) => return Err(wrong("log is none of x, y and xy".into()).help("give one of them")),
                ("title", title) => wanted.title = Some(title.into()),
                (other, _) => {
                    return Err(wrong(format!("`{}` is no option of a figure", clip(other))).help(suggest(
                        other,
                        OPTIONS,
                        "The options are",
                    )));
                }
            }
        }
        Ok(Spec { text: text.into(), name: name.into(), wanted })
    }

    /// The figure of a study in a store.
    ///
    /// # Errors
    /// There is no such figure, or the study has nothing for it.
    pub fn draw(&self, store: &Path) -> Result<Figure> {
        let inputs = Inputs::read(&[store.to_path_buf()], None)?;
        charts::make(&self.name, &inputs, &self.wanted).map_err(|mut error| {
            error.message = format!("--figure {}: {}", clip(&self.text), error.message);
            error
        })
    }

    /// The drawing of a figure, as `ssdlab plot` makes it by default: for a column of a paper.
    pub fn drawing(&self, figure: &Figure) -> String {
        let title = self.wanted.title.is_some();
        let look = Look { width: 252.0, font_size: 8.0, theme: Theme::Paper, unit: "pt", title, ..Look::default() };
        draw(figure, &look) + "\n"
    }

    /// The name of its files, if it is the one with this number.
    pub fn stem(&self, number: usize) -> String {
        let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '-' };
        format!("figures/{number}-{}", self.name.chars().map(plain).collect::<String>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_asked_for_by_options() {
        let spec =
            Spec::parse("sweep-lines,x=a.b,y=latency_ns.read.p99,hue=c,op=all,log=y,title=Reads, mostly").unwrap();
        let wanted = &spec.wanted;
        assert_eq!((wanted.x.as_deref(), wanted.hue.as_deref()), (Some("a.b"), Some("c")));
        assert_eq!((wanted.log_x, wanted.log_y, wanted.op), (false, true, Some(Op::All)));
        assert_eq!(wanted.title.as_deref(), Some("Reads, mostly"));
        assert_eq!(spec.stem(2), "figures/2-sweep-lines");
        for (bad, says) in [
            ("", "no name"),
            ("pareto,x", "is not NAME=VALUE"),
            ("pareto,x=", "has no value"),
            ("pareto,x=a,x=b", "is given twice"),
            ("pareto,op=trim", "none of read"),
            ("pareto,log=z", "none of x"),
            ("pareto,hua=b", "did you mean `hue`?"),
        ] {
            let error = Spec::parse(bad).unwrap_err().to_string();
            assert!(error.contains(says), "{bad}: {error}");
        }
    }
}
