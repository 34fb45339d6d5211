//! Any bytes as one packet: the first two are its link type, the next its length on the wire beyond what is here.
#![no_main]

use finwait::capture::{Packet, Way};
use finwait::wire::{Fragments, Mask, Missing, cut, decode, dissect};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let [a, b, more, data @ ..] = bytes else { return };
    let link = u16::from_le_bytes([*a, *b]);
    let wire = data.len() as u32 + u32::from(*more);
    let way = Way::Unknown;
    let packet = Packet { number: 1, time: 0, link: Some(link), interface: 0, way, offset: 0, wire, data };
    match decode(&packet) {
        Ok(found) => assert!(found.payload.end <= data.len()),
        Err(Missing::Fragment { at }) => {
            let mut fragments = Fragments::default();
            let whole = fragments.add(&packet, at);
            assert!(whole.is_none_or(|whole| whole.len() <= data.len()));
        }
        Err(_) => {}
    }
    let _ = dissect(link, wire, data);
    assert!(cut(&packet, 3) <= data.len());
    Mask::default().apply(link, wire, &mut data.to_vec());
});
