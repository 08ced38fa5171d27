//! Chunks as an engineer reads them: one line each, never the payload.

use core::fmt::{self, Display, Formatter};

use super::{Chunk, Data, FragmentLabel, IData, Init, Sack, TagOrigin};
use crate::list::{Bracketed, Walked};

impl Display for Chunk<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.kind())?;
        match self {
            Self::Data(data) => write!(f, " {data}"),
            Self::Init(init) | Self::InitAck(init) => write!(f, " {init}"),
            Self::Sack(sack) => write!(f, " {sack}"),
            Self::Heartbeat(info) | Self::HeartbeatAck(info) => write!(f, " {} B", info.info.len()),
            Self::Abort(abort) => {
                write!(f, "{}", t_bit(abort.tag))?;
                if abort.causes.is_empty() { Ok(()) } else { write!(f, " {}", Walked(abort.causes)) }
            }
            Self::Shutdown(shutdown) => write!(f, " cum={}", shutdown.cumulative_tsn_ack),
            Self::Error(causes) => write!(f, " {}", Walked(*causes)),
            Self::CookieEcho(cookie) => write!(f, " {} B", cookie.0.len()),
            Self::ShutdownComplete(tag) => write!(f, "{}", t_bit(*tag)),
            Self::ShutdownAck | Self::CookieAck => Ok(()),
            Self::Auth(auth) => write!(f, " {auth}"),
            Self::IData(data) => write!(f, " {data}"),
            Self::ForwardTsn(forward) => write!(f, " {forward}"),
            Self::IForwardTsn(forward) => write!(f, " {forward}"),
            Self::Asconf(asconf) => write!(f, " {asconf}"),
            Self::AsconfAck(ack) => write!(f, " {ack}"),
            Self::ReConfig(reconfig) => write!(f, " {reconfig}"),
            Self::Pad(pad) => write!(f, " {} B", pad.padding.len()),
            Self::Unknown(unknown) => {
                write!(f, " flags={:#04x} {} B", unknown.flags, unknown.value.len())
            }
        }
    }
}

const fn t_bit(tag: TagOrigin) -> &'static str {
    match tag {
        TagOrigin::Receiver => "",
        TagOrigin::Reflected => " T",
    }
}

impl Display for Data<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { tsn, stream, ssn, ppid, flags, payload } = self;
        write!(f, "tsn={tsn} stream={stream} ssn={ssn} ppid={ppid} {flags} {} B", payload.len())
    }
}

impl Display for IData<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { tsn, stream, mid, label, flags, payload, .. } = self;
        write!(f, "tsn={tsn} stream={stream} mid={mid} ")?;
        match label {
            FragmentLabel::Beginning(ppid) => write!(f, "ppid={ppid}")?,
            FragmentLabel::Later(fsn) => write!(f, "fsn={fsn}")?,
        }
        write!(f, " {flags} {} B", payload.len())
    }
}

impl Display for Init<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { initiate_tag, a_rwnd, outbound_streams, inbound_streams, initial_tsn, parameters } = self;
        write!(f, "tag={initiate_tag} a_rwnd={a_rwnd} os={outbound_streams} mis={inbound_streams} ")?;
        write!(f, "tsn={initial_tsn} {}", Walked(*parameters))
    }
}

impl Display for Sack<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "cum={} a_rwnd={}", self.cumulative_tsn_ack, self.a_rwnd)?;
        if self.gap_ack_blocks().len() > 0 {
            write!(f, " gaps={}", Bracketed(" ", self.gap_ack_blocks()))?;
        }
        if self.duplicate_tsns().len() > 0 {
            write!(f, " dup={}", Bracketed(" ", self.duplicate_tsns()))?;
        }
        Ok(())
    }
}
