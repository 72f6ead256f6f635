//! The axes of a comparison, `KEY=V1,V2,...` each, and the variants that they span.

use std::collections::BTreeMap;

use ssdlab_sim::ConfigError;

use crate::error::{Error, Result, Spot};
use crate::names::clip;
use crate::policies::Policies;
use crate::settings::{Document, Settings, Sources};
use crate::text::count;

/// A key and the values it takes.
#[derive(Clone, Debug)]
pub struct Axis {
    /// A dotted key, `preset` or `file`.
    pub key: String,
    /// The values as written, or the names of policies.
    pub values: Vec<String>,
    /// Policies from outside among the values, by name.
    pub policies: BTreeMap<String, Policies>,
}

/// A point of the product of all axes.
#[derive(Clone, Debug)]
pub struct Variant {
    /// Its value on each axis.
    pub values: Vec<String>,
    /// Its configuration.
    pub settings: Settings,
    /// The rule that it breaks, if any.
    pub refused: Option<ConfigError>,
}

impl Axis {
    /// Checks values that did not come from a text.
    ///
    /// # Errors
    /// There is none, or one is given twice.
    pub fn check(&self) -> Result<()> {
        let key = clip(&self.key);
        if self.values.is_empty() {
            return Err(Error::usage(format!("no values for `{key}`")).help("give at least one"));
        }
        for (i, value) in self.values.iter().enumerate() {
            if self.values[..i].contains(value) {
                return Err(
                    Error::usage(format!("{key}: the value `{}` is given twice", clip(value))).help("give it once")
                );
            }
        }
        Ok(())
    }

    /// Reads one argument. Values are split at commas outside brackets, braces and quotes.
    ///
    /// # Errors
    /// There is no key, or a value is empty or given twice.
    pub fn parse(argument: &str) -> Result<Axis> {
        let wrong = |message: String, from: usize, to: usize| {
            let spot = Spot { name: "--vary".into(), text: argument.into(), span: from..to, label: String::new() };
            Error::usage(message).at(spot).help("write --vary KEY=V1,V2,..., such as --vary schemes.victim=greedy,fifo")
        };
        let end = argument.len();
        let Some(equals) = argument.find('=') else { return Err(wrong("no `=` after the key".into(), end, end)) };
        let key = argument[..equals].trim().to_string();
        if key.is_empty() {
            return Err(wrong("no key before the `=`".into(), 0, equals + 1));
        }
        let mut values: Vec<String> = Vec::new();
        let mut from = equals + 1;
        for to in cuts(&argument[from..]).into_iter().map(|cut| cut + equals + 1) {
            let value = argument[from..to].trim();
            if value.is_empty() {
                return Err(wrong(format!("an empty value for `{}`", clip(&key)), from.min(end), to));
            }
            if values.iter().any(|other| other == value) {
                return Err(wrong(format!("the value `{}` is given twice", clip(value)), from, to));
            }
            values.push(value.into());
            from = to + 1;
        }
        Ok(Axis { key, values, policies: BTreeMap::new() })
    }
}

/// The ends of values: at commas outside brackets, braces and quotes, and at the end of the text.
pub fn cuts(text: &str) -> Vec<usize> {
    let (mut depth, mut quote, mut escaped) = (0i32, None, false);
    let mut cuts = Vec::new();
    for (at, c) in text.char_indices() {
        match (quote, c) {
            (Some('"'), '\\') if !escaped => {
                escaped = true;
                continue;
            }
            (Some(open), _) if c == open && !escaped => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(c),
            (None, '[' | '{') => depth += 1,
            (None, ']' | '}') => depth -= 1,
            (None, ',') if depth <= 0 => cuts.push(at),
            _ => {}
        }
        escaped = false;
    }
    cuts.push(text.len());
    cuts
}

/// All axes.
///
/// # Errors
/// As [`Axis::parse`], or two of them have one key.
pub fn axes(arguments: &[String]) -> Result<Vec<Axis>> {
    let axes = arguments.iter().map(|argument| Axis::parse(argument)).collect::<Result<Vec<_>>>()?;
    for (i, axis) in axes.iter().enumerate() {
        if axes[..i].iter().any(|other| other.key == axis.key) {
            return Err(Error::usage(format!("--vary gives `{}` twice", clip(&axis.key)))
                .help("list all its values in one --vary"));
        }
    }
    Ok(axes)
}

/// Refuses axes that contradict the configuration below them.
///
/// # Errors
/// A preset is both given and varied.
pub fn agree(axes: &[Axis], sources: &Sources) -> Result<()> {
    if axes.iter().any(|axis| axis.key == "preset") && sources.preset.is_some() {
        return Err(Error::usage("both --preset and --vary preset=...").help("leave --preset out"));
    }
    Ok(())
}

/// The runs that a comparison takes.
///
/// # Errors
/// They are more than `most`.
pub fn points(axes: &[Axis], repeat: u64, most: u64) -> Result<u64> {
    let factors = axes.iter().map(|axis| axis.values.len() as u64).chain([repeat]);
    let product = factors.clone().try_fold(1u64, u64::checked_mul);
    match product {
        Some(points) if points <= most => Ok(points),
        _ => {
            let factors = factors.map(|n| n.to_string()).collect::<Vec<_>>().join(" x ");
            let points = product.map_or("more than 2^64".into(), count);
            Err(Error::usage(format!("{factors} = {points} runs, more than {}", count(most)))
                .help("vary fewer keys or values, or raise --max-points"))
        }
    }
}

/// Every combination of values, the last axis varying fastest. A value that can't be read is an error; a combination that
/// breaks a rule becomes a variant marked as refused.
///
/// # Errors
/// As [`Settings::merge`].
pub fn variants(sources: &Sources, axes: &[Axis]) -> Result<Vec<Variant>> {
    let total: usize = axes.iter().map(|axis| axis.values.len()).product();
    let variant = |number: usize| {
        let mut rest = number;
        let mut values: Vec<String> = Vec::new();
        for axis in axes.iter().rev() {
            values.push(axis.values[rest % axis.values.len()].clone());
            rest /= axis.values.len();
        }
        values.reverse();
        let mut sources = sources.clone();
        let policies = axes.iter().zip(&values).filter_map(|(axis, value)| axis.policies.get(value));
        for (axis, value) in axes.iter().zip(&values).filter(|(axis, value)| !axis.policies.contains_key(*value)) {
            match axis.key.as_str() {
                "preset" => sources.preset = Some(value.clone()),
                "file" => sources.files.push(Document::File(value.into())),
                key => sources.varied.push(format!("{key}={value}")),
            }
        }
        let mut settings = Settings::merge(&sources)?;
        policies.for_each(|policies| policies.put(&mut settings.config));
        let refused = settings.config.check().err();
        Ok(Variant { values, settings, refused })
    };
    (0..total).map(variant).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_end_at_commas_outside_brackets_and_quotes() {
        let values = |text: &str| Axis::parse(text).unwrap().values;
        assert_eq!(values("a.b=1,2"), ["1", "2"]);
        assert_eq!(
            values("schemes.collector=serial, { pagc = { when = \"below\", threshold = 0.1 } },queued"),
            ["serial", "{ pagc = { when = \"below\", threshold = 0.1 } }", "queued"]
        );
        assert_eq!(
            values("timing.read=[\"1us\",\"2us\"],'a,b',\"c\\\",d\""),
            ["[\"1us\",\"2us\"]", "'a,b'", "\"c\\\",d\""]
        );
        assert_eq!(values("a=b=c"), ["b=c"]);
        for bad in ["a", "=1", "a=", "a=1,", "a=,1", "a=1,,2", "a=1,1"] {
            assert!(Axis::parse(bad).is_err(), "{bad}");
        }
    }
}
