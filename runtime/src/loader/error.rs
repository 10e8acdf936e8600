//! Why a module could not be loaded, and where in the user's source that import stands.

use std::borrow::Cow;
use std::fmt;
use std::io;
use std::path::PathBuf;

use deno_error::AdditionalProperties;
use deno_error::JsErrorClass;

/// A position in a user's file. Lines and columns are 1-based, columns and length in UTF-16 code
/// units.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    pub specifier: String,
    pub line: u32,
    pub column: u32,
    pub length: u32,
}

/// What went wrong.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadErrorKind {
    #[error("import: module not found, got {path}{}", hint.as_deref().unwrap_or_default())]
    NotFound { path: String, hint: Option<String> },
    #[error("import: {path} is a directory, expected a file")]
    Directory { path: String },
    #[error("import: cannot read {path}: {reason}")]
    Read { path: String, reason: io::Error },
    #[error(
        "import: {path} is too large for a module, got {bytes} bytes, expected at most {limit}"
    )]
    TooLarge { path: String, bytes: u64, limit: u64 },
    #[error("import: {path} is not UTF-8, got byte 0x{byte:02x} at offset {offset}")]
    NotUtf8 { path: String, byte: u8, offset: usize },
    #[error(
        "import: modules of the kind {scheme:?} are not available, got {specifier:?}, expected a \
         path, a file: URL or a package in node_modules"
    )]
    Scheme { scheme: String, specifier: String },
    #[error("import: Node's built-in modules are not available yet, got {specifier:?}")]
    NodeBuiltIn { specifier: String },
    #[error("import: not a valid specifier, got {specifier:?}: {reason}")]
    Specifier { specifier: String, reason: String },
    #[error("import: package not found in any node_modules folder, got {specifier:?}")]
    Package { specifier: String },
    #[error("import: cannot resolve {specifier:?} in node_modules: {reason}")]
    Resolution { specifier: String, reason: String },
    #[error(
        "import: {path} is a CommonJS module, which is not available yet; expected an ES module \
         (\"type\": \"module\" in its package.json, or the extension .mjs)"
    )]
    CommonJs { path: String },
    #[error("import: {path} needs `with {{ type: {expected:?} }}`")]
    MissingAttribute { path: String, expected: &'static str },
    #[error(
        "import: no such import attribute, got type: {got:?}, expected \"json\", \"text\" or \
         \"bytes\""
    )]
    Attribute { got: String },
    #[error("SyntaxError: {message}")]
    Syntax { message: String, help: Option<String>, at: Location },
}

/// A module that could not be loaded. Its text names the place; [`LoadError::kind`]'s does not.
#[derive(Debug)]
pub struct LoadError {
    pub kind: LoadErrorKind,
    /// The import statement, or for syntax errors the offending text; `None` for the main module.
    pub location: Option<Location>,
    /// The importing file, where its position in that file is not known.
    pub importer: Option<String>,
}

impl From<LoadErrorKind> for LoadError {
    fn from(kind: LoadErrorKind) -> Self {
        let location = match &kind {
            LoadErrorKind::Syntax { at, .. } => Some(at.clone()),
            _ => None,
        };
        Self { kind, location, importer: None }
    }
}

impl LoadError {
    /// What there is to do about it.
    pub fn help(&self) -> Option<&str> {
        match &self.kind {
            LoadErrorKind::Syntax { help, .. } => help.as_deref(),
            _ => None,
        }
    }
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, location, importer } = self;
        let imported = match kind {
            LoadErrorKind::Syntax { .. } => "",
            _ => ", imported from ",
        };
        match (location, importer) {
            (Some(Location { specifier, line, column, .. }), _) if imported.is_empty() => {
                write!(f, "{kind} ({specifier}:{line}:{column})")
            }
            (Some(Location { specifier, line, column, .. }), _) => {
                write!(f, "{kind}{imported}{specifier}:{line}:{column}")
            }
            (None, Some(importer)) => write!(f, "{kind}{imported}{importer}"),
            (None, None) => write!(f, "{kind}"),
        }
    }
}

// The text says everything, so there is no source: deno_core would append its text.
impl std::error::Error for LoadError {}

impl JsErrorClass for LoadError {
    fn get_class(&self) -> Cow<'static, str> {
        match self.kind {
            LoadErrorKind::Syntax { .. } => "SyntaxError".into(),
            _ => "TypeError".into(),
        }
    }

    fn get_message(&self) -> Cow<'static, str> {
        self.to_string().into()
    }

    fn get_additional_properties(&self) -> AdditionalProperties {
        Box::new(std::iter::empty())
    }

    fn get_ref(&self) -> &(dyn std::error::Error + Send + Sync + 'static) {
        self
    }
}

/// A path as messages show it.
pub(super) fn shown(path: &std::path::Path) -> String {
    path.display().to_string()
}

/// The error of a path that could not be read, with a hint where a near name exists.
pub(super) fn read_error(path: PathBuf, source: io::Error) -> LoadErrorKind {
    match source.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => {
            let hint =
                super::read::similar_file(&path).map(|name| format!("; did you mean {name:?}?"));
            LoadErrorKind::NotFound { path: shown(&path), hint }
        }
        io::ErrorKind::IsADirectory => LoadErrorKind::Directory { path: shown(&path) },
        _ => LoadErrorKind::Read { path: shown(&path), reason: source },
    }
}
