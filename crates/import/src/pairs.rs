//! Lines of keys and values: `key = value;`, INI, and `KEY value`.

use ssdlab_lab::error::Result;

use crate::keys::{Given, Key};

/// How a line divides into key and value.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// `key = value;`, comments from `#` on (SSDsim).
    Semicolon,
    /// `[section]` and `key = value`, comments from `#` or `;` on.
    Ini,
    /// `KEY value`, comments in lines of their own (FlashSim).
    Blank,
}

/// The keys of a text.
///
/// # Errors
/// A line is neither a comment nor a key with its value, or there are too many.
pub(crate) fn read(name: &str, text: &str, form: Form) -> Result<Given> {
    let mut given = Given::new(name, text);
    let mut section = String::new();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let offset = start;
        start += line.len();
        let content = uncommented(line, form);
        let trimmed = content.trim();
        if trimmed.is_empty() {
            continue;
        }
        let at = offset + (content.len() - content.trim_start().len());
        let place = at..at + trimmed.len();
        if form == Form::Ini
            && let Some(inner) = trimmed.strip_prefix('[')
        {
            let Some(name) = inner.strip_suffix(']') else {
                return Err(given.refuse("", place, "a section without its closing bracket").help("write [section]"));
            };
            section = name.trim().into();
            continue;
        }
        let Some(key) = pair(trimmed, at, form, &section) else {
            return Err(given.refuse("", place, "neither a comment nor a key with its value").help(match form {
                Form::Blank => "expected KEY value, such as PAGE_SIZE 4096",
                Form::Semicolon => "expected key = value;, such as page number = 64;",
                Form::Ini => "expected key = value, such as Page = 512",
            }));
        };
        given.push(key)?;
    }
    Ok(given)
}

fn uncommented(line: &str, form: Form) -> &str {
    let line = line.trim_start_matches('\u{feff}');
    let comment = match form {
        Form::Semicolon => line.find('#'),
        Form::Ini => line.find(['#', ';']),
        Form::Blank => line.trim_start().starts_with('#').then_some(0),
    };
    comment.map_or(line, |at| &line[..at])
}

/// A key and its value, which begin at byte `at`.
fn pair(line: &str, at: usize, form: Form, section: &str) -> Option<Key> {
    let (name, rest, gap) = match form {
        Form::Blank => {
            let (name, rest) = line.split_once(char::is_whitespace)?;
            (name, rest, line.len() - rest.len())
        }
        Form::Semicolon | Form::Ini => {
            let (name, rest) = line.split_once('=')?;
            (name, rest, name.len() + 1)
        }
    };
    let trimmed = match form {
        Form::Semicolon => rest.split(';').next().unwrap_or(rest),
        Form::Ini | Form::Blank => rest,
    };
    let lead = trimmed.len() - trimmed.trim_start().len();
    let (name, value) = (name.trim(), trimmed.trim());
    if name.is_empty() || (value.is_empty() && form != Form::Ini) {
        return None;
    }
    let from = at + gap + lead;
    Some(Key {
        section: section.into(),
        name: name.into(),
        value: value.into(),
        at: at..at + name.len(),
        value_at: from..from + value.len(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_have_their_places() {
        let text = "#x\nchip number[0] = 2; #two\n gc threshold=0.30;\n";
        let given = read("p", text, Form::Semicolon).unwrap();
        let shown: Vec<(&str, &str, &str, &str)> = given
            .keys
            .iter()
            .map(|key| (&*key.name, &*key.value, &text[key.at.clone()], &text[key.value_at.clone()]))
            .collect();
        let both = |name, value| (name, value, name, value);
        assert_eq!(shown, [both("chip number[0]", "2"), both("gc threshold", "0.30")]);
        let ini = read("p", "[pal]\nPage = 512 # pages\nSuperblockSize =\n", Form::Ini).unwrap();
        assert_eq!(ini.keys[0].path(), "pal/Page");
        assert_eq!((ini.keys[0].value.as_str(), ini.keys[1].value.as_str()), ("512", ""));
        assert_eq!(read("p", "PAGE_SIZE\t4096\n", Form::Blank).unwrap().keys[0].value, "4096");
        for (bad, form) in [("[pal\n", Form::Ini), ("word\n", Form::Blank), ("a;\n", Form::Semicolon)] {
            assert!(read("p", bad, form).is_err(), "{bad}");
        }
    }
}
