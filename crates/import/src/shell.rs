//! The words of a shell script with their places in the text: quotes, continued lines, comments, and variables that the text assigns.
//! Nothing is run. Conditions are not evaluated: the last assignment above a use counts.

use std::collections::BTreeMap;
use std::ops::Range;

use ssdlab_lab::error::Result;

use crate::keys::Given;

/// Most characters that variables may add. Scripts need thousands.
const MOST_EXPANDED: usize = 1 << 20;

/// Most characters between the braces of a variable.
const MOST_NAME: usize = 256;

/// Words before a command or an assignment that change neither.
const LEADING: [&str; 9] = ["export", "local", "readonly", "declare", "then", "else", "do", "{", "sudo"];

/// Characters, each with the byte of the text at which it stands. Those of a variable stand where it was assigned.
#[derive(Clone, Debug, Default)]
pub(crate) struct Word(Vec<(char, usize)>);

impl Word {
    pub fn text(&self) -> String {
        self.0.iter().map(|(c, _)| c).collect()
    }

    pub fn start(&self) -> Option<usize> {
        self.0.first().map(|(_, at)| *at)
    }

    /// Its place, if it is in one piece; otherwise that of its first character. `none` is the place of an empty word.
    pub fn place(&self, none: usize) -> Range<usize> {
        let Some((first, start)) = self.0.first() else { return none..none };
        let pieces = self.0.windows(2).all(|pair| pair[1].1 >= pair[0].1 + pair[0].0.len_utf8());
        match self.0.last().filter(|_| pieces) {
            Some((last, at)) => *start..at + last.len_utf8(),
            None => *start..start + first.len_utf8(),
        }
    }

    pub fn split(&self, at: char) -> Vec<Word> {
        self.0.split(|(c, _)| *c == at).map(|part| Word(part.to_vec())).collect()
    }

    pub fn split_once(&self, at: char) -> Option<(Word, Word)> {
        let cut = self.0.iter().position(|(c, _)| *c == at)?;
        Some((Word(self.0[..cut].to_vec()), Word(self.0[cut + 1..].to_vec())))
    }

    pub fn trim(&self) -> Word {
        let blank = |(c, _): &(char, usize)| c.is_whitespace();
        let from = self.0.iter().position(|c| !blank(c)).unwrap_or(self.0.len());
        let to = self.0.iter().rposition(|c| !blank(c)).map_or(from, |last| last + 1);
        Word(self.0[from..to].to_vec())
    }

    pub fn ends_with(&self, end: char) -> bool {
        self.0.last().is_some_and(|(c, _)| *c == end)
    }

    pub fn extend(&mut self, other: &Word) {
        self.0.extend_from_slice(&other.0);
    }

    /// Name and value of an assignment, and whether the value is added to the one before.
    pub fn assignment(&self) -> Option<(String, Word, bool)> {
        let (name, value) = self.split_once('=')?;
        let name = name.text();
        let added = name.ends_with('+');
        let name = name.strip_suffix('+').unwrap_or(&name);
        let plain = name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
        let starts = name.bytes().next().is_some_and(|b| !b.is_ascii_digit());
        (plain && starts).then(|| (name.to_string(), value, added))
    }
}

/// A command: its words, variables in place.
pub(crate) type Command = Vec<Word>;

/// The commands of a script, and what its variables hold at the end.
///
/// # Errors
/// Variables grow without limit.
pub(crate) fn commands(given: &Given) -> Result<(Vec<Command>, BTreeMap<String, Word>)> {
    let mut script = Script {
        given,
        at: 0,
        variables: BTreeMap::new(),
        words: Vec::new(),
        word: None,
        leads: true,
        equals: false,
        assigns: false,
        expanded: 0,
    };
    let mut commands = Vec::new();
    while script.at < given.text.len() {
        script.command()?;
        let words = std::mem::take(&mut script.words);
        if !words.is_empty() {
            script.assign(&words);
            commands.push(words);
        }
    }
    Ok((commands, script.variables))
}

/// How many words at the start of a command are assignments, or lead to one.
fn leading(words: &[Word]) -> usize {
    words.iter().take_while(|word| LEADING.contains(&&*word.text()) || word.assignment().is_some()).count()
}

struct Script<'g> {
    given: &'g Given,
    at: usize,
    variables: BTreeMap<String, Word>,
    words: Vec<Word>,
    word: Option<Word>,
    /// Whether all words of the command so far are assignments, or lead to one.
    leads: bool,
    /// Whether the word has an equals sign, and is an assignment by what stands before it.
    equals: bool,
    assigns: bool,
    /// Characters that variables added so far.
    expanded: usize,
}

impl Script<'_> {
    fn next(&mut self) -> Option<(char, usize)> {
        let c = self.given.text[self.at..].chars().next()?;
        let at = self.at;
        self.at += c.len_utf8();
        Some((c, at))
    }

    fn peek(&self) -> Option<char> {
        self.given.text[self.at..].chars().next()
    }

    fn push(&mut self, c: (char, usize)) {
        let word = self.word.get_or_insert_default();
        word.0.push(c);
        if c.0 == '=' && !self.equals {
            self.equals = true;
            self.assigns = word.assignment().is_some();
        }
    }

    fn end_word(&mut self) {
        let Some(word) = self.word.take() else { return };
        self.leads &= self.assigns || LEADING.contains(&&*word.text());
        (self.equals, self.assigns) = (false, false);
        self.words.push(word);
    }

    /// Reads up to the end of a command. Quotes end with their line: prose has apostrophes.
    fn command(&mut self) -> Result<()> {
        let mut quote: Option<char> = None;
        self.leads = true;
        while let Some((c, at)) = self.next() {
            match c {
                '\n' => break,
                '\\' if quote != Some('\'') => {
                    let rest = &self.given.text[self.at..];
                    let end = [("\n", 1), ("\r\n", 2)].into_iter().find(|(end, _)| rest.starts_with(end));
                    match end {
                        Some((_, bytes)) => self.at += bytes,
                        None => {
                            if let Some(escaped) = self.next() {
                                self.push(escaped);
                            }
                        }
                    }
                }
                '"' | '\'' if quote.is_none_or(|open| open == c) => {
                    quote = if quote.is_some() { None } else { Some(c) };
                    self.word.get_or_insert_default();
                }
                '$' if quote != Some('\'') => self.variable(at, quote.is_some())?,
                ';' | '&' | '|' if quote.is_none() => break,
                '#' if quote.is_none() && self.word.is_none() => {
                    while self.peek().is_some_and(|c| c != '\n') {
                        self.next();
                    }
                }
                '(' | ')' if quote.is_none() => self.end_word(),
                c if c.is_whitespace() && quote.is_none() => self.end_word(),
                c => self.push((c, at)),
            }
        }
        self.end_word();
        Ok(())
    }

    /// What follows a `$` at byte `at`: a variable's value, or the text as it is if the script does not assign it.
    fn variable(&mut self, at: usize, quoted: bool) -> Result<()> {
        let text = &self.given.text;
        let rest = &text[self.at..];
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let (name, default, length) = if rest.starts_with('(') {
            // A command or a sum is not run.
            let mut open = 0usize;
            let close = rest.find(|c| {
                open = if c == '(' { open + 1 } else { open.saturating_sub(usize::from(c == ')')) };
                open == 0 || c == '\n'
            });
            ("", None, close.map_or(rest.len(), |close| close + usize::from(rest[close..].starts_with(')'))))
        } else if let Some(inner) = rest.strip_prefix('{') {
            let close = inner.char_indices().take(MOST_NAME).find(|(_, c)| "}\n".contains(*c));
            let Some((close, '}')) = close else {
                self.push(('$', at));
                return Ok(());
            };
            let inner = &inner[..close];
            let name = inner.find(|c| !is_name(c)).map_or(inner, |end| &inner[..end]);
            let default = inner[name.len()..].strip_prefix(":-").or(inner[name.len()..].strip_prefix('-'));
            (name, default, close + 2)
        } else {
            let name = rest.find(|c| !is_name(c)).map_or(rest, |end| &rest[..end]);
            (name, None, name.len())
        };
        let literal = |from: usize, text: &str| Word(text.char_indices().map(|(at, c)| (c, from + at)).collect());
        let value = match (self.variables.get(name), default) {
            (Some(value), _) => value.clone(),
            (None, Some(default)) => literal(self.at + 1 + rest[1..].find(default).unwrap_or(0), default),
            (None, None) => literal(at, &text[at..self.at + length]),
        };
        self.at += length;
        if self.variables.contains_key(name) {
            self.expanded += value.0.len();
        }
        if self.expanded > MOST_EXPANDED {
            let error = self.given.refuse("", at..self.at, "variables hold more than a million characters in all");
            return Err(error.help("give the properties of the device on a line of their own"));
        }
        let whole = quoted || (self.leads && self.assigns);
        for c in value.0 {
            match c.0.is_whitespace() && !whole {
                true => self.end_word(),
                false => self.push(c),
            }
        }
        Ok(())
    }

    fn assign(&mut self, words: &[Word]) {
        for (name, value, added) in words[..leading(words)].iter().filter_map(Word::assignment) {
            let old = self.variables.entry(name).or_default();
            if added {
                old.extend(&value);
            } else {
                *old = value;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<Vec<String>> {
        let (commands, _) = commands(&Given::new("script", text)).unwrap();
        commands.iter().map(|words| words.iter().map(Word::text).collect()).collect()
    }

    #[test]
    fn words_are_those_of_a_shell() {
        assert_eq!(
            words("a -x b,\\\nc \\\r\n d # e\n'f g' \"h\"i; j"),
            [vec!["a", "-x", "b,c", "d"], vec!["f g", "hi"], vec!["j"]]
        );
        let script = "N=3\nO=\"-x n=$N\"\nO+=\",m=${M:-4}\"\nO=\"$O,k=$((2*4))\"\nrun ${O} \"$O\" $P it's\nend";
        let all = words(script);
        assert_eq!(all[4], ["run", "-x", "n=3,m=4,k=$((2*4))", "-x n=3,m=4,k=$((2*4))", "$P", "its"]);
        assert_eq!(all[5], ["end"]);
        // A value stands where it was assigned.
        let given = Given::new("script", script);
        let (commands, variables) = commands(&given).unwrap();
        let place = commands[4][2].split(',')[0].split_once('=').unwrap().1.place(0);
        assert_eq!((&script[place.clone()], place.start), ("3", 2));
        assert_eq!(variables["N"].text(), "3");
        let bomb = "a=xx\n".to_string() + &"a=$a$a\n".repeat(64);
        assert!(super::commands(&Given::new("bomb", &bomb)).is_err());
        for slow in
            ["a=$b ".repeat(500_000), "${".repeat(1_000_000), "$b".repeat(1_000_000), "-device a, ".repeat(300_000)]
        {
            assert!(super::commands(&Given::new("slow", &slow)).is_ok());
        }
        for odd in ["$", "${", "${a", "$(", "\\", "'", "\"", "a=${b:-", "${:-}", "${}", "${é}", "é=$é"] {
            let _ = super::commands(&Given::new("odd", odd));
        }
    }
}
