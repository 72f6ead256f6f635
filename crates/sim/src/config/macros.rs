//! How a section and a choice of the configuration are declared.

/// Serializes a section. A field marked `[since "VERSION"]` is written only where it differs from its default, so a key added
/// after 0.1 does not change the digest of configurations that do not use it.
#[doc(hidden)]
#[macro_export]
macro_rules! record {
    ($name:ident { $($([since $version:literal])? $field:ident),* $(,)? }) => {
        impl serde::Serialize for $name {
            #[allow(unused_mut)]
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                use serde::ser::SerializeStruct;
                let fields: &[&str] = &[$(stringify!($field)),*];
                let mut out = serializer.serialize_struct(stringify!($name), fields.len())?;
                $(
                    let default = false $(|| {
                        let _: &str = $version;
                        self.$field == Self::default().$field
                    })?;
                    if default {
                        out.skip_field(stringify!($field))?;
                    } else {
                        out.serialize_field(stringify!($field), &self.$field)?;
                    }
                )*
                out.end()
            }
        }
    };
}

/// Declares a section: each field's documentation and default in one place. A field added after 0.1 is marked with the version
/// that added it: see [`record`].
macro_rules! section {
    ($(#[$doc:meta])* $name:ident { $($(#[$fdoc:meta])* $([since $version:literal])? $field:ident: $ty:ty = $default:expr),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        #[serde(deny_unknown_fields, default)]
        pub struct $name { $($(#[$fdoc])* pub $field: $ty),+ }
        // A derived one would be compiled again in each crate that clones a configuration.
        impl Clone for $name {
            fn clone(&self) -> Self { Self { $($field: Clone::clone(&self.$field)),+ } }
        }
        impl Default for $name {
            fn default() -> Self { Self { $($field: $default),+ } }
        }
        record!($name { $($([since $version])? $field),+ });
    };
}

/// Declares a choice: an enum whose text form is kebab-case.
macro_rules! choice {
    ($(#[$doc:meta])* $name:ident ($style:literal) { $($(#[$vdoc:meta])* $variant:ident),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        #[serde(rename_all = $style)]
        pub enum $name { $($(#[$vdoc])* $variant),+ }
    };
}
