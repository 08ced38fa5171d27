//! PDR: packets are blocked, whatever pinholes there are (RFC 4540 §8.8).

use std::sync::Arc;

use virtual_time::Instant;

use super::{Asker, Policies, permitted};
use crate::codepoints::NegativeCode;
use crate::filter::{Change, RemovalCause};
use crate::message::{DisableRequest, PositiveReply};
use crate::middlebox::checks::Purpose;
use crate::rule::{Blockade, PolicyRule, RuleKind};

impl Policies {
    pub(super) fn disable(
        &mut self,
        now: Instant,
        asker: Asker<'_>,
        request: &DisableRequest,
    ) -> Result<PositiveReply<'static>, NegativeCode> {
        if !self.capabilities.services.can_disable {
            return Err(NegativeCode::TransactionNotSupported);
        }
        permitted(asker.policy.may_disable)?;
        let DisableRequest { internal, external, .. } = *request;
        self.against(asker).tuples(Purpose::Block, &internal, &external)?;
        self.has_room(asker)?;
        let lifetime = self.grant(request.lifetime)?;
        let rule = Arc::new(PolicyRule {
            id: self.rules.new_rule_id(),
            owner: asker.agent.clone(),
            created: now,
            deadline: now + lifetime.span(),
            kind: RuleKind::Disable(Blockade { internal, external }),
        });
        let id = rule.id;
        let killed = self.pinholes_against(&rule);
        self.stage(Change::Insert(rule));
        for rule in killed {
            self.stage(Change::Remove { rule, cause: RemovalCause::Disabled });
        }
        Ok(PositiveReply::Disable { rule: id, lifetime })
    }

    /// Returns every pinhole that shares a packet with the block. Looks at all rules: a PDR is rare, and must
    /// not be wrong.
    fn pinholes_against(&self, block: &PolicyRule) -> Vec<Arc<PolicyRule>> {
        let Some(block) = block.filter_rule() else { return Vec::new() };
        let is_against = |rule: &&Arc<PolicyRule>| {
            matches!(rule.kind, RuleKind::Enable(_))
                && rule.filter_rule().is_some_and(|pinhole| pinhole.overlaps(&block))
        };
        self.rules.iter().filter(is_against).map(Arc::clone).collect()
    }
}
