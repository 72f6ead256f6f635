//! Names and lines of unknown origin: escaped for output, and compared with known names.

use ssdlab_trace::foreign;

/// A name of unknown origin in a message: cut short, control characters escaped.
pub fn clip(text: &str) -> String {
    foreign(text, 60)
}

/// A line of unknown origin next to results, such as the description of a workload.
pub fn clip_line(text: &str) -> String {
    foreign(text, 400)
}

/// The nearest of some known names, if one is near enough to be meant.
pub fn nearest<'n>(name: &str, known: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    let name: String = name.chars().take(80).collect();
    known
        .into_iter()
        .map(|candidate| (strsim::damerau_levenshtein(&name.to_lowercase(), &candidate.to_lowercase()), candidate))
        .filter(|(distance, candidate)| *distance <= 1 + candidate.len().min(name.len()) / 4)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// A help that says which of the known names is meant, if one is near enough, and then all of them: `The presets are a, b`.
pub fn suggest<'n>(name: &str, known: impl IntoIterator<Item = &'n str>, all: &str) -> String {
    let known: Vec<&str> = known.into_iter().collect();
    let meant = nearest(name, known.iter().copied()).map_or(String::new(), |meant| format!("did you mean `{meant}`? "));
    format!("{meant}{all} {}", if known.is_empty() { "none".into() } else { known.join(", ") })
}
