use super::*;

/// RFC 9260 §3.2, §3.2.1: the two top bits decide.
#[test]
fn top_two_bits_say_what_to_do_with_an_unknown_type() {
    use UnknownAction::{Skip, SkipAndReport, Stop, StopAndReport};
    let table = [
        (0x3e, 0x3ffe, Stop, true, false),
        (0x41, 0x4001, StopAndReport, true, true),
        (0x81, 0x8fff, Skip, false, false),
        (0xfe, 0xfffe, SkipAndReport, false, true),
    ];
    for (chunk, parameter, action, stops, reports) in table {
        assert_eq!(ChunkType::new(chunk).unknown_action(), action);
        assert_eq!(ParameterType::new(parameter).unknown_action(), action);
        assert_eq!((action.stops(), action.reports()), (stops, reports), "{action:?}");
    }
}

#[test]
fn extensions_were_numbered_so_that_old_stacks_treat_them_as_intended() {
    assert_eq!(ChunkType::PAD.unknown_action(), UnknownAction::Skip);
    assert_eq!(ChunkType::FORWARD_TSN.unknown_action(), UnknownAction::SkipAndReport);
    assert_eq!(ChunkType::I_DATA.unknown_action(), UnknownAction::StopAndReport);
    assert_eq!(ChunkType::AUTH.unknown_action(), UnknownAction::Stop);
    assert_eq!(ParameterType::PADDING.unknown_action(), UnknownAction::Skip);
    assert_eq!(ParameterType::FORWARD_TSN_SUPPORTED.unknown_action(), UnknownAction::SkipAndReport);
}

/// RFC 9260 §3.2 and §3.2.1 name what is not an extension.
#[test]
fn extensions_are_what_other_documents_define() {
    for number in 0..=u8::MAX {
        let kind = ChunkType::new(number);
        let is_foreign = kind.source().is_some_and(|source| !source.starts_with("RFC 9260"));
        assert_eq!(kind.is_extension(), is_foreign, "{kind}");
    }
    for number in 0..=u16::MAX {
        let kind = ParameterType::new(number);
        let is_foreign = kind.source().is_some_and(|source| !source.starts_with("RFC 9260"));
        assert_eq!(kind.is_extension(), is_foreign, "{kind}");
    }
}

#[test]
fn registered_numbers_have_names_and_sources_others_show_their_value() {
    assert_eq!(ChunkType::RE_CONFIG.to_string(), "RE-CONFIG");
    assert_eq!(ChunkType::RE_CONFIG.source(), Some("RFC 6525 §3.1"));
    assert_eq!(ChunkType::new(0xfe).to_string(), "chunk 0xfe");
    assert_eq!(ParameterType::new(0xc0de).to_string(), "parameter 0xc0de");
    assert_eq!(CauseCode::new(0x105).to_string(), "Unsupported HMAC Identifier");
    assert_eq!(CauseCode::new(99).source(), None);
    assert_eq!(
        (HmacId::SHA_256.to_string(), HmacId::new(2).to_string()),
        ("SHA-256".into(), "HMAC 0x02".into())
    );
    assert_eq!(ErrorDetectionMethod::SCTP_OVER_DTLS.to_string(), "1");
    assert_eq!(PayloadProtocolId::SIMCO.get(), 15);
    assert_eq!(PayloadProtocolId::SIMCO.name(), Some("SIMCO"));
    assert_eq!(PayloadProtocolId::new(4711).to_string(), "4711");
}
