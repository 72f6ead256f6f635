//! Policy: one file per scheme, and one line here to register it.
//!
//! A scheme's struct is its configuration, its doc comment is its manual page. Its methods read a [`crate::policy::View`] and
//! return a value. A scheme never changes time.

pub mod collect;
#[cfg(test)]
pub(crate) mod lies;
pub mod order;
pub mod outside;
pub mod path;
pub mod place;
pub mod route;
pub mod trigger;
pub mod victim;

pub use place::Place;

use serde::{Serialize, Serializer};

/// The description of a scheme that `ssdlab schemes` prints.
#[derive(Clone, Copy, Debug)]
pub struct SchemeInfo {
    /// The configuration key of its slot.
    pub slot: &'static str,
    /// Its name in configurations.
    pub name: &'static str,
    /// Its doc comment.
    pub manual: &'static str,
}

/// Declares a slot: the closed set of its policies, by name. A policy is read from its name alone (all settings at their
/// defaults) or from a table `{ name = { knob = … } }`. A slot may also take a policy from outside this crate, which no text names,
/// and in unit tests one that breaks a promise.
macro_rules! slot {
    ($(#[$doc:meta])* $slot:literal $any:ident: $trait:path { $($name:literal $(| $alias:literal)* => $variant:ident($ty:ty)),+ $(,)? } $(outside $outside:ident($custom:ident))? $(lying $lying:ident($liar:ty))?) => {
        $(#[$doc])*
        #[derive(Clone, Debug)]
        pub enum $any {
            $(#[doc = concat!("`", $name, "`")] $variant($ty),)+
            $(#[doc = "A policy from outside this crate."] $outside(Outside<dyn $custom>),)?
            $(#[doc = "One that breaks a promise."] #[cfg(test)] #[allow(private_interfaces)] $lying($liar),)?
        }

        impl $any {
            /// The names of this slot's policies, in the order of registration.
            pub const NAMES: &[&str] = &[$($name),+];

            /// The name of this policy.
            pub fn name(&self) -> &'static str { match self { $(Self::$variant(_) => $name,)+ $(Self::$outside(_) => "outside",)? $(#[cfg(test)] Self::$lying(_) => "lying",)? } }

            /// The policy.
            #[inline(always)]
            pub fn policy(&mut self) -> &mut dyn $trait {
                match self { $(Self::$variant(policy) => policy,)+ $(Self::$outside(policy) => policy,)? $(#[cfg(test)] Self::$lying(policy) => policy,)? }
            }

            /// The policy, read-only.
            pub fn policy_ref(&self) -> &dyn $trait {
                match self { $(Self::$variant(policy) => policy,)+ $(Self::$outside(policy) => policy,)? $(#[cfg(test)] Self::$lying(policy) => policy,)? }
            }

            $(
                /// A policy from outside this crate, and what results record of it. Every device of the configuration calls
                /// `make` once.
                pub fn outside(record: Record, make: impl Fn() -> Box<dyn $custom> + Send + Sync + 'static) -> Self {
                    Self::$outside(Outside::new(record, make))
                }
            )?

            /// One entry per policy.
            pub fn infos() -> Vec<SchemeInfo> { vec![$(SchemeInfo { slot: $slot, name: $name, manual: <$ty>::MANUAL }),+] }

            fn named(name: &str) -> Option<Self> {
                match name { $($name $(| $alias)* => Some(Self::$variant(<$ty>::default())),)+ _ => None }
            }
        }

        impl<'de> Deserialize<'de> for $any {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Visitor;
                impl<'de> serde::de::Visitor<'de> for Visitor {
                    type Value = $any;
                    fn expecting(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
                        write!(f, "one of {}, or a table with one of them", list($any::NAMES))
                    }
                    fn visit_str<E: serde::de::Error>(self, name: &str) -> Result<$any, E> {
                        $any::named(name).ok_or_else(|| E::unknown_variant(name, $any::NAMES))
                    }
                    fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<$any, A::Error> {
                        use serde::de::Error;
                        let name: String = map.next_key()?.ok_or_else(|| A::Error::custom(format!("an empty table: expected one of {}", list($any::NAMES))))?;
                        let policy = match name.as_str() {
                            $($name $(| $alias)* => $any::$variant(map.next_value::<$ty>()?),)+
                            other => return Err(A::Error::unknown_variant(other, $any::NAMES)),
                        };
                        match map.next_key::<String>()? {
                            None => Ok(policy),
                            Some(second) => Err(A::Error::custom(format!("both `{name}` and `{second}`: a slot takes one policy"))),
                        }
                    }
                }
                deserializer.deserialize_any(Visitor)
            }
        }

        impl Serialize for $any {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                match self {
                    $(Self::$variant(policy) => named_table(serializer, $name, policy, policy.is_bare()),)+
                    $(Self::$outside(policy) => policy.serialize(serializer),)?
                    $(#[cfg(test)] Self::$lying(_) => serializer.serialize_str(stringify!($lying)),)?
                }
            }
        }

        #[cfg(feature = "schema")]
        impl schemars::JsonSchema for $any {
            fn schema_name() -> std::borrow::Cow<'static, str> { stringify!($any).into() }
            fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
                let policies = [$(($name, <$ty>::MANUAL, generator.subschema_for::<$ty>())),+];
                crate::schema::slot(policies, &[$($($alias,)*)+])
            }
        }
    };
}
pub(crate) use slot;

/// A policy without settings, or with none but later ones at their defaults, is written as its name, others as a table.
fn named_table<S: Serializer>(
    serializer: S,
    name: &'static str,
    policy: &impl Serialize,
    plain: bool,
) -> Result<S::Ok, S::Error> {
    use serde::ser::SerializeMap;
    if plain {
        return serializer.serialize_str(name);
    }
    let mut map = serializer.serialize_map(Some(1))?;
    map.serialize_entry(name, policy)?;
    map.end()
}

fn list(names: &[&str]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

/// Declares a scheme: a struct whose fields are its settings with their defaults, and whose doc comment is its manual page. A
/// setting added after 0.1 is marked with the version that added it: see [`record`](crate::record).
#[macro_export]
macro_rules! scheme {
    ($(#[doc = $doc:literal])+ $name:ident { $($(#[doc = $fdoc:literal])* $([since $version:literal])? $field:ident: $ty:ty = $default:expr),* $(,)? }
     $(state { $($(#[doc = $sdoc:literal])* $state:ident: $sty:ty = $sdefault:expr),+ $(,)? })?) => {
        $(#[doc = $doc])+
        #[derive(Clone, Debug, serde::Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        #[serde(deny_unknown_fields, default)]
        pub struct $name {
            $($(#[doc = $fdoc])* pub $field: $ty,)*
            $($($(#[doc = $sdoc])* #[serde(skip)] $state: $sty,)+)?
        }
        impl Default for $name {
            fn default() -> Self { Self { $($field: $default,)* $($($state: $sdefault,)+)? } }
        }
        $crate::record!($name { $($([since $version])? $field),* });
        impl $name {
            /// The manual page.
            pub const MANUAL: &'static str = concat!($($doc, "\n"),+);
            /// The names of the settings.
            pub const KNOBS: &'static [&'static str] = &[$(stringify!($field)),*];
            /// Whether nothing is written of it but its name: all settings were added later, and are at their defaults.
            pub fn is_bare(&self) -> bool {
                true $(&& {
                    let kept = false $(|| {
                        let _: &str = $version;
                        self.$field == Self::default().$field
                    })?;
                    kept
                })*
            }
        }
    };
}
pub(crate) use scheme;

pub use collect::AnyCollector;
pub use order::AnyOrder;
pub use path::AnyPath;
pub use route::AnyRoute;
pub use trigger::AnyTrigger;
pub use victim::AnyVictim;

/// Every registered scheme, slot by slot.
pub fn all() -> Vec<SchemeInfo> {
    let gc = [AnyTrigger::infos(), AnyVictim::infos(), AnyCollector::infos(), AnyPath::infos()];
    [AnyOrder::infos(), AnyRoute::infos()].into_iter().chain(gc).flatten().collect()
}
