//! One file a rule.

use super::Rule;

/// All rules, in the order of the catalogue of kinds.
pub static RULES: &[&Rule] = &[];
