//! "Did you mean …?"

/// ` (did you mean …?)` if one of the names is much like the word, else nothing.
pub fn suggestion<'a>(word: &str, names: impl Iterator<Item = &'a str>) -> String {
    closest(word, names).map_or_else(String::new, |name| format!(" (did you mean `{name}`?)"))
}

/// The name most like the word, if any is alike enough to be meant.
pub fn closest<'a>(word: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let word = word.to_lowercase();
    names
        .map(|name| (strsim::damerau_levenshtein(&word, &name.to_lowercase()), name))
        .filter(|(distance, name)| *distance <= name.len().div_ceil(3))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}
