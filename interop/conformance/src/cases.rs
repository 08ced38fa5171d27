//! The cases, by the sections of RFC 9260.

/// A table of cases: strength, section, requirement, where it runs, settings, script.
macro_rules! cases {
    ($($strength:ident $section:literal $over:ident $settings:ident $script:ident: $requirement:literal;)*) => {
        pub(super) const CASES: &[$crate::case::Case] = &[$($crate::case::Case {
            section: $section,
            name: stringify!($script),
            strength: $crate::case::Strength::$strength,
            requirement: $requirement,
            over: $crate::case::Over::$over,
            settings: $crate::wire::Settings::$settings,
            script: $script,
        }),*];
    };
}

mod section_3;
mod section_3_3;
mod section_5;
mod section_5_1;
mod section_5_2;
mod section_5_3;
mod section_6;
mod section_6_1;
mod section_6_2;
mod section_6_4;
mod section_6_5;
mod section_8;
mod section_8_3;
mod section_9;

use crate::case::Case;

/// The tables of cases in the order of the RFC.
pub(crate) const ALL: [&[Case]; 14] = [
    section_3::CASES,
    section_3_3::CASES,
    section_5::CASES,
    section_5_1::CASES,
    section_5_2::CASES,
    section_5_3::CASES,
    section_6::CASES,
    section_6_1::CASES,
    section_6_2::CASES,
    section_6_4::CASES,
    section_6_5::CASES,
    section_8::CASES,
    section_8_3::CASES,
    section_9::CASES,
];
