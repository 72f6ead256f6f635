//! Reads a TOML value into a type. What does not fit is a value too: where it is, what is wrong, and the names that the type knows.

use std::fmt;

use serde::de::{
    self, DeserializeOwned, DeserializeSeed, Deserializer, EnumAccess, Expected, MapAccess, SeqAccess, Unexpected,
    VariantAccess, Visitor,
};
use toml::{Table, Value};

/// Names that a type has.
type Names = &'static [&'static str];

/// A value that does not fit its type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Misfit {
    /// Its dotted key, such as `nvme.queues[0].match`; empty for the whole document. An unknown key is its last part.
    pub path: String,
    /// What is wrong.
    pub fault: Wrong,
}

/// Why a value does not fit. Its text is a message without the path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wrong {
    /// A table has no such key.
    UnknownKey {
        /// The key.
        given: String,
        /// The table's keys.
        known: Names,
    },
    /// A choice has no such name.
    UnknownName {
        /// The name.
        given: String,
        /// The choice's names.
        known: Names,
    },
    /// A choice is neither a name nor a table with one name.
    NoName {
        /// The choice's names.
        known: Names,
    },
    /// A value of another type, or out of its range.
    Unfit {
        /// What it is.
        found: String,
        /// What its place takes.
        expected: String,
    },
    /// What the type itself says of its text.
    Said(String),
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Wrong::UnknownKey { given, .. } => write!(f, "unknown key `{given}`"),
            Wrong::UnknownName { given, .. } => write!(f, "unknown choice `{given}`"),
            Wrong::NoName { known } => write!(f, "expected one of {}", known.join(", ")),
            Wrong::Unfit { found, expected } => write!(f, "{found}, expected {expected}"),
            Wrong::Said(message) => f.write_str(message),
        }
    }
}

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.path.as_str() {
            "" => self.fault.fmt(f),
            path => write!(f, "{path}: {}", self.fault),
        }
    }
}

impl std::error::Error for Misfit {}

impl Misfit {
    fn new(fault: Wrong) -> Self {
        Misfit { path: String::new(), fault }
    }

    fn unfit(problem: &str, found: &dyn fmt::Display, expected: &dyn Expected) -> Self {
        Misfit::new(Wrong::Unfit { found: format!("{problem}{found}"), expected: expected.to_string() })
    }

    /// The same, in an entry of the value's table.
    fn in_key(mut self, key: &str) -> Self {
        self.path = match self.path.as_str() {
            "" => key.into(),
            inner if inner.starts_with('[') => format!("{key}{inner}"),
            inner => format!("{key}.{inner}"),
        };
        self
    }

    /// The same, in an entry of the value's list.
    fn in_place(mut self, place: usize) -> Self {
        let dot = if self.path.is_empty() || self.path.starts_with('[') { "" } else { "." };
        self.path = format!("[{place}]{dot}{}", self.path);
        self
    }

    /// A value of another type: its place takes this one.
    fn expecting(mut self, what: &str) -> Self {
        if let ("", Wrong::Unfit { expected, .. }) = (self.path.as_str(), &mut self.fault) {
            *expected = what.into();
        }
        self
    }
}

impl de::Error for Misfit {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Misfit::new(Wrong::Said(message.to_string()))
    }

    fn invalid_type(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Misfit::unfit("invalid type: ", &found, expected)
    }

    fn invalid_value(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Misfit::unfit("invalid value: ", &found, expected)
    }

    fn invalid_length(found: usize, expected: &dyn Expected) -> Self {
        Misfit::unfit("invalid length ", &found, expected)
    }

    fn unknown_variant(given: &str, known: Names) -> Self {
        Misfit::new(Wrong::UnknownName { given: given.into(), known })
    }

    fn unknown_field(given: &str, known: Names) -> Self {
        Misfit::new(Wrong::UnknownKey { given: given.into(), known })
    }
}

/// The value of a table.
///
/// # Errors
/// The first key or value that does not fit.
pub fn read<T: DeserializeOwned>(table: Table) -> Result<T, Misfit> {
    T::deserialize(ValueAt(&Value::Table(table)))
}

struct ValueAt<'v>(&'v Value);

/// Entries of a list, with the place of the next one.
struct Items<'v>(std::iter::Enumerate<std::slice::Iter<'v, Value>>);

/// Entries of a table, with the one whose value is next.
struct Entries<'v> {
    left: toml::map::Iter<'v, String, Value>,
    next: Option<(&'v str, &'v Value)>,
}

/// A name of a choice, with the value behind it where the choice is a table.
struct Choice<'v> {
    name: &'v str,
    value: Option<&'v Value>,
    known: Names,
}

/// A type of numbers, truths, lists or tables, by the method that asks for it.
macro_rules! takes {
    ($($method:ident: $what:literal),+ $(,)?) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
            self.deserialize_any(visitor).map_err(|misfit| misfit.expecting($what))
        }
    )+};
}

impl<'de> Deserializer<'de> for ValueAt<'_> {
    type Error = Misfit;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        match self.0 {
            Value::Boolean(truth) => visitor.visit_bool(*truth),
            Value::Integer(number) => visitor.visit_i64(*number),
            Value::Float(number) => visitor.visit_f64(*number),
            Value::String(text) => visitor.visit_str(text),
            Value::Datetime(time) => visitor.visit_string(time.to_string()),
            Value::Array(list) => {
                let mut items = Items(list.iter().enumerate());
                let value = visitor.visit_seq(&mut items)?;
                whole(items.0.len(), list.len(), value, "fewer elements in array")
            }
            Value::Table(table) => {
                let mut entries = Entries { left: table.iter(), next: None };
                let value = visitor.visit_map(&mut entries)?;
                whole(entries.left.len(), table.len(), value, "fewer elements in map")
            }
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(self, _: &'static str, known: Names, visitor: V) -> Result<V::Value, Misfit> {
        let choice = match self.0 {
            Value::String(name) => Some((name, None)),
            Value::Table(table) if table.len() == 1 => table.iter().next().map(|(name, value)| (name, Some(value))),
            _ => None,
        };
        let (name, value) = choice.ok_or_else(|| Misfit::new(Wrong::NoName { known }))?;
        visitor.visit_enum(Choice { name, value, known })
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, Misfit> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_struct<V: Visitor<'de>>(self, _: &'static str, _: Names, visitor: V) -> Result<V::Value, Misfit> {
        self.deserialize_any(visitor).map_err(|misfit| misfit.expecting("a table of keys"))
    }

    takes! {
        deserialize_bool: "true or false",
        deserialize_u8: "a whole number from 0 to 255",
        deserialize_u16: "a whole number from 0 to 65535",
        deserialize_u32: "a whole number from 0 to 4294967295",
        deserialize_u64: "a whole number, not negative",
        deserialize_f64: "a number",
        deserialize_seq: "a list",
    }

    serde::forward_to_deserialize_any! {
        i8 i16 i32 i64 f32 char str string unit bytes byte_buf map unit_struct tuple_struct tuple ignored_any identifier
    }
}

/// The value, if its type has taken all entries.
fn whole<T>(left: usize, all: usize, value: T, fewer: &str) -> Result<T, Misfit> {
    if left == 0 { Ok(value) } else { Err(de::Error::invalid_length(all, &fewer)) }
}

impl<'de> SeqAccess<'de> for &mut Items<'_> {
    type Error = Misfit;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Misfit> {
        let Some((place, item)) = self.0.next() else { return Ok(None) };
        seed.deserialize(ValueAt(item)).map(Some).map_err(|misfit| misfit.in_place(place))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.0.len())
    }
}

impl<'de> MapAccess<'de> for &mut Entries<'_> {
    type Error = Misfit;

    fn next_key_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Misfit> {
        let Some((key, value)) = self.left.next() else { return Ok(None) };
        self.next = Some((key, value));
        seed.deserialize(ValueAt(&Value::String(key.to_string()))).map(Some).map_err(|misfit| misfit.in_key(key))
    }

    fn next_value_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<T::Value, Misfit> {
        let (key, value) = self.next.take().ok_or_else(|| <Misfit as de::Error>::custom("a value before its key"))?;
        seed.deserialize(ValueAt(value)).map_err(|misfit| misfit.in_key(key))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.left.len())
    }
}

impl<'de> EnumAccess<'de> for Choice<'_> {
    type Error = Misfit;
    type Variant = Self;

    fn variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<(T::Value, Self), Misfit> {
        Ok((seed.deserialize(ValueAt(&Value::String(self.name.into())))?, self))
    }
}

impl Choice<'_> {
    /// The value behind the name, which the choice needs.
    fn value(&self) -> Result<ValueAt<'_>, Misfit> {
        self.value.map(ValueAt).ok_or_else(|| Misfit::new(Wrong::NoName { known: self.known }))
    }
}

impl<'de> VariantAccess<'de> for Choice<'_> {
    type Error = Misfit;

    fn unit_variant(self) -> Result<(), Misfit> {
        let problem = match self.value {
            None => return Ok(()),
            Some(Value::Array(list)) if list.is_empty() => return Ok(()),
            Some(Value::Table(table)) if table.is_empty() => return Ok(()),
            Some(Value::Array(_)) => "expected empty array".into(),
            Some(Value::Table(_)) => "expected empty table".into(),
            Some(other) => format!("expected table, found {}", other.type_str()),
        };
        Err(Misfit::new(Wrong::Said(problem)).in_key(self.name))
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, Misfit> {
        seed.deserialize(self.value()?).map_err(|misfit| misfit.in_key(self.name))
    }

    fn tuple_variant<V: Visitor<'de>>(self, length: usize, visitor: V) -> Result<V::Value, Misfit> {
        self.value()?.deserialize_tuple(length, visitor).map_err(|misfit| misfit.in_key(self.name))
    }

    fn struct_variant<V: Visitor<'de>>(self, keys: Names, visitor: V) -> Result<V::Value, Misfit> {
        self.value()?.deserialize_struct("", keys, visitor).map_err(|misfit| misfit.in_key(self.name))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields, default)]
    struct Drive {
        dies: u32,
        queues: Vec<Queue>,
        order: Order,
        shares: BTreeMap<String, f64>,
        pair: Option<(u8, u64)>,
    }

    impl Default for Drive {
        fn default() -> Self {
            Drive { dies: 1, queues: Vec::new(), order: Order::Fifo, shares: BTreeMap::new(), pair: None }
        }
    }

    #[derive(Debug, Deserialize)]
    struct Queue {
        name: String,
        weight: Option<u16>,
    }

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    enum Order {
        Fifo,
        Size(u64),
        Both { reads: bool },
    }

    fn drive(text: &str) -> Result<Drive, Misfit> {
        read(text.parse().unwrap())
    }

    #[test]
    fn a_document_becomes_its_type() {
        let text = "dies = 4\norder = { both = { reads = true } }\npair = [1, 2]\n[shares]\na = 0.5\n[[queues]]\nname = \"x\"\nweight = 3\n";
        let drive = drive(text).unwrap();
        assert_eq!((drive.dies, drive.order, drive.pair), (4, Order::Both { reads: true }, Some((1, 2))));
        assert_eq!((drive.queues[0].name.as_str(), drive.queues[0].weight, drive.shares["a"]), ("x", Some(3), 0.5));
    }

    /// Every misfit names its place; names come from the type, and a wrong type says what is taken there.
    #[test]
    fn what_does_not_fit_is_a_value() {
        let misfit = |text: &str| drive(text).unwrap_err();
        const KEYS: Names = &["dies", "queues", "order", "shares", "pair"];
        const NAMES: Names = &["fifo", "size", "both"];
        let at = |path: &str, fault: Wrong| Misfit { path: path.into(), fault };
        let given = |given: &str| given.to_string();
        assert_eq!(misfit("dice = 1"), at("dice", Wrong::UnknownKey { given: given("dice"), known: KEYS }));
        assert_eq!(misfit("order = \"lifo\""), at("order", Wrong::UnknownName { given: given("lifo"), known: NAMES }));
        for no_name in ["3", "{ fifo = {}, size = 1 }", "{}", "\"size\""] {
            assert_eq!(misfit(&format!("order = {no_name}")), at("order", Wrong::NoName { known: NAMES }));
        }
        for (text, message) in [
            ("dies = \"4\"", "dies: invalid type: string \"4\", expected a whole number from 0 to 4294967295"),
            ("dies = -1", "dies: invalid value: integer `-1`, expected a whole number from 0 to 4294967295"),
            ("dies = [4]", "dies: invalid type: sequence, expected a whole number from 0 to 4294967295"),
            ("queues = 3", "queues: invalid type: integer `3`, expected a list"),
            ("queues = [3]", "queues[0]: invalid type: integer `3`, expected a table of keys"),
            ("queues = [{ name = \"a\" }, {}]", "queues[1]: missing field `name`"),
            (
                "queues = [{ name = \"a\", weight = 65536 }]",
                "queues[0].weight: invalid value: integer `65536`, expected a whole number from 0 to 65535",
            ),
            ("pair = [256, 1]", "pair[0]: invalid value: integer `256`, expected a whole number from 0 to 255"),
            ("pair = [1, 2, 3]", "pair: invalid length 3, expected fewer elements in array"),
            ("shares = { a = true }", "shares.a: invalid type: boolean `true`, expected a number"),
            (
                "order = { size = 1.5 }",
                "order.size: invalid type: floating point `1.5`, expected a whole number, not negative",
            ),
            ("order = { both = { reads = 1 } }", "order.both.reads: invalid type: integer `1`, expected true or false"),
            ("order = { fifo = 3 }", "order.fifo: expected table, found integer"),
        ] {
            assert_eq!(misfit(text).to_string(), message);
        }
    }
}
