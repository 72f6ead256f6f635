//! XML as keys: an element without elements in it is one.

use roxmltree::{Document, Node, ParsingOptions};
use ssdlab_lab::error::{Error, Result};

use crate::keys::{Given, Key};

/// Most elements, texts and attributes of a file.
const NODES: u32 = 500_000;
/// Most attributes of an element: the parser compares each with all others.
const ATTRIBUTES: usize = 1_000;

/// The keys of a document. `section` names the part of the file for the element around a key. `enter` is given every element, with the
/// number of keys before it, and says whether it is there for the elements in it: then it is no key, also where it is empty.
///
/// # Errors
/// It is not XML, defines entities, or is too large.
pub(crate) fn read<T>(
    name: &str,
    text: &str,
    state: &mut T,
    mut enter: impl FnMut(&mut T, Node, usize) -> bool,
    mut section: impl FnMut(&mut T, Node) -> String,
) -> Result<Given> {
    let mut given = Given::new(name, text);
    if let Some(at) = crowded(text) {
        let message = format!("an element with more than {ATTRIBUTES} attributes");
        let fault = given.refuse("", at..at, message);
        return Err(fault.help("expected a configuration file in XML, as the simulator reads it"));
    }
    let options = ParsingOptions { allow_dtd: false, nodes_limit: NODES, ..ParsingOptions::default() };
    // The originals' parser skips what stands before the declaration; places count from the start of the file.
    let skipped = text.len() - text.trim_start_matches('\u{feff}').trim_start().len();
    let document =
        Document::parse_with_options(&text[skipped..], options).map_err(|error| refuse(&given, &error, skipped))?;
    for node in document.root_element().descendants().filter(Node::is_element) {
        let container = enter(state, node, given.keys.len());
        let section = match node.parent().filter(Node::is_element) {
            Some(parent) => section(state, parent),
            None => String::new(),
        };
        let tag = node.tag_name().name();
        let start = skipped + node.range().start + 1;
        let at = start..start + tag.len();
        for attribute in node.attributes() {
            given.push(Key {
                section: section.clone(),
                name: format!("{tag}@{}", attribute.name()),
                value: attribute.value().trim().into(),
                at: moved(attribute.range_qname(), skipped),
                value_at: moved(attribute.range_value(), skipped),
            })?;
        }
        let inner = node.parent().is_some_and(|parent| parent.is_element());
        if container || !inner || node.children().any(|child| child.is_element()) {
            continue;
        }
        let value_at = node.first_child().map_or(at.end..at.end, |child| moved(child.range(), skipped));
        let value = node.text().unwrap_or_default().trim().to_string();
        given.push(Key { section, name: tag.into(), value, at, value_at })?;
    }
    Ok(given)
}

/// The place of the first element with more than [`ATTRIBUTES`] attributes, if there is one. One pass over the text, which need not
/// be XML: what the parser would refuse before it reads that element is refused by it.
fn crowded(text: &str) -> Option<usize> {
    let mut from = 0;
    while let Some(found) = text[from..].find('<') {
        let start = from + found;
        let rest = &text[start..];
        let ends = [("<!--", "-->"), ("<![CDATA[", "]]>"), ("<?", "?>"), ("<!", ">")];
        if let Some((begin, end)) = ends.into_iter().find(|(begin, _)| rest.starts_with(begin)) {
            from = start + begin.len() + rest[begin.len()..].find(end)? + end.len();
            continue;
        }
        let (mut attributes, mut quote) = (0, None);
        let mut end = text.len();
        for (at, byte) in rest.bytes().enumerate().skip(1) {
            match (quote, byte) {
                (Some(open), byte) if byte == open => quote = None,
                (Some(_), _) => {}
                (None, b'"' | b'\'') => quote = Some(byte),
                (None, b'=') => attributes += 1,
                (None, b'>') => {
                    end = start + at;
                    break;
                }
                _ => {}
            }
        }
        if attributes > ATTRIBUTES {
            return Some(start);
        }
        from = end;
    }
    None
}

/// The name of the outermost element, if the text is XML at all.
pub(crate) fn root(text: &str) -> Option<String> {
    let mut rest = text.trim_start_matches('\u{feff}').trim_start();
    for _ in 0..64 {
        rest = match rest.as_bytes() {
            [b'<', b'?', ..] => rest.split_once("?>")?.1.trim_start(),
            [b'<', b'!', b'-', b'-', ..] => rest.split_once("-->")?.1.trim_start(),
            // A document type, which may hold entities in brackets.
            [b'<', b'!', ..] => rest.split_once("]>").or(rest.split_once('>'))?.1.trim_start(),
            [b'<', ..] => {
                let name = rest[1..].split(|c: char| c.is_whitespace() || c == '>' || c == '/').next()?;
                return (!name.is_empty()).then(|| name.to_string());
            }
            _ => return None,
        };
    }
    None
}

/// A range of a text as one of the file before it was cut.
fn moved(range: std::ops::Range<usize>, by: usize) -> std::ops::Range<usize> {
    range.start + by..range.end + by
}

fn refuse(given: &Given, error: &roxmltree::Error, skipped: usize) -> Error {
    let place = error.pos();
    let text = &given.text[skipped..];
    let line = text.split_inclusive('\n').take((place.row as usize).saturating_sub(1));
    let start = skipped + line.map(str::len).sum::<usize>();
    let column = given.text[start..].chars().take((place.col as usize).saturating_sub(1)).map(char::len_utf8).sum();
    let at = (start + usize::min(column, given.text.len() - start)).min(given.text.len());
    let message = match error {
        roxmltree::Error::DtdDetected => "a document type definition is not allowed here".to_string(),
        roxmltree::Error::NodesLimitReached => format!("more than {NODES} elements"),
        // The library ends its messages with the place, which is shown anyway.
        other => other.to_string().split(" at ").next().unwrap_or("not XML").to_string(),
    };
    given.refuse("", at..at, message).help("expected a configuration file in XML, as the simulator reads it")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_element_with_too_many_attributes_is_found_in_one_pass() {
        let element = |n: usize| (0..n).map(|i| format!(" a{i}='<x=\"1\" y=2>'")).collect::<String>();
        let text =
            |n: usize| format!("<?xml version='1.0'?><!-- <a b='c' --><r><b c=\"1\">d = e</b><x{}/></r>", element(n));
        assert_eq!(crowded(&text(ATTRIBUTES)), None, "values, texts and comments have no attributes");
        let crowd = text(ATTRIBUTES + 1);
        assert_eq!(crowded(&crowd), crowd.find("<x"));
        // Many elements with some each are no crowd; text that is no XML ends the pass.
        assert_eq!(crowded(&format!("<r>{}</r>", "<b c='1' d='2'/>".repeat(5000))), None);
        assert_eq!((crowded("<a b='"), crowded("<!-- "), crowded("< = "), crowded("")), (None, None, None, None));
    }
}
