//! Name resolution blocks: the names of hosts, as whoever captured knew them.

use std::collections::BTreeMap;
use std::net::IpAddr;

use super::numbers::{NRB_IPV4, NRB_IPV6};
use super::options::{Options, name};

/// The most names of a file that are kept.
const MOST: usize = 65_536;

/// Takes the names out of a block, and returns where its options begin. The first name that the file gives an address holds.
pub(super) fn read(block: &[u8], big_endian: bool, names: &mut BTreeMap<IpAddr, String>) -> usize {
    let mut records = Options::of(block, 8, big_endian);
    for (kind, value) in records.by_ref() {
        let (address, rest): (IpAddr, &[u8]) = match kind {
            NRB_IPV4 => match value.split_first_chunk::<4>() {
                Some((address, rest)) => ((*address).into(), rest),
                None => continue,
            },
            NRB_IPV6 => match value.split_first_chunk::<16>() {
                Some((address, rest)) => ((*address).into(), rest),
                None => continue,
            },
            _ => continue,
        };
        // several names may follow each other, a zero byte after each
        let name = name(rest);
        if !name.is_empty() && names.len() < MOST {
            names.entry(address).or_insert(name);
        }
    }
    block.len().saturating_sub(4 + records.left())
}
