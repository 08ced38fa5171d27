//! Lists of numbers as they stand on the wire, and lists in brackets for `Display`.

use core::fmt::{self, Display, Formatter};

use crate::error::DecodeError;

/// `[a b c]`, with the separator given.
pub(crate) struct Bracketed<I>(pub(crate) &'static str, pub(crate) I);

impl<I: Iterator<Item: Display> + Clone> Display for Bracketed<I> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("[")?;
        for (index, item) in self.1.clone().enumerate() {
            let separator = if index == 0 { "" } else { self.0 };
            write!(f, "{separator}{item}")?;
        }
        f.write_str("]")
    }
}

/// `[a, b, malformed: …]` of a list that is decoded while it is walked over.
pub(crate) struct Walked<L>(pub(crate) L);

impl<T: Display, L: IntoIterator<Item = Result<T, DecodeError>> + Clone> Display for Walked<L> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("[")?;
        for (index, item) in self.0.clone().into_iter().enumerate() {
            let separator = if index == 0 { "" } else { ", " };
            match item {
                Ok(item) => write!(f, "{separator}{item}")?,
                Err(error) => write!(f, "{separator}malformed: {error}")?,
            }
        }
        f.write_str("]")
    }
}

/// A borrowed list of numbers of two octets each. `$item` needs `to_wire` and `From<[u8; 2]>`.
macro_rules! wire_list {
    ($(#[$doc:meta])* $name:ident of $item:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub struct $name<'a>(&'a [[u8; 2]]);

        impl<'a> $name<'a> {
            #[doc = concat!("The list of these, each as [`", stringify!($item), "::to_wire`] gives it.")]
            #[must_use]
            pub const fn new(list: &'a [[u8; 2]]) -> Self {
                Self(list)
            }

            pub(crate) fn decode(value: &'a [u8]) -> Result<Self, Flaw> {
                match value.as_chunks() {
                    (list, []) => Ok(Self(list)),
                    _ => Err(Flaw::OddList { octets: value.len() }),
                }
            }

            /// What is in the list, in the order given.
            pub fn iter(&self) -> impl ExactSizeIterator<Item = $item> + Clone + use<'a> {
                self.0.iter().map(|&octets| $item::from(octets))
            }

            /// Whether nothing is in it.
            #[must_use]
            pub const fn is_empty(&self) -> bool {
                self.0.is_empty()
            }

            /// Whether `item` is in it.
            #[must_use]
            pub fn contains(&self, item: $item) -> bool {
                self.0.contains(&item.to_wire())
            }

            pub(crate) const fn as_bytes(&self) -> &'a [u8] {
                self.0.as_flattened()
            }
        }

        impl Display for $name<'_> {
            fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
                Bracketed(", ", self.iter()).fmt(f)
            }
        }
    };
}
pub(crate) use wire_list;
