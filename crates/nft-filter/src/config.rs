//! The options of the filter, which an operator may choose.

use core::net::IpAddr;
use core::num::NonZeroU32;
use core::ops::RangeInclusive;

use simco::filter::Network;

/// The configuration of the filter in the kernel.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NftConfig {
    /// The table, of family `inet`; default `headway`. Nobody else may write to it.
    pub table: String,
    /// Interfaces of the protected network, at least one. Packets between one of them and any other interface pass
    /// only through pinholes; what passes neither into nor out of the protected network is not looked at.
    pub inside: Vec<String>,
    /// Addresses that nothing passes to or from, whatever is open; default none.
    pub closed: Vec<Network>,
    /// Priority of the chain among all that look at forwarded packets; default −10, shortly before the place of
    /// firewalld and Docker (0). What we accept they may still drop, and what we drop they never see.
    pub priority: i32,
    /// The priorities of address translation, or none; default none.
    pub translation: Option<TranslationPriorities>,
    /// The ports from which the kernel takes one for each flow of a host whose ports are left open; default 1024 to 65535.
    pub shared_ports: RangeInclusive<u16>,
    /// Addresses that are given out outside; default none. What comes from outside to one of [`shared_ports`](Self::shared_ports)
    /// there before a pinhole leads on from it is dropped: if the host itself took it, the connection tracker would keep the flow as
    /// it began, and a pinhole that opens later would not be for it.
    pub outside_addresses: Vec<IpAddr>,
    /// Bits that packets which pinholes let pass have in their mark from then on, so that others' rules can let them pass, too;
    /// default none.
    pub mark: Option<NonZeroU32>,
    /// The packets that pass; default those of open pinholes.
    pub passing: Passing,
    /// How many shapes of wildcards may be in use at once, for each of blocked, inbound and outbound; default 96.
    /// Each costs every packet a look into a table.
    pub most_shapes: usize,
    /// How many of them the rules of one agent may use, beside the eight that are always there; default 32. With the default of
    /// [`most_shapes`](Self::most_shapes) three agents with odd wishes leave no others out.
    pub most_shapes_per_agent: usize,
    /// How many set elements a policy rule may need; default 512. A pair of port ranges needs one for each port.
    pub most_elements: usize,
    /// How elements are taken away.
    pub removal: Removal,
    /// Whether the kernel is to keep all others off the table; default yes. Whoever wants to change our table by hand
    /// chooses otherwise.
    pub ownership: Ownership,
}

/// The packets that pass between the protected network and others, whatever rules there are.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Passing {
    /// The packets of open pinholes pass.
    #[default]
    Pinholes,
    /// Everything that the rest of the host lets pass.
    Everything,
    /// Nothing, through no pinhole either.
    Nothing,
}

/// The processes that may change the table.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Ownership {
    /// We alone, where the kernel can (Linux 6.9 and later); it is [`Shared`](Self::Shared) elsewhere. The table stays when
    /// we end, and is anybody's then.
    #[default]
    Owned,
    /// Everybody with the rights. What becomes of the table is noticed by looking, of single elements it is not.
    Shared,
}

/// Priorities of the chains that translate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TranslationPriorities {
    /// The priority for destinations; default −110, before others' −100.
    pub destination: i32,
    /// The priority for sources; default 90, before others' 100.
    pub source: i32,
}

impl Default for TranslationPriorities {
    fn default() -> Self {
        Self { destination: -110, source: 90 }
    }
}

/// How an element is taken away that the kernel may have dropped already, since its time was over.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Removal {
    /// Finds out which way the kernel knows.
    #[default]
    Automatic,
    /// The table is removed in one message, which Linux knows since 6.3.
    Destroy,
    /// Adds it, if it is not there, and deletes it, in one transaction.
    AddAndDelete,
}

impl NftConfig {
    /// Creates the defaults, for these interfaces of the protected network.
    #[must_use]
    pub fn new(inside: Vec<String>) -> Self {
        Self {
            table: "headway".to_owned(),
            inside,
            closed: Vec::new(),
            priority: -10,
            translation: None,
            shared_ports: 1024..=u16::MAX,
            outside_addresses: Vec::new(),
            mark: None,
            passing: Passing::Pinholes,
            most_shapes: 96,
            most_shapes_per_agent: 32,
            most_elements: 512,
            removal: Removal::Automatic,
            ownership: Ownership::Owned,
        }
    }
}
