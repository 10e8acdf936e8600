//! User modules: found, read, compiled, cached.
//!
//! Invariant: only this module reads files for modules, and every module that V8 gets went
//! through the compiler crate. Deliberately not here: how errors look (`report`).

mod code_cache;
mod error;
mod import_site;
mod node_modules;
mod read;
mod resolve;

use std::borrow::Cow;
use std::cell::Cell;
use std::cell::RefCell;
use std::collections::HashMap;
use std::collections::HashSet;
use std::future::Future;
use std::path::Path;
use std::pin::Pin;
use std::rc::Rc;

use deno_core::ModuleLoadOptions;
use deno_core::ModuleLoadReferrer;
use deno_core::ModuleLoadResponse;
use deno_core::ModuleLoader;
use deno_core::ModuleSource;
use deno_core::ModuleSourceCode;
use deno_core::ModuleSpecifier;
use deno_core::ModuleType;
use deno_core::RequestedModuleType;
use deno_core::ResolutionKind;
use deno_core::SourceCodeCacheInfo;
use deno_core::error::ModuleLoaderError;
use deno_core::sourcemap::SourceMap;
use deno_error::JsErrorBox;
use deno_error::JsErrorClass;
use mlrun_compiler::Mutant;
use mlrun_compiler::Options;
use mlrun_compiler::SourceType;

pub use self::code_cache::CacheDir;
use self::code_cache::CodeCache;
use self::code_cache::Entry;
use self::code_cache::Key;
pub use self::error::LoadError;
pub use self::error::LoadErrorKind;
pub use self::error::Location;
use self::error::shown;
use self::node_modules::Packages;
use crate::report::Program;
use crate::report::Report;

/// Whether tensors are released by the ownership pass.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Ownership {
    /// At their last use.
    #[default]
    On,
    /// At their last use, and a use after that is an error that names the release.
    Verify,
    /// The same for every object that the program makes: its use after the release is reported.
    VerifyAll,
    /// By the collector only: modules run as they were written.
    Off,
}

impl Ownership {
    /// A use after release is reported.
    pub(crate) fn verifies(self) -> bool {
        matches!(self, Self::Verify | Self::VerifyAll)
    }
}

/// What the loader did so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// Modules of JavaScript or TypeScript that were loaded.
    pub modules: u32,
    /// Of these, how many the compiler crate compiled.
    pub compiled: u32,
    /// With a cache: how many modules and library scripts V8 compiled instead of taking them
    /// from there.
    pub compiled_by_v8: u32,
}

/// Bytes below which a script of the library compiles faster than a file is read.
const WORTH_CACHING: usize = 1024;

/// A module as the user wrote it.
struct UserModule {
    source: Rc<str>,
    source_map: Option<String>,
    /// The name under which it imports the runtime half, if the ownership pass changed it. The
    /// program does not know it, so nobody else can import that module.
    runtime_half: String,
}

/// A source text, and where a part of it starts and ends.
type Place = (Rc<str>, u32, u32);

/// Loads user modules for one isolate.
pub(crate) struct Loader {
    packages: Packages,
    cache: CodeCache,
    modules: RefCell<HashMap<String, UserModule>>,
    virtual_files: RefCell<HashMap<String, Rc<str>>>,
    /// The last importer of a dynamic import's target.
    importers: RefCell<HashMap<String, String>>,
    /// Errors by their text: what a script's error was made of (deno_core keeps the text only).
    errors: RefCell<HashMap<String, Rc<LoadError>>>,
    /// Entries that wait for V8's part.
    pending: RefCell<HashMap<u64, (Key, Entry)>>,
    /// Functions that the ownership pass changed, by the hash of their emitted text: where they
    /// stand in what the user wrote.
    texts: RefCell<HashMap<u64, Place>>,
    /// Source maps of modules that positions were asked of.
    maps: RefCell<HashMap<String, Rc<SourceMap>>>,
    stats: Cell<Stats>,
    ownership: Ownership,
    /// A rule that emitted code breaks, for tests of the verification.
    mutant: Option<Mutant>,
    /// Loops of the program's own modules yield to the event loop.
    yields: bool,
    /// Whether the program may get at tensors; known once its main module is loaded.
    may_use_tensors: Cell<Option<bool>>,
}

impl Loader {
    pub fn new(cache: &CacheDir, ownership: Ownership, mutant: Option<Mutant>) -> Self {
        Self {
            ownership,
            mutant: mutant.filter(|_| ownership.verifies()),
            yields: false,
            packages: Packages::default(),
            cache: CodeCache::new(cache),
            modules: RefCell::default(),
            virtual_files: RefCell::default(),
            importers: RefCell::default(),
            errors: RefCell::default(),
            pending: RefCell::default(),
            texts: RefCell::default(),
            maps: RefCell::default(),
            stats: Cell::default(),
            may_use_tensors: Cell::default(),
        }
    }

    /// Has loops of the program's own modules yield to the event loop, if `on`.
    pub fn with_yields(self, on: bool) -> Self {
        Self { yields: on, ..self }
    }

    /// Makes `source` the content of a file that need not exist.
    pub fn add_virtual_file(&self, specifier: &ModuleSpecifier, source: &str) {
        self.virtual_files.borrow_mut().insert(specifier.to_string(), source.into());
    }

    pub fn stats(&self) -> Stats {
        self.stats.get()
    }

    /// Makes an error for deno_core, and remembers it for the report.
    fn fail(&self, error: LoadError) -> JsErrorBox {
        let message = error.to_string();
        let class = error.get_class();
        self.errors.borrow_mut().insert(message.clone(), Rc::new(error));
        JsErrorBox::new(class, message)
    }

    fn count(&self, change: impl FnOnce(&mut Stats)) {
        let mut stats = self.stats.get();
        change(&mut stats);
        self.stats.set(stats);
    }

    /// Adds the place of the import to an error.
    fn at_import(
        &self,
        kind: LoadErrorKind,
        importer: Option<&str>,
        is_target: impl Fn(&str) -> bool,
    ) -> LoadError {
        let Some(importer) = importer.filter(|importer| importer.starts_with("file:")) else {
            return kind.into();
        };
        if matches!(kind, LoadErrorKind::Syntax { .. }) {
            return kind.into();
        }
        let location = self.source(importer).and_then(|source| {
            let site = import_site::find(&source, is_target)?;
            Some(Location {
                specifier: importer.to_owned(),
                line: site.line,
                column: site.column,
                length: site.length,
            })
        });
        LoadError { kind, location, importer: Some(importer.to_owned()) }
    }

    fn load_source(
        &self,
        specifier: &ModuleSpecifier,
        requested: &RequestedModuleType,
    ) -> Result<ModuleSource, LoadErrorKind> {
        let path = specifier.to_file_path().map_err(|()| LoadErrorKind::Specifier {
            specifier: specifier.to_string(),
            reason: "it names no local path".to_owned(),
        })?;
        let module = |kind, code| ModuleSource::new(kind, code, specifier, None);
        match requested {
            RequestedModuleType::None => {
                let (key, entry) = self.compile_source(specifier, &path)?;
                Ok(self.script(specifier, key, entry))
            }
            RequestedModuleType::Json => {
                let text = self.read_text(specifier, &path)?;
                self.check_json(specifier, &text)?;
                Ok(module(ModuleType::Json, ModuleSourceCode::String(text.into())))
            }
            RequestedModuleType::Text => {
                let text = self.read_text(specifier, &path)?;
                Ok(module(ModuleType::Text, ModuleSourceCode::String(text.into())))
            }
            RequestedModuleType::Bytes => {
                let bytes = read::bytes(&path)?;
                let bytes = ModuleSourceCode::Bytes(bytes.into_boxed_slice().into());
                Ok(module(ModuleType::Bytes, bytes))
            }
            RequestedModuleType::Other(got) => {
                Err(LoadErrorKind::Attribute { got: got.to_string() })
            }
        }
    }

    /// V8's own error about JSON names neither file nor line.
    fn check_json(&self, specifier: &ModuleSpecifier, text: &str) -> Result<(), LoadErrorKind> {
        let Err(error) = serde_json::from_str::<serde::de::IgnoredAny>(text) else {
            return Ok(());
        };
        let module =
            UserModule { source: text.into(), source_map: None, runtime_half: String::new() };
        self.modules.borrow_mut().insert(specifier.to_string(), module);
        let number = |n: usize| u32::try_from(n).unwrap_or(u32::MAX).max(1);
        let message = error.to_string();
        let message = message.rsplit_once(" at line ").map_or(&*message, |(text, _)| text);
        Err(LoadErrorKind::Syntax {
            message: format!("not valid JSON: {message}"),
            help: None,
            at: Location {
                specifier: specifier.to_string(),
                line: number(error.line()),
                column: number(error.column()),
                length: 1,
            },
        })
    }

    fn read_text(&self, specifier: &ModuleSpecifier, path: &Path) -> Result<String, LoadErrorKind> {
        match self.virtual_files.borrow().get(specifier.as_str()) {
            Some(source) => Ok(source.to_string()),
            None => read::text(path),
        }
    }

    /// Reads and compiles a module, or takes it from the cache.
    fn compile_source(
        &self,
        specifier: &ModuleSpecifier,
        path: &Path,
    ) -> Result<(Key, Entry), LoadErrorKind> {
        let source_type = self.source_type(specifier, path)?;
        let source: Rc<str> = self.read_text(specifier, path)?.into();
        if source_type == SourceType::CommonJs && !import_site::has_module_syntax(&source) {
            return Err(LoadErrorKind::CommonJs { path: shown(path) });
        }
        let source_type = match source_type {
            SourceType::CommonJs => SourceType::Module,
            other => other,
        };
        self.count(|stats| stats.modules += 1);
        // The name is what source maps and so entries depend on; the folder is not.
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let mut options = Options::new(source_type);
        options.ownership = match self.ownership {
            Ownership::VerifyAll => mlrun_compiler::Ownership::Force,
            Ownership::Verify => mlrun_compiler::Ownership::On,
            Ownership::On if self.may_use_tensors(specifier) => mlrun_compiler::Ownership::On,
            _ => mlrun_compiler::Ownership::Off,
        };
        // A package is not asked to await where its author did not.
        options.yields = self.yields && !specifier.path().contains("/node_modules/");
        let key = Key::new(&[
            format!("{options:?}{:?}{:?}", self.ownership, self.mutant).as_bytes(),
            name.as_bytes(),
            source.as_bytes(),
        ]);
        let keep = |entry: &Entry| {
            let module = UserModule {
                source: source.clone(),
                source_map: entry.source_map.clone(),
                runtime_half: entry.runtime_half.clone(),
            };
            self.modules.borrow_mut().insert(specifier.to_string(), module);
            let text: Rc<str> = entry.plain.as_deref().map_or_else(|| source.clone(), Rc::from);
            let mut texts = self.texts.borrow_mut();
            texts.extend(entry.functions.iter().map(|f| (f.hash, (text.clone(), f.start, f.end))));
        };
        let entry = match self.cache.get(&key) {
            Some(entry) => {
                keep(&entry);
                entry
            }
            None => {
                keep(&Entry::default());
                let entry = self.compile(specifier, &name, &source, &options)?;
                keep(&entry);
                entry
            }
        };
        Ok((key, entry))
    }

    /// Whether anything that `main` leads to imports the library, or something that is only known
    /// when it runs. Without tensors nothing needs counting, and modules run as they are.
    fn may_use_tensors(&self, main: &ModuleSpecifier) -> bool {
        if let Some(known) = self.may_use_tensors.get() {
            return known;
        }
        let mut seen = HashSet::from([main.clone()]);
        let mut open = vec![main.clone()];
        let mut found = false;
        while let Some(specifier) = open.pop().filter(|_| !found) {
            let Ok(path) = specifier.to_file_path() else { continue };
            let Ok(text) = self.read_text(&specifier, &path) else { continue };
            let (imports, unknown) = import_site::specifiers(&text);
            found = unknown;
            for import in imports {
                match resolve::resolve(&self.packages, import, specifier.as_str()) {
                    Ok(target) if target.as_str() == resolve::LIBRARY => found = true,
                    Ok(target) if seen.insert(target.clone()) => open.push(target),
                    _ => {}
                }
            }
        }
        self.may_use_tensors.set(Some(found));
        found
    }

    fn compile(
        &self,
        specifier: &ModuleSpecifier,
        name: &str,
        source: &str,
        options: &Options,
    ) -> Result<Entry, LoadErrorKind> {
        self.count(|stats| stats.compiled += 1);
        match mlrun_compiler::compile(name, source, options) {
            Ok(compiled) => {
                let runtime_half = if compiled.owned { secret_name() } else { String::new() };
                let (mut code, source_map) = (compiled.code, compiled.source_map);
                if let Some(broken) = self.mutant.and_then(|m| m.apply(&code)) {
                    code = broken;
                }
                let (functions, plain) = (compiled.functions, compiled.plain);
                Ok(Entry { code, source_map, runtime_half, functions, plain, v8: Vec::new() })
            }
            Err(error) if error.is_complaint && !self.ownership.verifies() => {
                // The module runs as it was written: then its tensors are the collector's.
                let plain = Options { ownership: Default::default(), ..*options };
                self.compile(specifier, name, source, &plain)
            }
            Err(error) => Err(LoadErrorKind::Syntax {
                message: error.message,
                help: error.help,
                at: Location {
                    specifier: specifier.to_string(),
                    line: error.line,
                    column: error.column,
                    length: error.length,
                },
            }),
        }
    }

    /// Hands an entry to V8, and asks for its code cache if the entry has none.
    fn script(&self, specifier: &ModuleSpecifier, key: Key, mut entry: Entry) -> ModuleSource {
        let v8 = std::mem::take(&mut entry.v8);
        let code = match entry.runtime_half.as_str() {
            "" => entry.code.clone(),
            name => with_runtime_half(entry.code.clone(), name),
        };
        let code = ModuleSourceCode::String(code.into());
        let code_cache = self.cache.is_on().then(|| {
            self.pending.borrow_mut().insert(key.short(), (key, entry));
            SourceCodeCacheInfo {
                hash: key.short(),
                data: (!v8.is_empty()).then_some(Cow::Owned(v8)),
            }
        });
        ModuleSource::new(ModuleType::JavaScript, code, specifier, code_cache)
    }

    fn source_type(
        &self,
        specifier: &ModuleSpecifier,
        path: &Path,
    ) -> Result<SourceType, LoadErrorKind> {
        let extension = path.extension().and_then(|extension| extension.to_str());
        match extension.unwrap_or_default() {
            "ts" | "mts" => Ok(SourceType::TypeScript),
            "tsx" => Ok(SourceType::Tsx),
            "jsx" => Ok(SourceType::Jsx),
            "cjs" | "cts" => Err(LoadErrorKind::CommonJs { path: shown(path) }),
            "json" => Err(LoadErrorKind::MissingAttribute { path: shown(path), expected: "json" }),
            "mjs" => Ok(SourceType::Module),
            _ if self.packages.is_common_js(specifier, path) => Ok(SourceType::CommonJs),
            _ => Ok(SourceType::Module),
        }
    }

    /// A module's source map, parsed once.
    fn source_map(&self, file: &str) -> Option<Rc<SourceMap>> {
        if let Some(map) = self.maps.borrow().get(file) {
            return Some(map.clone());
        }
        let modules = self.modules.borrow();
        let text = modules.get(file)?.source_map.as_ref()?;
        let map = Rc::new(SourceMap::from_slice(text.as_bytes()).ok()?);
        self.maps.borrow_mut().insert(file.to_owned(), map.clone());
        Some(map)
    }

    fn store_v8_cache(&self, hash: u64, v8: &[u8]) {
        self.count(|stats| stats.compiled_by_v8 += 1);
        if let Some((key, entry)) = self.pending.borrow_mut().remove(&hash) {
            self.cache.put(&key, &Entry { v8: v8.to_vec(), ..entry });
        }
    }
}

impl Program for Loader {
    fn source(&self, specifier: &str) -> Option<Rc<str>> {
        Some(self.modules.borrow().get(specifier)?.source.clone())
    }

    fn load_error(&self, message: &str) -> Option<Rc<LoadError>> {
        self.errors.borrow().get(message).cloned()
    }
}

impl mlrun_globals::FunctionTexts for Loader {
    fn position(&self, file: &str, line: u32, column: u32) -> Option<(u32, u32)> {
        let map = self.source_map(file)?;
        let token = map.lookup_token(line.checked_sub(1)?, column.checked_sub(1)?)?;
        Some((token.get_src_line() + 1, token.get_src_col() + 1))
    }

    fn written(&self, emitted: &str) -> Option<String> {
        let texts = self.texts.borrow();
        let (text, start, end) = texts.get(&mlrun_compiler::text_hash(emitted))?;
        Some(text.get(*start as usize..*end as usize)?.to_owned())
    }
}

impl ModuleLoader for Loader {
    fn resolve(
        &self,
        specifier: &str,
        referrer: &str,
        kind: ResolutionKind,
    ) -> Result<ModuleSpecifier, ModuleLoaderError> {
        if matches!(kind, ResolutionKind::MainModule) {
            return ModuleSpecifier::parse(specifier).map_err(JsErrorBox::from_err);
        }
        if specifier.starts_with(resolve::OWNERSHIP)
            && self.modules.borrow().get(referrer).is_some_and(|m| m.runtime_half == specifier)
        {
            return ModuleSpecifier::parse(resolve::OWNERSHIP).map_err(JsErrorBox::from_err);
        }
        let resolved = resolve::resolve(&self.packages, specifier, referrer).map_err(|kind| {
            self.fail(self.at_import(kind, Some(referrer), |text| text == specifier))
        })?;
        if matches!(kind, ResolutionKind::DynamicImport) {
            self.importers.borrow_mut().insert(resolved.to_string(), referrer.to_owned());
        }
        Ok(resolved)
    }

    fn import_meta_resolve(
        &self,
        specifier: &str,
        referrer: &str,
    ) -> Result<ModuleSpecifier, ModuleLoaderError> {
        resolve::resolve(&self.packages, specifier, referrer).map_err(|kind| self.fail(kind.into()))
    }

    fn load(
        &self,
        specifier: &ModuleSpecifier,
        referrer: Option<&ModuleLoadReferrer>,
        options: ModuleLoadOptions,
    ) -> ModuleLoadResponse {
        if specifier.as_str() == resolve::LIBRARY {
            return ModuleLoadResponse::Sync(built_in(specifier, mlrun_globals::LIBRARY_MODULE));
        }
        if specifier.as_str() == resolve::TURNS {
            return ModuleLoadResponse::Sync(built_in(specifier, mlrun_globals::TURNS_MODULE));
        }
        if specifier.as_str() == resolve::OWNERSHIP {
            return ModuleLoadResponse::Sync(built_in(specifier, mlrun_globals::OWNERSHIP_MODULE));
        }
        let loaded = self.load_source(specifier, &options.requested_module_type);
        let located = loaded.map_err(|kind| {
            let importers = self.importers.borrow();
            let importer = referrer
                .map(|referrer| referrer.specifier.as_str())
                .or_else(|| importers.get(specifier.as_str()).map(String::as_str));
            let is_target = |text: &str| {
                let base = importer.unwrap_or_default();
                resolve::resolve(&self.packages, text, base).is_ok_and(|url| url == *specifier)
            };
            self.fail(self.at_import(kind, importer, is_target))
        });
        ModuleLoadResponse::Sync(located)
    }

    fn code_cache_ready(
        &self,
        _specifier: ModuleSpecifier,
        hash: u64,
        code_cache: &[u8],
    ) -> Pin<Box<dyn Future<Output = ()>>> {
        self.store_v8_cache(hash, code_cache);
        Box::pin(std::future::ready(()))
    }

    /// Scripts of the library that are not in the snapshot.
    fn get_code_cache(
        &self,
        specifier: &ModuleSpecifier,
        source: &str,
    ) -> Option<SourceCodeCacheInfo> {
        if !self.cache.is_on() || source.len() < WORTH_CACHING {
            return None;
        }
        let key = Key::new(&[b"library", specifier.as_str().as_bytes(), source.as_bytes()]);
        let data = self.cache.get(&key).map(|entry| Cow::Owned(entry.v8));
        self.pending.borrow_mut().insert(key.short(), (key, Entry::default()));
        Some(SourceCodeCacheInfo { hash: key.short(), data })
    }

    fn get_source_map(&self, file_name: &str) -> Option<Cow<'_, [u8]>> {
        let modules = self.modules.borrow();
        let map = modules.get(file_name)?.source_map.as_ref()?;
        Some(Cow::Owned(map.clone().into_bytes()))
    }

    /// A map's source is the module itself, under its file name.
    fn source_map_source_exists(&self, source_url: &str) -> Option<bool> {
        Some(self.modules.borrow().contains_key(source_url))
    }

    fn get_source_mapped_source_line(&self, file_name: &str, line: usize) -> Option<String> {
        self.source(file_name)?.lines().nth(line).map(str::to_owned)
    }
}

/// A name for the runtime half that no program can guess.
fn secret_name() -> String {
    use std::hash::BuildHasher;
    use std::hash::Hasher;
    use std::hash::RandomState;
    let random = || RandomState::new().build_hasher().finish();
    format!("{}/{:016x}{:016x}", resolve::OWNERSHIP, random(), random())
}

/// Renames the import that the compiler put at the end.
fn with_runtime_half(mut code: String, name: &str) -> String {
    if let Some(at) = code.rfind(mlrun_compiler::RUNTIME_MODULE) {
        code.replace_range(at..at + mlrun_compiler::RUNTIME_MODULE.len(), name);
    }
    code
}

/// What the compiler makes of one file.
pub(crate) struct CompiledFile {
    pub code: String,
    pub source_map: Option<String>,
}

/// Compiles one file without running it.
pub(crate) fn compile_file(path: &Path) -> Result<CompiledFile, Box<Report>> {
    let loader = Loader::new(&CacheDir::Off, Ownership::On, None);
    loader.may_use_tensors.set(Some(true));
    let path = std::env::current_dir().unwrap_or_default().join(path);
    let compiled = match ModuleSpecifier::from_file_path(&path) {
        Ok(specifier) => loader.compile_source(&specifier, &path),
        Err(()) => Err(LoadErrorKind::Specifier {
            specifier: shown(&path),
            reason: "it is no path that a URL can name".to_owned(),
        }),
    };
    match compiled {
        Ok((_, entry)) => Ok(CompiledFile { code: entry.code, source_map: entry.source_map }),
        Err(kind) => Err(Box::new(Report::from_load_error(&kind.into(), &loader))),
    }
}

/// Tells what the ownership pass does to one file, without running it.
pub(crate) fn explain_file(path: &Path) -> Result<mlrun_compiler::Explained, Box<Report>> {
    let loader = Loader::new(&CacheDir::Off, Ownership::Off, None);
    let path = std::env::current_dir().unwrap_or_default().join(path);
    let fail = |kind: LoadErrorKind| Box::new(Report::from_load_error(&kind.into(), &loader));
    let specifier = ModuleSpecifier::from_file_path(&path).map_err(|()| {
        let reason = "it is no path that a URL can name".to_owned();
        fail(LoadErrorKind::Specifier { specifier: shown(&path), reason })
    })?;
    loader.compile_source(&specifier, &path).map_err(fail)?;
    let source_type = match loader.source_type(&specifier, &path).map_err(fail)? {
        SourceType::CommonJs => SourceType::Module,
        other => other,
    };
    let source = loader.modules.borrow().get(specifier.as_str()).map(|m| m.source.clone());
    let source = source.unwrap_or_else(|| "".into());
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    mlrun_compiler::explain(&name, &source, &Options::new(source_type)).map_err(|error| {
        fail(LoadErrorKind::Specifier { specifier: shown(&path), reason: error.to_string() })
    })
}

/// The library is evaluated in the snapshot under the name of its extension.
fn built_in(specifier: &ModuleSpecifier, name: &str) -> Result<ModuleSource, JsErrorBox> {
    let found = ModuleSpecifier::parse(name).map_err(JsErrorBox::from_err)?;
    Ok(ModuleSource::new_with_redirect(
        ModuleType::JavaScript,
        ModuleSourceCode::String(deno_core::FastString::from_static("")),
        specifier,
        &found,
        None,
    ))
}
