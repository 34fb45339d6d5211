//! Any bytes as one packet: the first two are its link type, the next its length on the wire beyond what is here.
#![no_main]

use finwait::capture::Packet;
use finwait::wire::{decode, dissect};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let [a, b, more, data @ ..] = bytes else { return };
    let link = u16::from_le_bytes([*a, *b]);
    let wire = data.len() as u32 + u32::from(*more);
    let packet = Packet { number: 1, time: 0, link: Some(link), interface: 0, offset: 0, wire, data };
    if let Ok(found) = decode(&packet) {
        assert!(found.payload.end <= data.len());
    }
    let _ = dissect(link, wire, data);
});
