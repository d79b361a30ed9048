//! Enums whose variants have names that people read and write.

/// Gives an enum all its variants and their names, from one list: a variant that is missing in it does not compile.
macro_rules! names {
    ($kind:ty { $($variant:ident = $name:literal),+ $(,)? }) => {
        impl $kind {
            /// Every one.
            pub const ALL: [Self; [$($name),+].len()] = [$(Self::$variant),+];

            /// Its name, as in policies, plans and outcomes.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name),+
                }
            }
        }
    };
}

pub(crate) use names;
