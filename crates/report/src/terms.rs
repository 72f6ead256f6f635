//! The terms of a page: those entries of the glossary (docs/glossary.md) whose words its text has.

/// The glossary, a table of terms and meanings.
const GLOSSARY: &str = include_str!("../../../docs/glossary.md");

/// Words that pages have in their common sense, too: they are no sign of the term.
const COMMON: [&str; 9] = ["model", "order", "page", "path", "program", "route", "run", "seed", "slot"];

/// A term and its meaning, without links to other pages.
fn entries() -> impl Iterator<Item = (String, String)> {
    let rows = GLOSSARY.lines().skip_while(|line| !line.starts_with("| ---")).skip(1);
    rows.filter_map(|row| {
        let (term, meaning) = row.strip_prefix("| ")?.strip_suffix(" |")?.split_once(" | ")?;
        Some((plain(term), plain(meaning)))
    })
}

/// A meaning without the links at its end, and without marks of code.
fn plain(meaning: &str) -> String {
    let mut out = String::new();
    let mut rest = meaning;
    while let Some((before, link)) = rest.split_once('[') {
        out.push_str(before);
        rest = link.split_once(')').map_or("", |(_, after)| after);
    }
    out.push_str(rest);
    let out = out.replace(" ()", "").replace(", )", ")").replace('`', "");
    out.trim_end().to_string()
}

/// The text of a page without its markup.
fn text(markup: &str) -> String {
    let mut out = String::with_capacity(markup.len() / 4);
    for part in markup.split('<') {
        out.push(' ');
        out.push_str(part.split_once('>').map_or(part, |(_, text)| text));
    }
    out
}

/// Whether a text has a word or words, also in the plural. Short forms in capitals are compared as they are.
fn has(text: &str, lower: &str, term: &str) -> bool {
    let (text, term) =
        if term.chars().all(|c| !c.is_lowercase()) { (text, term.to_string()) } else { (lower, term.to_lowercase()) };
    let letter = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(&term).any(|(at, _)| {
        let after = &text[at + term.len()..];
        let after = after.strip_prefix('s').unwrap_or(after);
        !text[..at].ends_with(letter) && !after.starts_with(letter)
    })
}

/// The terms that some markup has, in the order of the glossary.
pub(crate) fn of(markup: &str) -> Vec<(String, String)> {
    let text = text(markup);
    let lower = text.to_lowercase();
    let named = |term: &str| term.split(" (").next().unwrap_or(term).to_string();
    let found = |term: &String| !COMMON.contains(&named(term).as_str()) && has(&text, &lower, &named(term));
    entries().filter(|(term, _)| found(term)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_glossary_has_sixty_terms_in_order() {
        let terms: Vec<String> = entries().map(|(term, _)| term.to_lowercase()).collect();
        assert!(terms.len() >= 60, "{} terms", terms.len());
        assert!(terms.is_sorted(), "{:?}", terms.windows(2).find(|two| two[0] > two[1]));
        for (term, meaning) in entries() {
            assert!(meaning.len() > 10 && !meaning.contains(['[', '`']), "{term}: {meaning}");
        }
    }

    #[test]
    fn terms_are_those_of_the_text_and_not_of_the_markup() {
        let names = |markup: &str| of(markup).into_iter().map(|(term, _)| term).collect::<Vec<_>>();
        assert_eq!(names("<p class=\"page\">Victims, and WA.</p><path d=\"\"/>"), ["victim", "WA"]);
        assert_eq!(names("was overdue for a pagefile"), Vec::<String>::new());
        assert!(COMMON.iter().all(|word| entries().any(|(term, _)| term.split(" (").next() == Some(word))));
        assert_eq!(plain("a hash (`x`, [model.md](model.md))"), "a hash (x)");
        assert_eq!(plain("the choice ([nvme.md](nvme.md))"), "the choice");
    }
}
