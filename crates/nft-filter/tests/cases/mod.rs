//! The cases, and what they have in common.

mod lifetime;
pub(crate) mod network;
mod open;
mod restart;
mod translate;

use std::sync::Arc;
use std::time::Instant as SystemInstant;

use nft_filter::{NftConfig, NftError, NftFilter};
use simco::filter::{Change, PacketFilter, RemovalCause, Selector, Translation};
use simco::{
    AddressTuple, Blockade, Direction, EnableParameters, EnableParity, GroupId, Location, Owner, Pinhole,
    PolicyRule, PolicyRuleId, RuleKind, TransportProtocol, TupleForm,
};
use virtual_time::Instant;

use self::network::{MARKER_INSIDE, MARKER_OUTSIDE, Network, Spot, socket_address};

/// Name and function of each case.
pub(crate) const ALL: &[(&str, fn())] = &[
    ("nothing_passes_without_a_rule", open::closed),
    ("udp_passes_in_the_direction_of_its_rule_only", open::udp_direction),
    ("first_tcp_segment_passes_in_the_direction_of_its_rule_only", open::tcp_direction),
    ("ipv6_is_filtered_like_ipv4", open::ipv6),
    ("wildcards_and_prefixes_open_what_they_name", open::wildcards),
    ("port_ranges_open_pair_by_pair", open::port_ranges),
    ("a_rule_for_any_protocol_opens_all", open::any_protocol),
    ("icmp_errors_pass_with_the_packet_they_are_about", open::icmp_errors),
    ("fragments_pass_put_together", open::fragments),
    ("a_block_beats_what_is_open_and_cuts_flows", open::block),
    ("overlapping_rules_live_side_by_side", open::overlapping),
    ("tables_of_others_stay", open::beside_others),
    ("what_is_closed_stays_closed_whatever_is_open", open::closed_hosts),
    ("shapes_come_and_go_and_no_agent_has_them_all", open::shapes),
    ("everything_passes_or_nothing_on_request", open::passing),
    ("a_mark_tells_others_what_pinholes_let_pass", open::mark),
    ("what_is_closed_later_is_closed_at_once", open::closed_later),
    ("icmp_errors_pass_through_translations", translate::errors),
    ("expiry_closes_in_the_kernel", lifetime::expiry),
    ("a_lifetime_is_extended_and_shortened", lifetime::changed),
    ("removal_cuts_established_flows", lifetime::removal),
    ("removal_of_what_expired_is_no_error", lifetime::removed_after_expiry),
    ("older_kernels_ways_of_removal_work", lifetime::add_and_delete),
    ("a_refused_batch_changes_nothing", restart::atomic),
    ("nft_reads_the_names_of_interfaces", restart::names),
    ("what_nft_lists_of_the_table_it_loads_again", restart::listing),
    ("a_rule_with_too_many_ports_changes_nothing", restart::too_many),
    ("a_killed_filter_loses_no_rule_and_leaves_none_behind", restart::takeover),
    ("what_no_rule_needs_is_cleared_away", restart::orphans),
    ("list_agrees_with_nft", restart::list),
    ("ten_thousand_rules_in_one_transaction", restart::many),
    ("traditional_translation_rewrites_both_ways", translate::traditional),
    ("twice_translation_hides_both_ends", translate::twice),
    ("what_comes_before_its_pinhole_is_dropped_and_spoils_nothing", translate::early),
    ("ports_that_are_left_open_are_of_the_pool", translate::shared),
    ("translation_works_for_tcp_and_ipv6", translate::ipv6_tcp),
    ("expiry_cuts_translated_flows", translate::expiry),
];

/// A filter in the middlebox, with the tests' own pinhole, and its clock.
pub(crate) struct Middlebox {
    pub(crate) filter: NftFilter,
    pub(crate) taken_over: Vec<PolicyRule>,
    start: SystemInstant,
}

impl Middlebox {
    pub(crate) fn new(network: &Network) -> Self {
        Self::new_with(network, config())
    }

    pub(crate) fn new_with(network: &Network, config: NftConfig) -> Self {
        let mut middlebox = Self::with(network, config);
        let marker = udp(1_000_000, MARKER_INSIDE, MARKER_OUTSIDE, Direction::BiDirectional);
        middlebox.insert(&marker);
        middlebox
    }

    pub(crate) fn with(network: &Network, config: NftConfig) -> Self {
        let mut start = SystemInstant::now();
        let began = start;
        let open = || network.within(Spot::Middlebox, || NftFilter::open(config.clone(), Instant::EPOCH));
        let (filter, taken_over) = loop {
            match open() {
                // A process that another test starts has the socket of the filter before until it is itself.
                Err(NftError::Owned { .. }) if began.elapsed() < network::PATIENCE => {
                    start = SystemInstant::now();
                }
                opened => break opened.unwrap(),
            }
        };
        Self { filter, taken_over, start }
    }

    pub(crate) fn now(&self) -> Instant {
        Instant::EPOCH + self.start.elapsed()
    }

    /// The rule with a deadline a minute from now goes in.
    pub(crate) fn insert(&mut self, rule: &PolicyRule) -> Arc<PolicyRule> {
        self.insert_for(60, rule)
    }

    pub(crate) fn insert_for(&mut self, seconds: u64, rule: &PolicyRule) -> Arc<PolicyRule> {
        let now = self.now();
        let deadline = now + std::time::Duration::from_secs(seconds);
        let rule = Arc::new(PolicyRule { deadline, ..rule.clone() });
        self.filter.apply(now, &[Change::Insert(Arc::clone(&rule))]).unwrap();
        rule
    }

    pub(crate) fn remove(&mut self, rule: &Arc<PolicyRule>) {
        let now = self.now();
        let change = Change::Remove { rule: Arc::clone(rule), cause: RemovalCause::Deleted };
        self.filter.apply(now, &[change]).unwrap();
    }
}

pub(crate) fn config() -> NftConfig {
    NftConfig::new(vec!["in0".to_owned()])
}

pub(crate) fn udp(id: u32, internal: &str, external: &str, direction: Direction) -> PolicyRule {
    rule(id, TransportProtocol::UDP, host(internal), host(external), direction)
}

pub(crate) fn tcp(id: u32, internal: &str, external: &str, direction: Direction) -> PolicyRule {
    rule(id, TransportProtocol::TCP, host(internal), host(external), direction)
}

/// One end of a rule: address, prefix length, port, port range.
pub(crate) type End = (std::net::IpAddr, u8, u16, u16);

/// Port 0 is every port.
pub(crate) fn host(text: &str) -> End {
    let at = socket_address(text);
    (at.ip(), if at.is_ipv4() { 32 } else { 128 }, at.port(), 1)
}

pub(crate) fn rule(
    id: u32,
    protocol: TransportProtocol,
    internal: End,
    external: End,
    direction: Direction,
) -> PolicyRule {
    let (internal, external) = tuples(protocol, internal, external);
    PolicyRule {
        id: PolicyRuleId::new(id),
        owner: Owner::new(b"alice").unwrap(),
        created: Instant::EPOCH,
        deadline: Instant::EPOCH,
        kind: RuleKind::Enable(Pinhole {
            group: GroupId::new(1),
            parameters: EnableParameters { parity: EnableParity::Any, direction },
            internal,
            external,
            outside: internal.at(Location::OUTSIDE),
            inside: None,
            translation: None,
        }),
    }
}

pub(crate) fn block(id: u32, protocol: TransportProtocol, internal: End, external: End) -> PolicyRule {
    let (internal, external) = tuples(protocol, internal, external);
    let kind = RuleKind::Disable(Blockade { internal, external });
    PolicyRule { kind, ..rule(id, protocol, host("10.1.0.2:0"), host("10.1.0.2:0"), Direction::Inbound) }
}

/// The same with a translation; A2, and for twice NAT A1.
pub(crate) fn translated(rule: PolicyRule, outside: End, inside: Option<End>) -> PolicyRule {
    let RuleKind::Enable(pinhole) = rule.kind else { panic!("only pinholes translate") };
    let protocol = pinhole.internal.protocol;
    let tuple = |location, end| tuple(location, protocol, end);
    let (outside, inside) =
        (tuple(Location::OUTSIDE, outside), inside.map(|end| tuple(Location::INSIDE, end)));
    let mapping = |tuple: AddressTuple| {
        let Selector { network, ports } = Selector::of(&tuple);
        simco::filter::Mapping { address: network.host().unwrap(), ports }
    };
    let translation = Some(Translation { protocol, outside: mapping(outside), inside: inside.map(mapping) });
    PolicyRule { kind: RuleKind::Enable(Pinhole { outside, inside, translation, ..pinhole }), ..rule }
}

fn tuples(protocol: TransportProtocol, internal: End, external: End) -> (AddressTuple, AddressTuple) {
    (tuple(Location::INTERNAL, protocol, internal), tuple(Location::EXTERNAL, protocol, external))
}

fn tuple(
    location: Location,
    protocol: TransportProtocol,
    (address, prefix_length, port, port_range): End,
) -> AddressTuple {
    AddressTuple { location, protocol, prefix_length, form: TupleForm::Full { address, port, port_range } }
}
