//! Numbers of the kernel's interface: linux/netlink.h, linux/netfilter/nfnetlink.h and nf_tables.h.

pub(crate) const REQUEST: u16 = 0x001;
pub(crate) const ACKNOWLEDGE: u16 = 0x004;
pub(crate) const INTERRUPTED: u16 = 0x010;
pub(crate) const DUMP: u16 = 0x300;
pub(crate) const CREATE: u16 = 0x400;
pub(crate) const APPEND: u16 = 0x800;

pub(crate) const ERROR: u16 = 2;
pub(crate) const DONE: u16 = 3;
pub(crate) const BATCH_BEGIN: u16 = 0x10;
pub(crate) const BATCH_END: u16 = 0x11;

/// nftables among the subsystems of netfilter.
pub(crate) const SUBSYSTEM: u8 = 10;

/// Families: of tables, and of translations.
pub(crate) const INET: u8 = 1;
pub(crate) const IPV4: u8 = 2;
pub(crate) const IPV6: u8 = 10;

/// The generation a transaction builds on, in its first frame.
pub(crate) const BATCH_GENERATION: u16 = 1;

pub(crate) mod message {
    pub(crate) const NEW_TABLE: u8 = 0;
    pub(crate) const GET_TABLE: u8 = 1;
    pub(crate) const DELETE_TABLE: u8 = 2;
    pub(crate) const NEW_CHAIN: u8 = 3;
    pub(crate) const GET_CHAIN: u8 = 4;
    pub(crate) const NEW_RULE: u8 = 6;
    pub(crate) const GET_RULE: u8 = 7;
    pub(crate) const DELETE_RULE: u8 = 8;
    pub(crate) const NEW_SET: u8 = 9;
    pub(crate) const GET_SET: u8 = 10;
    pub(crate) const DELETE_SET: u8 = 11;
    pub(crate) const NEW_ELEMENT: u8 = 12;
    pub(crate) const GET_ELEMENT: u8 = 13;
    pub(crate) const DELETE_ELEMENT: u8 = 14;
    pub(crate) const GET_GENERATION: u8 = 16;
    /// Like a deletion, but absence is no error. Since Linux 6.3.
    pub(crate) const DESTROY_ELEMENT: u8 = 30;
}

pub(crate) mod generation {
    pub(crate) const ID: u16 = 1;
}

pub(crate) mod table {
    pub(crate) const NAME: u16 = 1;
    pub(crate) const FLAGS: u16 = 2;
    pub(crate) const HANDLE: u16 = 4;
    pub(crate) const OWNER: u16 = 7;
    /// The flag of a table that only the socket that set it may change. Since Linux 5.12.
    pub(crate) const FLAG_OWNER: u32 = 2;
    /// The table outlives its owner. Since Linux 6.9.
    pub(crate) const FLAG_PERSIST: u32 = 4;
}

pub(crate) mod chain {
    pub(crate) const TABLE: u16 = 1;
    pub(crate) const HANDLE: u16 = 2;
    pub(crate) const NAME: u16 = 3;
    pub(crate) const HOOK: u16 = 4;
    pub(crate) const POLICY: u16 = 5;
    pub(crate) const TYPE: u16 = 7;
    pub(crate) const HOOK_NUMBER: u16 = 1;
    pub(crate) const HOOK_PRIORITY: u16 = 2;
}

pub(crate) mod rule {
    pub(crate) const TABLE: u16 = 1;
    pub(crate) const CHAIN: u16 = 2;
    pub(crate) const HANDLE: u16 = 3;
    pub(crate) const EXPRESSIONS: u16 = 4;
    pub(crate) const LIST_ELEMENT: u16 = 1;
    pub(crate) const EXPRESSION_NAME: u16 = 1;
    pub(crate) const EXPRESSION_DATA: u16 = 2;
}

pub(crate) mod set {
    pub(crate) const TABLE: u16 = 1;
    pub(crate) const NAME: u16 = 2;
    pub(crate) const FLAGS: u16 = 3;
    pub(crate) const KEY_TYPE: u16 = 4;
    pub(crate) const KEY_BYTES: u16 = 5;
    pub(crate) const DATA_TYPE: u16 = 6;
    pub(crate) const DATA_BYTES: u16 = 7;
    pub(crate) const ID: u16 = 10;
    pub(crate) const USER_DATA: u16 = 13;
    pub(crate) const HANDLE: u16 = 16;
    pub(crate) const FLAG_MAP: u32 = 8;
    pub(crate) const FLAG_TIMEOUT: u32 = 16;
}

pub(crate) mod element {
    pub(crate) const TABLE: u16 = 1;
    pub(crate) const SET: u16 = 2;
    pub(crate) const ELEMENTS: u16 = 3;
    pub(crate) const LIST_ELEMENT: u16 = 1;
    pub(crate) const KEY: u16 = 1;
    pub(crate) const DATA: u16 = 2;
    pub(crate) const TIMEOUT: u16 = 4;
    pub(crate) const EXPIRATION: u16 = 5;
    pub(crate) const USER_DATA: u16 = 6;
}

pub(crate) mod data {
    pub(crate) const VALUE: u16 = 1;
    pub(crate) const VERDICT: u16 = 2;
    pub(crate) const VERDICT_CODE: u16 = 1;
    pub(crate) const VERDICT_CHAIN: u16 = 2;
}
