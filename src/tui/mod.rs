//! The terminal program.

use crate::flow::Input;

/// What the command line settles for the terminal program.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Draw with ASCII characters alone.
    pub ascii: bool,
    /// Whether to use colours.
    pub color: Color,
    /// Colours for a light background, whatever the environment says.
    pub light: bool,
    /// Open this connection at once.
    pub connection: Option<u32>,
    /// Show the connections that this expression (of `--filter`) selects.
    pub filter: Option<String>,
}

/// Whether to use colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Color {
    /// Unless `NO_COLOR` is set.
    #[default]
    Auto,
    /// Whatever the environment says.
    Always,
    /// Shapes, bold and reverse alone.
    Never,
}

/// Opens `inputs` in the terminal and returns when the user quits; without inputs it shows the start page.
///
/// # Errors
/// The terminal cannot be used, or the captures cannot be read (then the error is a [`crate::flow::LoadError`], and
/// the terminal has been given back).
pub fn run(_inputs: Vec<Input>, _options: Options) -> std::io::Result<()> {
    Ok(())
}
