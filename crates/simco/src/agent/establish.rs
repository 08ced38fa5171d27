//! How an agent opens a session (RFC 4540 §7.2, §7.3).

use virtual_time::Instant;

use super::{Agent, AgentPhase};
use crate::agent::event::{AgentCloseReason, AgentEvent};
use crate::auth::{self, Side};
use crate::message::{NegativeReply, PositiveReply, Request};
use crate::numbers::{StreamNumber, TransactionId};
use crate::parameters::{Capabilities, Version};

/// A request to open or end the session that waits for its reply.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum SessionStep {
    Establishment { challenge: Option<Vec<u8>> },
    Authentication,
    Termination,
}

impl Agent {
    /// SE; with a challenge that names this agent if it has a key.
    pub(super) fn send_establishment(&mut self) {
        let nonce = self.nonces.next();
        let credentials = self.settings.credentials.as_ref();
        let challenge = credentials.map(|credentials| auth::agent_challenge(&credentials.identity, &nonce));
        let request =
            Request::SessionEstablishment { version: Version::CURRENT, challenge: challenge.as_deref() };
        let transaction = self.send_on(StreamNumber::CONTROL, request);
        self.step = Some((transaction, SessionStep::Establishment { challenge }));
    }

    pub(super) fn send_termination(&mut self) {
        let transaction = self.send_on(StreamNumber::CONTROL, Request::SessionTermination);
        self.step = Some((transaction, SessionStep::Termination));
    }

    /// Takes in a reply to session control; returns whether it was one.
    pub(super) fn take_session_reply(
        &mut self,
        now: Instant,
        transaction: TransactionId,
        reply: Result<&PositiveReply<'_>, NegativeReply>,
    ) -> bool {
        let Some((awaited, step)) = self.step.take() else { return false };
        if awaited != transaction {
            self.step = Some((awaited, step));
            return false;
        }
        match (step, reply) {
            (_, Err(NegativeReply::VersionMismatch { supported })) => {
                self.close(AgentCloseReason::OtherVersion(supported));
            }
            (_, Err(refused)) => self.close(AgentCloseReason::Refused(refused.code())),
            (
                SessionStep::Establishment { challenge: None } | SessionStep::Authentication,
                Ok(PositiveReply::SessionEstablishment { capabilities }),
            ) => self.opened(now, *capabilities),
            // We asked for proof and got none.
            (
                SessionStep::Establishment { challenge: Some(_) },
                Ok(PositiveReply::SessionEstablishment { .. }),
            ) => self.close(AgentCloseReason::NotAuthenticated),
            (
                SessionStep::Establishment { challenge: asked },
                Ok(PositiveReply::SessionAuthentication { challenge, token }),
            ) => self.prove(asked.as_deref(), *challenge, *token),
            (SessionStep::Termination, Ok(PositiveReply::SessionTermination)) => {
                self.close(AgentCloseReason::Terminated);
            }
            (
                SessionStep::Establishment { .. } | SessionStep::Authentication | SessionStep::Termination,
                Ok(_),
            ) => self.close(AgentCloseReason::OutOfPlace),
        }
        true
    }

    /// The middlebox has to prove that it has the key, and wants us to.
    fn prove(&mut self, asked: Option<&[u8]>, challenge: Option<&[u8]>, proof: Option<&[u8]>) {
        let Some(credentials) = self.settings.credentials.clone() else {
            self.close(AgentCloseReason::NoCredentials);
            return;
        };
        let (asked, theirs) = (asked.unwrap_or_default(), challenge.unwrap_or_default());
        let proof = proof.unwrap_or_default();
        if !auth::is_token(&credentials.key, Side::Middlebox, asked, theirs, proof) {
            self.close(AgentCloseReason::NotAuthenticated);
            return;
        }
        let token = challenge.map(|challenge| auth::token(&credentials.key, Side::Agent, asked, challenge));
        let request = Request::SessionAuthentication { token: token.as_ref().map(<[u8; 32]>::as_slice) };
        let transaction = self.send_on(StreamNumber::CONTROL, request);
        self.step = Some((transaction, SessionStep::Authentication));
    }

    fn opened(&mut self, now: Instant, capabilities: Capabilities) {
        self.phase = AgentPhase::Open;
        self.session += 1;
        self.attempts.opened(now);
        self.events.push_back(AgentEvent::Opened { capabilities });
        self.begin_resynchronisation();
    }
}
