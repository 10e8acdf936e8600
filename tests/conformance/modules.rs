//! Modules of a realm: loaded from files, resolved, imported.

use std::path::{Path, PathBuf};

use deno_core::v8;
use mlrun_compiler::SourceType;

use crate::realm::{Kind, OWNERSHIP, Run, note, origin, with_run};
use crate::{Mode, compile, read};

fn known<'s>(scope: &mut v8::PinScope<'s, '_>, path: &Path) -> Option<v8::Local<'s, v8::Module>> {
    let find = |run: &mut Run| Some(run.modules.iter().find(|m| m.0 == path)?.1.clone());
    with_run(find).flatten().map(|module| v8::Local::new(scope, module))
}

/// A module of the suite or of the runtime half; throws what is wrong with it.
pub(crate) fn load<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    path: &Path,
) -> Option<v8::Local<'s, v8::Module>> {
    if let Some(module) = known(scope, path) {
        return Some(module);
    }
    let packages = with_run(|run| run.kind == Kind::CommonJs).unwrap_or_default();
    match read(path) {
        // A module imports a file for `require`.
        Ok(text) if packages && !has_module_syntax(path) => {
            load_text(scope, path, &wrapper(path, &text))
        }
        Ok(text) => load_text(scope, path, &text),
        Err(problem) => {
            let text = v8::String::new(scope, &problem)?;
            let error = v8::Exception::type_error(scope, text);
            scope.throw_exception(error);
            None
        }
    }
}

pub(crate) fn load_text<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    path: &Path,
    text: &str,
) -> Option<v8::Local<'s, v8::Module>> {
    let (mode, js) = with_run(|run| (run.mode, run.js.clone()))?;
    let mode = if path.starts_with(js) { Mode::Plain } else { mode };
    let name = path.to_string_lossy();
    let kind = match path.extension().is_some_and(|e| e == "ts") {
        true => SourceType::TypeScript,
        false => SourceType::Module,
    };
    let code = match compile(mode, kind, &name, text) {
        Ok(code) => code,
        Err(problem) => {
            let text = v8::String::new(scope, &problem)?;
            let error = v8::Exception::syntax_error(scope, text);
            scope.throw_exception(error);
            return None;
        }
    };
    let source = v8::String::new(scope, &code.text)?;
    let origin = origin(scope, &name, true);
    let mut source = v8::script_compiler::Source::new(source, Some(&origin));
    let module = v8::script_compiler::compile_module(scope, &mut source)?;
    let global = v8::Global::new(scope, module);
    with_run(|run| run.modules.push((path.to_owned(), global)));
    note(code);
    Some(module)
}

/// The file that a specifier names.
fn target(specifier: &str, referrer: &Path) -> Option<PathBuf> {
    let js = with_run(|run| run.js.clone())?;
    if specifier == mlrun_compiler::RUNTIME_MODULE {
        return Some(js.join(OWNERSHIP));
    }
    if let Some(name) = specifier.strip_prefix("ext:mlrun_tensor/") {
        return Some(js.join(name));
    }
    with_run(|run| run.target)?(specifier, referrer)
}

fn resolve<'s>(
    context: v8::Local<'s, v8::Context>,
    specifier: v8::Local<'s, v8::String>,
    _: v8::Local<'s, v8::FixedArray>,
    referrer: v8::Local<'s, v8::Module>,
) -> Option<v8::Local<'s, v8::Module>> {
    // SAFETY: V8 calls this with a context that it has entered.
    v8::callback_scope!(unsafe scope, context);
    let specifier = specifier.to_rust_string_lossy(scope);
    let find = |run: &mut Run| Some(run.modules.iter().find(|m| m.1 == referrer)?.0.clone());
    let from = with_run(find).flatten()?;
    load(scope, &target(&specifier, &from)?)
}

/// `import source x from`, which nothing here has: what V8 calls must be there.
fn resolve_source<'s>(
    context: v8::Local<'s, v8::Context>,
    _: v8::Local<'s, v8::String>,
    _: v8::Local<'s, v8::FixedArray>,
    _: v8::Local<'s, v8::Module>,
) -> Option<v8::Local<'s, v8::Object>> {
    // SAFETY: V8 calls this with a context that it has entered.
    v8::callback_scope!(unsafe scope, context);
    let text = v8::String::new(scope, "import: phases are not supported")?;
    let error = v8::Exception::syntax_error(scope, text);
    scope.throw_exception(error);
    None
}

/// Links a module with what it imports.
pub(crate) fn link(
    scope: &mut v8::PinScope<'_, '_>,
    module: v8::Local<v8::Module>,
) -> Option<bool> {
    module.instantiate_module2(scope, resolve, resolve_source)
}

/// `import(...)`.
pub(crate) fn import<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    _: v8::Local<'s, v8::Data>,
    from: v8::Local<'s, v8::Value>,
    specifier: v8::Local<'s, v8::String>,
    _: v8::Local<'s, v8::FixedArray>,
) -> Option<v8::Local<'s, v8::Promise>> {
    let resolver = v8::PromiseResolver::new(scope)?;
    let from = PathBuf::from(from.to_rust_string_lossy(scope));
    let specifier = specifier.to_rust_string_lossy(scope);
    v8::tc_scope!(let scope, scope);
    let loaded = (|| {
        let module = load(scope, &target(&specifier, &from)?)?;
        link(scope, module)?;
        let evaluated = match module.get_status() {
            // What imports itself goes on before it is done.
            v8::ModuleStatus::Evaluating => {
                let undefined = v8::undefined(scope);
                resolver.resolve(scope, undefined.into());
                resolver.get_promise(scope)
            }
            v8::ModuleStatus::Errored => {
                let reason = module.get_exception();
                scope.throw_exception(reason);
                return None;
            }
            _ => module.evaluate(scope)?.try_cast::<v8::Promise>().ok()?,
        };
        let find = |run: &mut Run| run.modules.iter().position(|m| m.1 == module);
        let place = v8::Number::new(scope, with_run(find)?? as f64);
        let namespace = v8::Function::builder(namespace).data(place.into()).build(scope)?;
        evaluated.then(scope, namespace)
    })();
    if loaded.is_some() {
        return loaded;
    }
    let reason = scope.exception()?;
    scope.reset();
    resolver.reject(scope, reason);
    Some(resolver.get_promise(scope))
}

/// `import.source(...)` and `import.defer(...)`, which nothing here has.
pub(crate) fn import_phase<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    _: v8::Local<'s, v8::Data>,
    _: v8::Local<'s, v8::Value>,
    _: v8::Local<'s, v8::String>,
    _: v8::ModuleImportPhase,
    _: v8::Local<'s, v8::FixedArray>,
) -> Option<v8::Local<'s, v8::Promise>> {
    let resolver = v8::PromiseResolver::new(scope)?;
    let text = v8::String::new(scope, "import: phases are not supported")?;
    let error = v8::Exception::syntax_error(scope, text);
    resolver.reject(scope, error);
    Some(resolver.get_promise(scope))
}

/// The namespace of a module that has been evaluated, by its place in the list.
fn namespace(
    scope: &mut v8::PinScope,
    args: v8::FunctionCallbackArguments,
    mut result: v8::ReturnValue,
) {
    let place = args.data().number_value(scope).unwrap_or_default() as usize;
    let module = with_run(|run| Some(run.modules.get(place)?.1.clone())).flatten();
    if let Some(module) = module {
        result.set(v8::Local::new(scope, module).get_module_namespace());
    }
}

/// A line of it begins as only a module's can.
pub(crate) fn has_module_syntax(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    if name.starts_with("00_own") || name.starts_with("00_verify") || name.ends_with(".ts") {
        return true;
    }
    let text = read(path).unwrap_or_default();
    let starts = ["import ", "import{", "export ", "export{"];
    !name.ends_with(".json") && text.lines().any(|l| starts.iter().any(|s| l.starts_with(s)))
}

/// A module with the names that a file for `require` puts on `exports`.
fn wrapper(path: &Path, text: &str) -> String {
    let mut names: Vec<&str> = text
        .split("exports.")
        .skip(1)
        .filter_map(|rest| {
            let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_' && c != '$')?;
            rest[end..].trim_start().starts_with('=').then_some(&rest[..end])
        })
        .filter(|n| !n.is_empty() && *n != "default")
        .collect();
    names.sort_unstable();
    names.dedup();
    let path = path.to_string_lossy();
    let names = names.join(", ");
    format!(
        "const all = $host.require({path:?});\nexport default all;\nexport const {{ {names} }} = all;\n"
    )
}
