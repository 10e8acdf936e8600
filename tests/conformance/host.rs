//! What a realm asks of its host: native functions.

use std::path::Path;

use deno_core::v8;
use mlrun_compiler::{SourceType, text_hash};

use crate::realm::{get, note, origin, script, with_run};
use crate::{compile, modules, read};

/// Calls the script that sets a realm up; gives what that keeps for the runner.
pub(crate) fn set_up<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    more: &[v8::Local<'s, v8::Value>],
) -> Option<v8::Local<'s, v8::Value>> {
    let setup = with_run(|run| run.setup.clone())?;
    let f = script(scope, "realm.js", &setup)?.try_cast::<v8::Function>().ok()?;
    let host = v8::Object::new(scope);
    let global = scope.get_current_context().global(scope);
    put(scope, host, "global", global.into())?;
    native(scope, host, "print", print)?;
    native(scope, host, "report", report)?;
    native(scope, host, "written", written)?;
    native(scope, host, "evalScript", eval_script)?;
    native(scope, host, "createRealm", create_realm)?;
    native(scope, host, "detach", detach)?;
    native(scope, host, "gc", gc)?;
    native(scope, host, "isProxy", is_proxy)?;
    native(scope, host, "resolve", resolve)?;
    native(scope, host, "read", read_text)?;
    native(scope, host, "commonJs", common_js)?;
    native(scope, host, "isModule", is_module)?;
    native(scope, host, "module", module)?;
    let this = v8::undefined(scope).into();
    let mut args = vec![host.into()];
    args.extend(more);
    f.call(scope, this, &args)
}

fn put(
    scope: &mut v8::PinScope<'_, '_>,
    object: v8::Local<v8::Object>,
    name: &str,
    value: v8::Local<v8::Value>,
) -> Option<()> {
    let name = v8::String::new(scope, name)?;
    object.set(scope, name.into(), value).map(drop)
}

fn native(
    scope: &mut v8::PinScope<'_, '_>,
    object: v8::Local<v8::Object>,
    name: &str,
    callback: impl v8::MapFnTo<v8::FunctionCallback>,
) -> Option<()> {
    let f = v8::Function::new(scope, callback)?;
    put(scope, object, name, f.into())
}

fn print(scope: &mut v8::PinScope, args: v8::FunctionCallbackArguments, _: v8::ReturnValue) {
    let text = args.get(0).to_rust_string_lossy(scope);
    with_run(|run| run.ended.output.push(text));
}

fn report(scope: &mut v8::PinScope, args: v8::FunctionCallbackArguments, _: v8::ReturnValue) {
    let text = args.get(0).to_rust_string_lossy(scope);
    with_run(|run| run.ended.violations.push(text));
}

/// What the test's author wrote for a function, by its emitted text.
fn written(
    scope: &mut v8::PinScope,
    args: v8::FunctionCallbackArguments,
    mut result: v8::ReturnValue,
) {
    let hash = text_hash(&args.get(0).to_rust_string_lossy(scope));
    let text = with_run(|run| run.written.get(&hash).cloned()).flatten();
    if let Some(text) = text.and_then(|t| v8::String::new(scope, &t)) {
        result.set(text.into());
    }
}

fn eval_script(
    scope: &mut v8::PinScope,
    args: v8::FunctionCallbackArguments,
    mut result: v8::ReturnValue,
) {
    let text = args.get(0).to_rust_string_lossy(scope);
    if let Some(value) = script(scope, "evalScript", &text) {
        result.set(value);
    }
}

/// Another realm, whose code is never compiled; gives its `$262`.
fn create_realm(
    scope: &mut v8::PinScope,
    _: v8::FunctionCallbackArguments,
    mut result: v8::ReturnValue,
) {
    let token = scope.get_current_context().get_security_token(scope);
    let context = v8::Context::new(scope, Default::default());
    context.set_security_token(token);
    let scope = &mut v8::ContextScope::new(scope, context);
    if set_up(scope, &[]).is_none() {
        return;
    }
    let global = context.global(scope);
    if let Some(host) = get(scope, global, "$262") {
        result.set(host);
    }
}

fn detach(scope: &mut v8::PinScope, args: v8::FunctionCallbackArguments, _: v8::ReturnValue) {
    let done = args.get(0).try_cast::<v8::ArrayBuffer>().ok().and_then(|b| b.detach(None));
    if done != Some(true)
        && let Some(text) = v8::String::new(scope, "cannot be detached")
    {
        let error = v8::Exception::type_error(scope, text);
        scope.throw_exception(error);
    }
}

fn gc(scope: &mut v8::PinScope, _: v8::FunctionCallbackArguments, _: v8::ReturnValue) {
    scope.low_memory_notification();
}

fn is_proxy(
    _: &mut v8::PinScope,
    args: v8::FunctionCallbackArguments,
    mut result: v8::ReturnValue,
) {
    result.set_bool(args.get(0).is_proxy());
}

/// The file that a specifier names.
fn resolve(
    scope: &mut v8::PinScope,
    args: v8::FunctionCallbackArguments,
    mut result: v8::ReturnValue,
) {
    let specifier = args.get(0).to_rust_string_lossy(scope);
    let from = args.get(1).to_rust_string_lossy(scope);
    let target = with_run(|run| run.target).and_then(|t| t(&specifier, Path::new(&from)));
    match target.and_then(|path| v8::String::new(scope, &path.to_string_lossy())) {
        Some(path) => result.set(path.into()),
        None => throw(scope, &format!("require: nothing is known as \"{specifier}\"")),
    }
}

fn throw(scope: &mut v8::PinScope, problem: &str) {
    if let Some(text) = v8::String::new(scope, problem) {
        let error = v8::Exception::error(scope, text);
        scope.throw_exception(error);
    }
}

fn read_text(
    scope: &mut v8::PinScope,
    args: v8::FunctionCallbackArguments,
    mut result: v8::ReturnValue,
) {
    let path = args.get(0).to_rust_string_lossy(scope);
    match read(Path::new(&path)) {
        Ok(text) => result
            .set(v8::String::new(scope, &text).unwrap_or_else(|| v8::String::empty(scope)).into()),
        Err(problem) => throw(scope, &problem),
    }
}

/// A file as a function of `exports, require, module, __filename, __dirname`.
fn common_js(
    scope: &mut v8::PinScope,
    args: v8::FunctionCallbackArguments,
    mut result: v8::ReturnValue,
) {
    let path = args.get(0).to_rust_string_lossy(scope);
    let Some(mode) = with_run(|run| run.mode) else { return };
    let text = read(Path::new(&path));
    let code = match text.and_then(|t| compile(mode, SourceType::CommonJs, &path, &t)) {
        Ok(code) => code,
        Err(problem) => return throw(scope, &problem),
    };
    let names = ["exports", "require", "module", "__filename", "__dirname"];
    let names: Vec<_> = names.iter().filter_map(|n| v8::String::new(scope, n)).collect();
    let Some(source) = v8::String::new(scope, &code.text) else { return };
    note(code);
    let origin = origin(scope, &path, false);
    let mut source = v8::script_compiler::Source::new(source, Some(&origin));
    let f = v8::script_compiler::compile_function(
        scope,
        &mut source,
        &names,
        &[],
        v8::script_compiler::CompileOptions::NoCompileOptions,
        v8::script_compiler::NoCacheReason::NoReason,
    );
    if let Some(f) = f {
        result.set(f.into());
    }
}

/// A file is a module, not one for `require`.
fn is_module(
    scope: &mut v8::PinScope,
    args: v8::FunctionCallbackArguments,
    mut result: v8::ReturnValue,
) {
    let path = args.get(0).to_rust_string_lossy(scope);
    result.set_bool(modules::has_module_syntax(Path::new(&path)));
}

/// The namespace of a module, which is loaded at once.
fn module(
    scope: &mut v8::PinScope,
    args: v8::FunctionCallbackArguments,
    mut result: v8::ReturnValue,
) {
    let path = args.get(0).to_rust_string_lossy(scope);
    let mut namespace = || {
        let module = modules::load(scope, Path::new(&path))?;
        modules::link(scope, module)?;
        module.evaluate(scope)?;
        if module.get_status() == v8::ModuleStatus::Errored {
            let reason = module.get_exception();
            scope.throw_exception(reason);
            return None;
        }
        Some(module.get_module_namespace())
    };
    if let Some(namespace) = namespace() {
        result.set(namespace);
    }
}
