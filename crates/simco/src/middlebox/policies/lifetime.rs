//! PLC: a rule lives longer, shorter, or no more (RFC 4540 §8.6).

use std::sync::Arc;

use virtual_time::Instant;

use super::{Asker, Policies, permitted};
use crate::codepoints::NegativeCode;
use crate::filter::{Change, RemovalCause};
use crate::message::PositiveReply;
use crate::numbers::{Lifetime, PolicyRuleId};
use crate::rule::PolicyRule;

impl Policies {
    pub(super) fn change_lifetime(
        &mut self,
        now: Instant,
        asker: Asker<'_>,
        id: PolicyRuleId,
        requested: Lifetime,
    ) -> Result<PositiveReply<'static>, NegativeCode> {
        permitted(asker.policy.may_change_lifetimes)?;
        let old = Arc::clone(self.accessible(asker, id)?);
        if requested.is_zero() {
            self.stage(Change::Remove { rule: old, cause: RemovalCause::Deleted });
            return Ok(PositiveReply::Deletion);
        }
        if !asker.policy.may_extend {
            return Err(NegativeCode::LifetimeNotAuthorized);
        }
        let granted = self.cap(now.since(old.created), requested);
        let lifetime = granted.ok_or(NegativeCode::LifetimeNotExtensible)?;
        let new = Arc::new(PolicyRule { deadline: now + lifetime.span(), ..(*old).clone() });
        self.stage(Change::Lifetime { old, new });
        Ok(PositiveReply::LifetimeChange { lifetime })
    }
}
