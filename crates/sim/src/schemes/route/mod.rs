//! Routes: where a read is served.

mod brr;
mod direct;
mod dpr;

pub use brr::{Brr, NextArrival};
pub use direct::Direct;
pub use dpr::Dpr;

use super::{SchemeInfo, list, named_table, slot};
use crate::policy::{Redirect, Replicate};
use serde::de::value::{MapAccessDeserializer, StrDeserializer};
use serde::de::{MapAccess, SeqAccess};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

slot! {
    /// A scheme for reads.
    "schemes.route" RouteScheme: crate::policy::Route {
        "direct" => Direct(Direct),
        "brr" => Brr(Brr),
        "dpr" => Dpr(Dpr),
    }
}

impl Default for RouteScheme {
    fn default() -> Self {
        RouteScheme::Direct(Direct::default())
    }
}

/// Where reads are served: a scheme, or a list of one that redirects reads and one that replicates pages.
#[derive(Clone, Debug, Default)]
pub struct AnyRoute {
    redirect: Option<RouteScheme>,
    replicate: Option<RouteScheme>,
}

impl AnyRoute {
    /// The names of the schemes, in the order of registration.
    pub const NAMES: &[&str] = RouteScheme::NAMES;

    /// One entry per scheme.
    pub fn infos() -> Vec<SchemeInfo> {
        RouteScheme::infos()
    }

    /// The schemes that serve reads from elsewhere; none if all reads are direct.
    pub fn schemes(&self) -> impl Iterator<Item = &RouteScheme> {
        self.redirect.iter().chain(&self.replicate)
    }

    /// The names of the schemes.
    pub fn name(&self) -> String {
        let names: Vec<&str> = self.schemes().map(RouteScheme::name).collect();
        if names.is_empty() { RouteScheme::default().name().into() } else { names.join(" + ") }
    }

    /// The scheme that redirects reads, if there is one.
    pub fn redirect(&self) -> Option<&dyn Redirect> {
        self.redirect.as_ref().and_then(|scheme| scheme.policy_ref().redirects())
    }

    /// The scheme that replicates pages, if there is one.
    pub fn replicate(&self) -> Option<&dyn Replicate> {
        self.replicate.as_ref().and_then(|scheme| scheme.policy_ref().replicates())
    }

    /// Default of `order.chip_queue`, if the order has none.
    pub fn chip_queue(&self) -> Option<u32> {
        self.schemes().find_map(|scheme| scheme.policy_ref().chip_queue())
    }

    /// Adds a scheme from a list.
    fn add(&mut self, scheme: RouteScheme) -> Result<(), String> {
        let (name, policy) = (scheme.name(), scheme.policy_ref());
        let (place, does) = match (policy.redirects().is_some(), policy.replicates().is_some()) {
            (true, _) => (&mut self.redirect, "redirects reads"),
            (_, true) => (&mut self.replicate, "replicates pages"),
            _ => return Err(format!("`{name}` in a list: it stands alone")),
        };
        match place.replace(scheme) {
            None => Ok(()),
            Some(other) => Err(format!("both `{}` and `{name}`: a list takes one scheme that {does}", other.name())),
        }
    }
}

impl From<RouteScheme> for AnyRoute {
    fn from(scheme: RouteScheme) -> Self {
        let mut route = AnyRoute::default();
        match scheme.policy_ref().redirects() {
            Some(_) => route.redirect = Some(scheme),
            None if scheme.policy_ref().replicates().is_some() => route.replicate = Some(scheme),
            None => {}
        }
        route
    }
}

impl<'de> Deserialize<'de> for AnyRoute {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> serde::de::Visitor<'de> for Visitor {
            type Value = AnyRoute;
            fn expecting(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
                write!(f, "one of {}, or a table with one of them", list(AnyRoute::NAMES))
            }
            fn visit_str<E: serde::de::Error>(self, name: &str) -> Result<AnyRoute, E> {
                RouteScheme::deserialize(StrDeserializer::new(name)).map(AnyRoute::from)
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<AnyRoute, A::Error> {
                RouteScheme::deserialize(MapAccessDeserializer::new(map)).map(AnyRoute::from)
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<AnyRoute, A::Error> {
                use serde::de::Error;
                let mut route = AnyRoute::default();
                while let Some(scheme) = list.next_element::<RouteScheme>()? {
                    route.add(scheme).map_err(A::Error::custom)?;
                }
                if route.schemes().next().is_none() {
                    return Err(A::Error::custom("an empty list: expected one or two schemes, or `direct` alone"));
                }
                Ok(route)
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

impl Serialize for AnyRoute {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match (&self.redirect, &self.replicate) {
            (None, None) => RouteScheme::default().serialize(serializer),
            (Some(one), None) | (None, Some(one)) => one.serialize(serializer),
            (Some(redirect), Some(replicate)) => [redirect, replicate].serialize(serializer),
        }
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for AnyRoute {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "AnyRoute".into()
    }
    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let one = generator.subschema_for::<RouteScheme>();
        let mut schema = RouteScheme::json_schema(generator);
        let both = schemars::json_schema!({ "type": "array", "items": one, "minItems": 1, "maxItems": 2 });
        if let Some(forms) = schema.get_mut("oneOf").and_then(|forms| forms.as_array_mut()) {
            forms.push(both.to_value());
        }
        schema
    }
}

#[cfg(test)]
mod tests {
    use crate::Config;

    fn route(value: &str) -> Result<Config, String> {
        format!("schemes.route = {value}").parse::<Config>().map_err(|error| error.message().to_string())
    }

    #[test]
    fn a_list_takes_one_scheme_of_each_kind_in_any_order() {
        let both = route("[\"dpr\", { brr = { next_arrival = \"never\" } }]").unwrap();
        assert_eq!(both.schemes.route.name(), "brr + dpr");
        let written = toml::to_string(&both).unwrap();
        let again: Config = written.parse().unwrap();
        assert_eq!(toml::to_string(&again).unwrap(), written);
        assert_eq!(route("[\"dpr\"]").unwrap().schemes.route.name(), "dpr");
        for (list, why) in [
            ("[]", "an empty list: expected one or two schemes, or `direct` alone"),
            ("[\"brr\", \"brr\"]", "both `brr` and `brr`: a list takes one scheme that redirects reads"),
            ("[\"dpr\", { dpr = { k = 3 } }]", "both `dpr` and `dpr`: a list takes one scheme that replicates pages"),
            ("[\"direct\", \"dpr\"]", "`direct` in a list: it stands alone"),
        ] {
            assert_eq!(route(list).unwrap_err(), why, "{list}");
        }
    }

    #[test]
    fn one_scheme_is_written_as_it_always_was() {
        for value in ["\"direct\"", "\"brr\"", "[\"brr\"]"] {
            let written = toml::Value::try_from(route(value).unwrap()).unwrap();
            let route = &written["schemes"]["route"];
            assert_eq!(route.is_table(), value != "\"direct\"", "{value}: {route}");
        }
    }

    #[test]
    fn both_together_are_refused_with_and_without_parity() {
        for more in ["", "\nraid.layout = \"lci\"\ndevice.over_provisioning = 0.2"] {
            let error = route(&format!("[\"brr\", \"dpr\"]{more}")).unwrap().check().unwrap_err();
            assert_eq!(
                error.to_string(),
                "schemes.route: brr + dpr: reads are redirected through parity groups, and second copies of pages are not simulated with them (use one of them)"
            );
        }
    }
}
